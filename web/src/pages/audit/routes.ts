import { createRoute } from '@tanstack/react-router';
import { parseListSearch, appRoute } from '../../rootRoutes';
import { lazyComponent } from '../../components/lazyComponent';

const list = createRoute({
  getParentRoute: () => appRoute,
  path: '/audit',
  validateSearch: parseListSearch,
  component: lazyComponent(() => import('./AuditLog')),
});

const connections = createRoute({
  getParentRoute: () => appRoute,
  path: '/audit/connections',
  validateSearch: parseListSearch,
  component: lazyComponent(() => import('./ConnectionLog')),
});

export const auditRoutes = [list, connections] as const;
