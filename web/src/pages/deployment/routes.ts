import { createRoute, redirect } from '@tanstack/react-router';
import { appRoute, textParam } from '../../rootRoutes';
import { type DeploymentTab, deploymentTabs } from './tabs';
import { lazyComponent } from '../../components/lazyComponent';

const home = createRoute({
  getParentRoute: () => appRoute,
  path: '/deployment',
  beforeLoad: () => {
    throw redirect({ to: '/deployment/$tab', params: { tab: 'overview' } });
  },
});

const tab = createRoute({
  getParentRoute: () => appRoute,
  path: '/deployment/$tab',
  params: {
    parse: ({ tab }): { tab: DeploymentTab } => ({ tab: deploymentTabs.find((t) => t === tab) ?? 'overview' }),
    stringify: ({ tab }) => ({ tab }),
  },
  validateSearch: (s): { q?: string } => ({ q: textParam(s.q) }),
  component: lazyComponent(() => import('./DeploymentPage')),
});

const oauth2App = createRoute({
  getParentRoute: () => appRoute,
  path: '/deployment/oauth2/$app',
  component: lazyComponent(() => import('../../oauth2/AppPage')),
});

const healthSection = createRoute({
  getParentRoute: () => appRoute,
  path: '/deployment/health/$section',
  component: lazyComponent(() => import('../../health/SectionPage')),
});

export const deploymentRoutes = [home, tab, oauth2App, healthSection] as const;
