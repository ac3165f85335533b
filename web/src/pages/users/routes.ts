import { createRoute } from '@tanstack/react-router';
import { parseListSearch, appRoute } from '../../rootRoutes';
import { lazyComponent } from '../../components/lazyComponent';

const list = createRoute({
  getParentRoute: () => appRoute,
  path: '/users',
  validateSearch: (s) => parseListSearch({ ...s, q: s.q ?? s.filter }), // the server links here with filter
  component: lazyComponent(() => import('./UserList')),
});

export const userRoutes = [list] as const;
