// The table of pages: each family's routes, in the frame. A page is loaded when
// somebody goes there.

import { createRoute, createRouter, redirect } from '@tanstack/react-router';
import { device, forgot, login, root, setup, shell } from './frame';
import { accountRoutes } from './pages/account/routes';
import { auditRoutes } from './pages/audit/routes';
import { deploymentRoutes } from './pages/deployment/routes';
import { organizationRoutes } from './pages/organizations/routes';
import { peopleRoutes } from './pages/people/routes';
import { templateRoutes } from './pages/templates/routes';
import { workspaceRoutes } from './pages/workspaces/routes';
import { parseSearch, stringifySearch } from './parts/search';

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/workspaces' });
  },
});

export const router = createRouter({
  routeTree: root.addChildren([setup, login, forgot, device, shell.addChildren([home, ...workspaceRoutes, ...templateRoutes, ...organizationRoutes, ...peopleRoutes, ...auditRoutes, ...deploymentRoutes, ...accountRoutes])]),
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
