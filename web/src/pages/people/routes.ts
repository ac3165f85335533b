import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { listSearch, shell } from '../../frame';

const list = createRoute({
  getParentRoute: () => shell,
  path: '/users',
  validateSearch: (s) => listSearch({ ...s, q: s.q ?? s.filter }), // filter: as links of the API have it
  component: lazyRouteComponent(() => import('./List')),
});

export const peopleRoutes = [list] as const;
