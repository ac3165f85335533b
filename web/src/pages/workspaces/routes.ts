import { createRoute, redirect } from '@tanstack/react-router';
import { parseListSearch, appRoute, textParam } from '../../rootRoutes';
import { parseCreateLink } from '../../lib/createLink';
import { appearance, queries } from '../../api/queries';
import { permissionsQuery } from '../../api/permissions';
import { soon } from '../../lib/soon';
import { mine, partQuery } from './useWorkspaceRows';
import WorkspaceList from './WorkspaceList'; // the landing page is part of the initial bundle
import { lazyComponent } from '../../components/lazyComponent';

/** Reads the search of the list. An empty one lists all workspaces; without one, the list has those of the user. */
const parseSearch = (s: { q?: unknown; sort?: unknown }): { q?: string; sort?: string } => ({
  sort: textParam(s.sort),
  q: s.q === '' || s.q === 'all' ? '' : textParam(s.q),
});

const list = createRoute({
  getParentRoute: () => appRoute,
  path: '/workspaces',
  validateSearch: parseSearch,
  // The first page of most visits: without its data it would be rendered twice.
  loader: ({ location }) => {
    const { q = mine, sort } = parseSearch(location.search);
    return soon([
      queries.ensureQueryData(partQuery(q, sort, 0)),
      queries.ensureQueryData(permissionsQuery),
      queries.ensureQueryData(appearance),
    ]);
  },
  component: WorkspaceList,
});

const page = createRoute({
  getParentRoute: () => appRoute,
  path: '/@{$owner}/$workspace',
  validateSearch: (s): { tab?: string; page?: number } => ({ tab: textParam(s.tab), page: parseListSearch(s).page }),
  component: lazyComponent(() => import('./WorkspacePage')),
});

const build = createRoute({
  getParentRoute: () => appRoute,
  path: '/@{$owner}/$workspace/builds/$number',
  component: lazyComponent(() => import('./BuildPage')),
});

const terminal = createRoute({
  getParentRoute: () => appRoute,
  path: '/@{$owner}/$workspace/terminal',
  validateSearch: (s): { agent?: string; app?: string; command?: string } => ({
    agent: textParam(s.agent),
    app: textParam(s.app),
    command: textParam(s.command),
  }),
  component: lazyComponent(() => import('./terminal/TerminalPage')),
});

// URLs that desktop editors open.

const settings = createRoute({
  getParentRoute: () => appRoute,
  path: '/@{$owner}/$workspace/settings',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/@{$owner}/$workspace', params, search: { tab: 'settings' } });
  },
});

const bareTerminal = createRoute({
  getParentRoute: () => appRoute,
  path: '/$owner/$workspace/terminal',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/@{$owner}/$workspace/terminal', params });
  },
});

const create = createRoute({
  getParentRoute: () => appRoute,
  path: '/templates/$organization/$template/workspace',
  validateSearch: parseCreateLink,
  component: lazyComponent(() => import('./CreateWorkspace')),
});

export const workspaceRoutes = [list, page, build, terminal, settings, bareTerminal, create] as const;
