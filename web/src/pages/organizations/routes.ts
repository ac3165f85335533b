import { createRoute, redirect } from '@tanstack/react-router';
import { parseListSearch, appRoute, textParam } from '../../rootRoutes';
import { type OrganizationTab, organizationTabs } from './tabs';
import { lazyComponent } from '../../components/lazyComponent';

const list = createRoute({
  getParentRoute: () => appRoute,
  path: '/organizations',
  component: lazyComponent(() => import('./OrganizationList')),
});

const home = createRoute({
  getParentRoute: () => appRoute,
  path: '/organizations/$organization',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/organizations/$organization/$tab', params: { ...params, tab: 'members' } });
  },
});

const page = createRoute({
  getParentRoute: () => appRoute,
  path: '/organizations/$organization/$tab',
  params: {
    parse: ({ organization, tab }): { organization: string; tab: OrganizationTab } => ({
      organization,
      tab: organizationTabs.find((t) => t === tab) ?? 'members',
    }),
    stringify: ({ organization, tab }) => ({ organization, tab }),
  },
  validateSearch: (s): { q?: string; page?: number; status?: string; tags?: string; initiator?: string } => ({
    ...parseListSearch(s),
    status: textParam(s.status),
    tags: textParam(s.tags),
    initiator: textParam(s.initiator),
  }),
  component: lazyComponent(() => import('./OrganizationPage')),
});

const group = createRoute({
  getParentRoute: () => appRoute,
  path: '/organizations/$organization/groups/$group',
  validateSearch: parseListSearch,
  component: lazyComponent(() => import('./GroupPage')),
});

export const organizationRoutes = [list, home, page, group] as const;
