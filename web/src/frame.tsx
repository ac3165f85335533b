// What all pages stand in: the root, the pages before a login, and the shell
// of those after it.

import { createRootRoute, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { hasFirstUser, me, queries } from './api/queries';
import { Crash, NotFound } from './layout/Failure';
import Shell from './layout/Shell';

/** The root of all pages. */
export const root = createRootRoute({ notFoundComponent: NotFound, errorComponent: Crash });

/** Search parameters that a list keeps in the URL: its filter, page and sorting. */
export interface ListSearch {
  q?: string;
  page?: number;
}

/** A search parameter as it was written, or undefined. */
export const text = (v: unknown): string | undefined => (v === undefined || v === null || v === '' ? undefined : typeof v === 'string' ? v : JSON.stringify(v));
/** Reads what a list keeps in the URL. */
export const listSearch = (s: Record<string, unknown>): ListSearch => {
  const page = Number(s.page);
  return { q: text(s.q), page: Number.isInteger(page) && page > 1 ? page : undefined };
};

/** Before there is anybody. */
export const setup = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  beforeLoad: async () => {
    if (await queries.ensureQueryData(hasFirstUser)) throw redirect({ to: '/login' });
  },
  component: lazyRouteComponent(() => import('./pages/account/Setup')),
});

/** Before somebody is logged in. */
export const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: (s): { redirect?: string; message?: string } => ({ redirect: text(s.redirect), message: text(s.message) }),
  beforeLoad: async ({ search }) => {
    if (!(await queries.ensureQueryData(hasFirstUser))) throw redirect({ to: '/setup' });
    if (!search.message && (await queries.ensureQueryData(me))) throw redirect({ to: '/workspaces' });
  },
  component: lazyRouteComponent(() => import('./pages/account/Login')),
});

/** For who forgot their password. */
export const forgot = createRoute({
  getParentRoute: () => root,
  path: '/reset-password',
  component: lazyRouteComponent(() => import('./pages/account/Forgot')),
});

/** Logging in to GitHub by a code. */
export const device = createRoute({
  getParentRoute: () => root,
  path: '/login/device',
  validateSearch: (s): { state: string } => ({ state: text(s.state) ?? '' }),
  component: lazyRouteComponent(() => import('./pages/account/Device')),
});

/** Everything that needs a person who is logged in. */
export const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    if (await queries.ensureQueryData(me)) return;
    throw redirect({ to: '/login', search: { redirect: location.href === '/' ? undefined : location.href } });
  },
  component: Shell,
});
