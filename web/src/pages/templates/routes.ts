import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { listSearch, shell, text } from '../../frame';

const tabs = ['overview', 'versions', 'files', 'variables', 'permissions', 'schedule', 'settings', 'embed', 'insights'] as const;
export type TemplateTab = (typeof tabs)[number];

const list = createRoute({
  getParentRoute: () => shell,
  path: '/templates',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('./List')),
});

const create = createRoute({
  getParentRoute: () => shell,
  path: '/templates/new',
  validateSearch: (s): { starter?: string } => ({ starter: text(s.starter) }),
  component: lazyRouteComponent(() => import('./Create')),
});

const page = createRoute({
  getParentRoute: () => shell,
  path: '/templates/$organization/$template',
  validateSearch: (s): { tab?: TemplateTab; page?: number } => ({ tab: tabs.find((t) => t === s.tab), page: listSearch(s).page }),
  component: lazyRouteComponent(() => import('./Template')),
});

const version = createRoute({
  getParentRoute: () => shell,
  path: '/templates/$organization/$template/versions/$version',
  validateSearch: (s): { tab?: string; from?: string } => ({ tab: text(s.tab), from: text(s.from) }),
  component: lazyRouteComponent(() => import('./Version')),
});

const edit = createRoute({
  getParentRoute: () => shell,
  path: '/templates/$organization/$template/edit',
  validateSearch: (s): { version?: string } => ({ version: text(s.version) }),
  component: lazyRouteComponent(() => import('./Editor')),
});

export const templateRoutes = [list, create, page, version, edit] as const;
