import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { shell } from '../../frame';

const tabs = ['account', 'security', 'ssh-key', 'tokens', 'schedule', 'appearance'] as const;
export type AccountTab = (typeof tabs)[number];

const settings = createRoute({
  getParentRoute: () => shell,
  path: '/settings',
  beforeLoad: () => {
    throw redirect({ to: '/settings/$tab', params: { tab: 'account' } });
  },
});

const tab = createRoute({
  getParentRoute: () => shell,
  path: '/settings/$tab',
  params: {
    parse: ({ tab }): { tab: AccountTab } => ({ tab: tabs.find((t) => t === tab) ?? 'account' }),
    stringify: ({ tab }) => ({ tab }),
  },
  component: lazyRouteComponent(() => import('./Settings')),
});

const cli = createRoute({
  getParentRoute: () => shell,
  path: '/cli-auth',
  component: lazyRouteComponent(() => import('./CliAuth')),
});

export const accountRoutes = [settings, tab, cli] as const;
