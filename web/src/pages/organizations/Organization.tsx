import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import { api } from '../../api/client';
import { useLive } from '../../api/live';
import { Gone } from '../../parts/Gone';
import { Loading } from '../../parts/Loading';
import { Page } from '../../parts/Page';
import { Refusal } from '../../parts/Refusal';
import { TabPages } from '../../parts/TabPages';
import { type Rights, type TabProps, organizationQuery, useOrganizationRights } from './data';
import type { OrganizationTab } from './routes';

const tabs: { tab: OrganizationTab; title: string; needs?: keyof Rights; Show: LazyExoticComponent<ComponentType<TabProps>> }[] = [
  { tab: 'members', title: 'Members', Show: lazy(() => import('./Members')) },
  { tab: 'groups', title: 'Groups', Show: lazy(() => import('./Groups')) },
  { tab: 'roles', title: 'Roles', Show: lazy(() => import('./Roles')) },
  { tab: 'provisioners', title: 'Provisioners', needs: 'readProvisioners', Show: lazy(() => import('./Daemons')) },
  { tab: 'queue', title: 'Queue', needs: 'readJobs', Show: lazy(() => import('./Queue')) },
  { tab: 'jobs', title: 'Jobs', needs: 'readJobs', Show: lazy(() => import('./Jobs')) },
  { tab: 'keys', title: 'Keys', needs: 'createKey', Show: lazy(() => import('./Keys')) },
  { tab: 'sync', title: 'Identity provider', needs: 'readSync', Show: lazy(() => import('./Sync')) },
  { tab: 'settings', title: 'Settings', needs: 'update', Show: lazy(() => import('./Settings')) },
];

/** One organization: who is in it, who may do what, and what builds for it. */
export default function Organization() {
  const { organization, tab } = useParams({ from: '/shell/organizations/$organization/$tab' });
  const navigate = useNavigate();
  const { data: o, error } = useQuery(organizationQuery(organization));
  const all = useQuery({ queryKey: ['organization', ''], queryFn: () => api.get('/organizations') });
  useLive(['organization'], ['organization', organization], ['organization', '']);
  const may = useOrganizationRights(o);
  if (error && !o) {
    return (
      <Page title={organization}>
        <Refusal error={error} />
      </Page>
    );
  }
  if (!o) return <Loading />;
  const go = (to: string, at: OrganizationTab) => navigate({ to: '/organizations/$organization/$tab', params: { organization: to, tab: at }, search: {} });
  return (
    <Page
      title={o.display_name || o.name}
      hint={o.description || (o.display_name ? o.name : undefined)}
      actions={
        (all.data?.length ?? 0) > 1 && (
          <Select
            aria-label="Organization"
            allowDeselect={false}
            searchable
            data={all.data?.map((x) => ({ value: x.name, label: x.display_name || x.name }))}
            value={o.name}
            onChange={(to) => to && go(to, tab)}
          />
        )
      }
    >
      <Gone error={error} what="This organization" />
      <TabPages
        tabs={tabs.filter((t) => !t.needs || may[t.needs])}
        value={tab}
        onGo={(to) => go(organization, to)}
        show={(at) => tabs.map(({ tab: t, Show }) => t === at && <Show key={o.id + t} o={o} may={may} />)}
      />
    </Page>
  );
}
