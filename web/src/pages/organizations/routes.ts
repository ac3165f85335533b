import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { listSearch, shell, text } from '../../frame';

const tabs = ['members', 'groups', 'roles', 'provisioners', 'queue', 'jobs', 'keys', 'sync', 'settings'] as const;
export type OrganizationTab = (typeof tabs)[number];

const list = createRoute({
  getParentRoute: () => shell,
  path: '/organizations',
  component: lazyRouteComponent(() => import('./List')),
});

const home = createRoute({
  getParentRoute: () => shell,
  path: '/organizations/$organization',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/organizations/$organization/$tab', params: { ...params, tab: 'members' } });
  },
});

const page = createRoute({
  getParentRoute: () => shell,
  path: '/organizations/$organization/$tab',
  params: {
    parse: ({ organization, tab }): { organization: string; tab: OrganizationTab } => ({ organization, tab: tabs.find((t) => t === tab) ?? 'members' }),
    stringify: ({ organization, tab }) => ({ organization, tab }),
  },
  validateSearch: (s): { q?: string; page?: number; status?: string; tags?: string; initiator?: string } => ({
    ...listSearch(s),
    status: text(s.status),
    tags: text(s.tags),
    initiator: text(s.initiator),
  }),
  component: lazyRouteComponent(() => import('./Organization')),
});

const group = createRoute({
  getParentRoute: () => shell,
  path: '/organizations/$organization/groups/$group',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('./Group')),
});

export const organizationRoutes = [list, home, page, group] as const;
