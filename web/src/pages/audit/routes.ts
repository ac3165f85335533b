import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { listSearch, shell } from '../../frame';

const list = createRoute({
  getParentRoute: () => shell,
  path: '/audit',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('./List')),
});

const connections = createRoute({
  getParentRoute: () => shell,
  path: '/audit/connections',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('./Connections')),
});

export const auditRoutes = [list, connections] as const;
