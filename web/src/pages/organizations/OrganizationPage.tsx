import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { DeletedAlert } from '../../components/DeletedAlert';
import { Loading } from '../../components/Loading';
import { Page } from '../../components/Page';
import { ErrorAlert } from '../../components/ErrorAlert';
import { PageTabs } from '../../components/PageTabs';
import { type LazyComponent, lazyComponent } from '../../components/lazyComponent';
import { type Rights, type TabProps, organizationQuery, useOrganizationRights } from './queries';
import type { OrganizationTab } from './tabs';

const tabs: {
  tab: OrganizationTab;
  title: string;
  needs?: keyof Rights;
  Show: LazyComponent<TabProps>;
}[] = [
  { tab: 'members', title: 'Members', Show: lazyComponent(() => import('./MemberList')) },
  { tab: 'groups', title: 'Groups', Show: lazyComponent(() => import('./GroupList')) },
  { tab: 'roles', title: 'Roles', Show: lazyComponent(() => import('./RoleList')) },
  {
    tab: 'provisioners',
    title: 'Provisioners',
    needs: 'readProvisioners',
    Show: lazyComponent(() => import('./Provisioners')),
  },
  { tab: 'queue', title: 'Queue', needs: 'readJobs', Show: lazyComponent(() => import('./ProvisionerQueue')) },
  { tab: 'jobs', title: 'Jobs', needs: 'readJobs', Show: lazyComponent(() => import('./JobList')) },
  {
    tab: 'keys',
    title: 'Provisioner keys',
    needs: 'createKey',
    Show: lazyComponent(() => import('./ProvisionerKeys')),
  },
  {
    tab: 'insights',
    title: 'Insights',
    needs: 'viewInsights',
    Show: lazyComponent(() => import('../../insights/OrganizationInsights')),
  },
  { tab: 'sync', title: 'IdP sync', needs: 'readSync', Show: lazyComponent(() => import('./IdpSync')) },
  { tab: 'rules', title: 'Rules', needs: 'update', Show: lazyComponent(() => import('./OrganizationRules')) },
  { tab: 'settings', title: 'Settings', needs: 'update', Show: lazyComponent(() => import('./OrganizationSettings')) },
];

/** An organization: members, groups, roles, provisioners and settings. */
export default function OrganizationPage() {
  const { organization, tab } = useParams({ from: '/shell/organizations/$organization/$tab' });
  const navigate = useNavigate();
  const { data: org, error } = useQuery(organizationQuery(organization));
  const all = useQuery({ queryKey: ['organization', ''], queryFn: () => api.get('/organizations') });
  useLiveUpdates(['organization'], ['organization', organization], ['organization', '']);
  const may = useOrganizationRights(org);
  if (error && !org) {
    return (
      <Page title={organization}>
        <ErrorAlert error={error} />
      </Page>
    );
  }
  if (!org) return <Loading />;
  const go = (to: string, at: OrganizationTab) =>
    navigate({ to: '/organizations/$organization/$tab', params: { organization: to, tab: at }, search: {} });
  return (
    <Page
      title={org.display_name || org.name}
      hint={org.description || (org.display_name ? org.name : undefined)}
      actions={
        (all.data?.length ?? 0) > 1 && (
          <Select
            aria-label="Organization"
            allowDeselect={false}
            searchable
            data={all.data?.map((x) => ({ value: x.name, label: x.display_name || x.name }))}
            value={org.name}
            onChange={(to) => to && go(to, tab)}
          />
        )
      }
    >
      <DeletedAlert error={error} what="This organization" />
      <PageTabs
        tabs={tabs.filter((t) => !t.needs || may[t.needs])}
        value={tab}
        permissions={may}
        needs="the role Organization Admin, or another role that can manage it"
        onGo={(to) => go(organization, to)}
        show={(at) =>
          tabs.map(({ tab: t, Show }) => t === at && <Show key={org.id + t} organization={org} may={may} />)
        }
      />
    </Page>
  );
}
