import { createRoute, redirect } from '@tanstack/react-router';
import { appRoute, textParam } from '../../rootRoutes';
import { type AccountTab, accountTabs } from './tabs';
import { lazyComponent } from '../../components/lazyComponent';

const settings = createRoute({
  getParentRoute: () => appRoute,
  path: '/settings',
  beforeLoad: () => {
    throw redirect({ to: '/settings/$tab', params: { tab: 'account' } });
  },
});

const tab = createRoute({
  getParentRoute: () => appRoute,
  path: '/settings/$tab',
  params: {
    parse: ({ tab }): { tab: AccountTab } => ({ tab: accountTabs.find((t) => t === tab) ?? 'account' }),
    stringify: ({ tab }) => ({ tab }),
  },
  validateSearch: (s): { message?: string } => ({ message: textParam(s.message) }), // why an account was not linked
  component: lazyComponent(() => import('./AccountSettings')),
});

const cli = createRoute({
  getParentRoute: () => appRoute,
  path: '/cli-auth',
  component: lazyComponent(() => import('./CliAuth')),
});

export const accountRoutes = [settings, tab, cli] as const;
