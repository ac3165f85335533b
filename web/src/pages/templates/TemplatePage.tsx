import { Alert, Button, Group } from '@mantine/core';
import { IconEdit, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useLiveUpdates } from '../../api/live';
import { Icon } from '../../components/Icon';
import { DeletedAlert } from '../../components/DeletedAlert';
import { Loading } from '../../components/Loading';
import { Page } from '../../components/Page';
import { ErrorAlert } from '../../components/ErrorAlert';
import { PageTabs } from '../../components/PageTabs';
import { lazyComponent } from '../../components/lazyComponent';
import { TemplateOverview } from './Overview';
import { type Template as T, templateQuery, useTemplateRights } from './queries';
import type { TemplateTab } from './tabs';

const Versions = lazyComponent(() => import('./VersionList'));
const Files = lazyComponent(() => import('./Files'));
const Variables = lazyComponent(() => import('./Variables'));
const Permissions = lazyComponent(() => import('./Permissions'));
const Schedule = lazyComponent(() => import('./TemplateSchedule'));
const Settings = lazyComponent(() => import('./TemplateSettings'));
const Embed = lazyComponent(() => import('./EmbedButton'));
const Insights = lazyComponent(() => import('./Insights'));

const tabs: {
  tab: TemplateTab;
  title: string;
  needs?: 'update' | 'insights';
  show: (p: { template: T }) => React.ReactNode;
}[] = [
  { tab: 'overview', title: 'Overview', show: ({ template }) => <TemplateOverview template={template} /> },
  { tab: 'versions', title: 'Versions', show: ({ template }) => <Versions template={template} /> },
  {
    tab: 'files',
    title: 'Files',
    needs: 'update',
    show: ({ template }) => <Files version={template.active_version_id} />,
  },
  { tab: 'variables', title: 'Variables', needs: 'update', show: ({ template }) => <Variables template={template} /> },
  {
    tab: 'permissions',
    title: 'Permissions',
    needs: 'update',
    show: ({ template }) => <Permissions template={template} />,
  },
  { tab: 'schedule', title: 'Schedule', needs: 'update', show: ({ template }) => <Schedule template={template} /> },
  { tab: 'settings', title: 'Settings', needs: 'update', show: ({ template }) => <Settings template={template} /> },
  { tab: 'embed', title: 'Embed', show: ({ template }) => <Embed template={template} /> },
  { tab: 'insights', title: 'Insights', needs: 'insights', show: ({ template }) => <Insights template={template} /> },
];

/** A template: overview, versions, files and settings. */
export default function TemplatePage() {
  const { organization, template: name } = useParams({ from: '/shell/templates/$organization/$template' });
  const { tab = 'overview' } = useSearch({ from: '/shell/templates/$organization/$template' });
  const navigate = useNavigate({ from: '/templates/$organization/$template' });
  const { data: template, error } = useQuery(templateQuery(organization, name));
  useLiveUpdates(['template'], ['template', organization, name], ['versions', template?.id]);
  const may = useTemplateRights(template);
  if (error && !template) {
    return (
      <Page title={name}>
        <ErrorAlert error={error} />
      </Page>
    );
  }
  if (!template) return <Loading />;
  const title = template.display_name || template.name;
  return (
    <Page
      title={title}
      hint={
        <Group component="span" gap="xs" mt={4}>
          <Icon src={template.icon} name={title} size={18} />
          <span>{template.organization_display_name || template.organization_name}</span>
          <span>·</span>
          <span style={{ overflowWrap: 'anywhere' }}>{template.description || template.name}</span>
        </Group>
      }
      actions={
        <>
          {may.update && (
            <Button
              component={Link}
              to={`/templates/${organization}/${name}/edit`}
              variant="default"
              leftSection={<IconEdit size={16} />}
            >
              Edit files
            </Button>
          )}
          <Button
            component={Link}
            to={`/templates/${organization}/${name}/workspace`}
            leftSection={<IconPlus size={16} />}
            disabled={template.deprecated}
          >
            Create workspace
          </Button>
        </>
      }
    >
      <DeletedAlert error={error} what="This template" />
      {template.deprecated && (
        <Alert color="orange" title="This template is deprecated" mb="md">
          {template.deprecation_message} New workspaces cannot be created from it. Existing workspaces are not affected.
        </Alert>
      )}
      <PageTabs
        tabs={tabs.filter((x) => !x.needs || may[x.needs])}
        value={tab}
        permissions={may}
        needs="the role Template Admin, or the Admin permission on this template"
        onGo={(to) => void navigate({ search: { tab: to === 'overview' ? undefined : to }, replace: true })}
        show={(at) => tabs.find((x) => x.tab === at)?.show({ template })}
      />
    </Page>
  );
}
