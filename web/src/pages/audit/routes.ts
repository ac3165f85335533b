import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { listSearch, shell } from '../../frame';

const list = createRoute({
  getParentRoute: () => shell,
  path: '/audit',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('./List')),
});

export const auditRoutes = [list] as const;
