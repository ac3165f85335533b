import { Alert, Button, Group } from '@mantine/core';
import { IconEdit, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy } from 'react';
import { useLive } from '../../api/live';
import { Icon } from '../../parts/Icon';
import { Gone } from '../../parts/Gone';
import { Loading } from '../../parts/Loading';
import { Page } from '../../parts/Page';
import { Refusal } from '../../parts/Refusal';
import { TabPages } from '../../parts/TabPages';
import { Overview } from './Overview';
import { type Template as T, templateQuery, useTemplateRights } from './data';
import type { TemplateTab } from './routes';

const Versions = lazy(() => import('./Versions'));
const Files = lazy(() => import('./Files'));
const Variables = lazy(() => import('./Variables'));
const Permissions = lazy(() => import('./Permissions'));
const Schedule = lazy(() => import('./Schedule'));
const Settings = lazy(() => import('./Settings'));
const Embed = lazy(() => import('./Embed'));
const Insights = lazy(() => import('./Insights'));

const tabs: { tab: TemplateTab; title: string; needs?: 'update' | 'insights'; show: (p: { t: T }) => React.ReactNode }[] = [
  { tab: 'overview', title: 'Overview', show: ({ t }) => <Overview t={t} /> },
  { tab: 'versions', title: 'Versions', show: ({ t }) => <Versions t={t} /> },
  { tab: 'files', title: 'Files', needs: 'update', show: ({ t }) => <Files version={t.active_version_id} /> },
  { tab: 'variables', title: 'Variables', needs: 'update', show: ({ t }) => <Variables t={t} /> },
  { tab: 'permissions', title: 'Permissions', needs: 'update', show: ({ t }) => <Permissions t={t} /> },
  { tab: 'schedule', title: 'Schedule', needs: 'update', show: ({ t }) => <Schedule t={t} /> },
  { tab: 'settings', title: 'Settings', needs: 'update', show: ({ t }) => <Settings t={t} /> },
  { tab: 'embed', title: 'Embed', show: ({ t }) => <Embed t={t} /> },
  { tab: 'insights', title: 'Insights', needs: 'insights', show: ({ t }) => <Insights t={t} /> },
];

/** One template: what it makes, its versions, and what can be changed. */
export default function Template() {
  const { organization, template: name } = useParams({ from: '/shell/templates/$organization/$template' });
  const { tab = 'overview' } = useSearch({ from: '/shell/templates/$organization/$template' });
  const navigate = useNavigate({ from: '/templates/$organization/$template' });
  const { data: t, error } = useQuery(templateQuery(organization, name));
  useLive(['template'], ['template', organization, name], ['versions', t?.id]);
  const may = useTemplateRights(t);
  if (error && !t) {
    return (
      <Page title={name}>
        <Refusal error={error} />
      </Page>
    );
  }
  if (!t) return <Loading />;
  const title = t.display_name || t.name;
  return (
    <Page
      title={title}
      hint={
        <Group component="span" gap="xs" mt={4}>
          <Icon src={t.icon} name={title} size={18} />
          <span>{t.organization_display_name || t.organization_name}</span>
          <span>·</span>
          <span style={{ overflowWrap: 'anywhere' }}>{t.description || t.name}</span>
        </Group>
      }
      actions={
        <>
          {may.update && (
            <Button component={Link} to={`/templates/${organization}/${name}/edit`} variant="default" leftSection={<IconEdit size={16} />}>
              Edit files
            </Button>
          )}
          <Button component={Link} to={`/templates/${organization}/${name}/workspace`} leftSection={<IconPlus size={16} />} disabled={t.deprecated}>
            Create workspace
          </Button>
        </>
      }
    >
      <Gone error={error} what="This template" />
      {t.deprecated && (
        <Alert color="orange" title="This template is deprecated" mb="md">
          {t.deprecation_message} No new workspaces can be made of it; those there are go on.
        </Alert>
      )}
      <TabPages
        tabs={tabs.filter((x) => !x.needs || may[x.needs])}
        value={tab}
        onGo={(to) => void navigate({ search: { tab: to === 'overview' ? undefined : to }, replace: true })}
        show={(at) => tabs.find((x) => x.tab === at)?.show({ t })}
      />
    </Page>
  );
}
