import { createRoute } from '@tanstack/react-router';
import { lazyComponent } from '../components/lazyComponent';
import { appRoute } from '../rootRoutes';
import type { ReadStatus } from './queries';

const inbox = createRoute({
  getParentRoute: () => appRoute,
  path: '/notifications',
  validateSearch: (s): { status?: ReadStatus } => ({
    status: s.status === 'read' || s.status === 'unread' ? s.status : undefined,
  }),
  component: lazyComponent(() => import('./Inbox')),
});

export const notificationRoutes = [inbox] as const;
