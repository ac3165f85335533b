import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { shell, text } from '../../frame';

const tabs = ['overview', 'health', 'settings', 'sync', 'appearance'] as const;
export type DeploymentTab = (typeof tabs)[number];

const home = createRoute({
  getParentRoute: () => shell,
  path: '/deployment',
  beforeLoad: () => {
    throw redirect({ to: '/deployment/$tab', params: { tab: 'overview' } });
  },
});

const tab = createRoute({
  getParentRoute: () => shell,
  path: '/deployment/$tab',
  params: {
    parse: ({ tab }): { tab: DeploymentTab } => ({ tab: tabs.find((t) => t === tab) ?? 'overview' }),
    stringify: ({ tab }) => ({ tab }),
  },
  validateSearch: (s): { q?: string } => ({ q: text(s.q) }),
  component: lazyRouteComponent(() => import('./Deployment')),
});

export const deploymentRoutes = [home, tab] as const;
