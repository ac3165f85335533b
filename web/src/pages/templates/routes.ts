import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { listSearch, shell } from '../../frame';

const list = createRoute({
  getParentRoute: () => shell,
  path: '/templates',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('./List')),
});

export const templateRoutes = [list] as const;
