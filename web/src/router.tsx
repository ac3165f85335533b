// The route tree. The code of a page is loaded when its route is opened.

import { createHashHistory, createRoute, createRouter, redirect } from '@tanstack/react-router';
import { deviceRoute, resetPasswordRoute, signInRoute, rootRoute, setupRoute, appRoute } from './rootRoutes';
import { accountRoutes } from './pages/account/routes';
import { notificationRoutes } from './notifications/routes';
import { auditRoutes } from './pages/audit/routes';
import { deploymentRoutes } from './pages/deployment/routes';
import { organizationRoutes } from './pages/organizations/routes';
import { userRoutes } from './pages/users/routes';
import { templateRoutes } from './pages/templates/routes';
import { workspaceRoutes } from './pages/workspaces/routes';
import { modals } from './components/dialogs';
import { ErrorPage } from './layout/ErrorPages';
import { parseSearch, stringifySearch } from './lib/searchParams';

const homeRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/workspaces' });
  },
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    setupRoute,
    signInRoute,
    resetPasswordRoute,
    deviceRoute,
    appRoute.addChildren([
      homeRoute,
      ...workspaceRoutes,
      ...templateRoutes,
      ...organizationRoutes,
      ...userRoutes,
      ...auditRoutes,
      ...deploymentRoutes,
      ...accountRoutes,
      ...notificationRoutes,
    ]),
  ]),
  // The demo runs from a folder, where only the hash can hold the route.
  history: import.meta.env.MODE === 'demo' ? createHashHistory() : undefined,
  parseSearch,
  stringifySearch,
  defaultErrorComponent: ErrorPage,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

// A dialog belongs to the page that opened it.
router.subscribe('onBeforeNavigate', ({ pathChanged }) => {
  if (pathChanged) modals.closeAll();
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
