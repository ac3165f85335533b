// The routes that all pages hang from: the root, the pages that need no session,
// and the shell of the pages that do.

import { createRootRoute, createRoute, redirect } from '@tanstack/react-router';
import { hasFirstUser, me, queries } from './api/queries';
import { NotFound, RootErrorPage } from './layout/ErrorPages';
import AppLayout from './layout/AppLayout';
import { lazyComponent } from './components/lazyComponent';

/** The root of all pages. */
export const rootRoute = createRootRoute({ notFoundComponent: NotFound, errorComponent: RootErrorPage });

/** Search parameters that a list keeps in the URL: its filter and page. */
export interface ListSearch {
  q?: string;
  page?: number;
}

/** A search parameter as it was written, or undefined. */
export const textParam = (v: unknown): string | undefined =>
  v === undefined || v === null || v === '' ? undefined : typeof v === 'string' ? v : JSON.stringify(v);
/** Reads what a list keeps in the URL. */
export const parseListSearch = (s: Record<string, unknown>): ListSearch => {
  const page = Number(s.page);
  return { q: textParam(s.q), page: Number.isInteger(page) && page > 1 ? page : undefined };
};

/** Creates the first user of a deployment. */
export const setupRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/setup',
  beforeLoad: async () => {
    if (await queries.ensureQueryData(hasFirstUser)) throw redirect({ to: '/login' });
  },
  component: lazyComponent(() => import('./pages/account/Setup')),
});

/** Signs a user in. */
export const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  validateSearch: (s): { redirect?: string; message?: string } => ({
    redirect: textParam(s.redirect),
    message: textParam(s.message),
  }),
  beforeLoad: async ({ search }) => {
    if (!(await queries.ensureQueryData(hasFirstUser))) throw redirect({ to: '/setup' });
    if (!search.message && (await queries.ensureQueryData(me))) throw redirect({ to: '/workspaces' });
  },
  component: lazyComponent(() => import('./pages/account/SignIn')),
});

/** Resets a forgotten password. */
export const resetPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reset-password',
  component: lazyComponent(() => import('./pages/account/ResetPassword')),
});

/** Signs in to GitHub with a device code. */
export const deviceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login/device',
  validateSearch: (s): { state: string } => ({ state: textParam(s.state) ?? '' }),
  component: lazyComponent(() => import('./pages/account/DeviceSignIn')),
});

/** The parent of every page that needs a session. */
export const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    if (await queries.ensureQueryData(me)) return;
    throw redirect({ to: '/login', search: { redirect: location.href === '/' ? undefined : location.href } });
  },
  component: AppLayout,
  errorComponent: RootErrorPage,
});
