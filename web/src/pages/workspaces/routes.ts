import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { listSearch, shell } from '../../frame';

const list = createRoute({
  getParentRoute: () => shell,
  path: '/workspaces',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('./List')),
});

const page = createRoute({
  getParentRoute: () => shell,
  path: '/@{$owner}/$workspace',
  validateSearch: (s): { tab?: string; page?: number } => ({ tab: typeof s.tab === 'string' ? s.tab : undefined, page: listSearch(s).page }),
  component: lazyRouteComponent(() => import('./Workspace')),
});

const build = createRoute({
  getParentRoute: () => shell,
  path: '/@{$owner}/$workspace/builds/$number',
  component: lazyRouteComponent(() => import('./Build')),
});

const terminal = createRoute({
  getParentRoute: () => shell,
  path: '/@{$owner}/$workspace/terminal',
  validateSearch: (s): { agent?: string; command?: string } => ({
    agent: typeof s.agent === 'string' ? s.agent : undefined,
    command: typeof s.command === 'string' ? s.command : undefined,
  }),
  component: lazyRouteComponent(() => import('./Terminal')),
});

const create = createRoute({
  getParentRoute: () => shell,
  path: '/templates/$organization/$template/workspace',
  component: lazyRouteComponent(() => import('./Create')),
});

export const workspaceRoutes = [list, page, build, terminal, create] as const;
