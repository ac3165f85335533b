import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { listSearch, shell, text } from '../../frame';
import { readLink } from '../../parts/link';
import List from './List'; // the first page: it comes with the frame

const list = createRoute({
  getParentRoute: () => shell,
  path: '/workspaces',
  validateSearch: listSearch,
  component: List,
});

const page = createRoute({
  getParentRoute: () => shell,
  path: '/@{$owner}/$workspace',
  validateSearch: (s): { tab?: string; page?: number } => ({ tab: text(s.tab), page: listSearch(s).page }),
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
  validateSearch: (s): { agent?: string; app?: string; command?: string } => ({ agent: text(s.agent), app: text(s.app), command: text(s.command) }),
  component: lazyRouteComponent(() => import('./Terminal')),
});

const create = createRoute({
  getParentRoute: () => shell,
  path: '/templates/$organization/$template/workspace',
  validateSearch: readLink,
  component: lazyRouteComponent(() => import('./Create')),
});

export const workspaceRoutes = [list, page, build, terminal, create] as const;
