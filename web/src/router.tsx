// The table of pages. Each is loaded when somebody goes there.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { hasFirstUser, me, queries } from './api/queries';
import { Crash, NotFound } from './layout/Failure';

const root = createRootRoute({ notFoundComponent: NotFound, errorComponent: Crash });

/** Search parameters that a list keeps in the URL: its filter, page and sorting. */
export interface ListSearch {
  q?: string;
  page?: number;
}

const text = (v: unknown): string | undefined => (typeof v === 'string' && v !== '' ? v : undefined);
const listSearch = (s: Record<string, unknown>): ListSearch => {
  const page = Number(s.page);
  return { q: text(s.q), page: Number.isInteger(page) && page > 1 ? page : undefined };
};

const setup = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  beforeLoad: async () => {
    if (await queries.ensureQueryData(hasFirstUser)) throw redirect({ to: '/login' });
  },
  component: lazyRouteComponent(() => import('./pages/account/Setup')),
});

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: (s): { redirect?: string; message?: string } => ({ redirect: text(s.redirect), message: text(s.message) }),
  beforeLoad: async () => {
    if (!(await queries.ensureQueryData(hasFirstUser))) throw redirect({ to: '/setup' });
    if (await queries.ensureQueryData(me)) throw redirect({ to: '/workspaces' });
  },
  component: lazyRouteComponent(() => import('./pages/account/Login')),
});

/** Everything that needs a person who is logged in. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    if (await queries.ensureQueryData(me)) return;
    throw redirect({ to: '/login', search: { redirect: location.href === '/' ? undefined : location.href } });
  },
  component: lazyRouteComponent(() => import('./layout/Shell')),
});

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/workspaces' });
  },
});

const workspaces = createRoute({
  getParentRoute: () => shell,
  path: '/workspaces',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('./pages/workspaces/List')),
});

export const router = createRouter({
  routeTree: root.addChildren([setup, login, shell.addChildren([home, workspaces])]),
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
