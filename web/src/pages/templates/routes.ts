import { createRoute, redirect } from '@tanstack/react-router';
import { api } from '../../api/client';
import { parseListSearch, appRoute, textParam } from '../../rootRoutes';
import { parseCreateLink } from '../../lib/createLink';
import { type TemplateTab, type VersionTab, templateTabs, versionTabs } from './tabs';
import { lazyComponent } from '../../components/lazyComponent';

const list = createRoute({
  getParentRoute: () => appRoute,
  path: '/templates',
  validateSearch: parseListSearch,
  component: lazyComponent(() => import('./TemplateList')),
});

const create = createRoute({
  getParentRoute: () => appRoute,
  path: '/templates/new',
  validateSearch: (s): { starter?: string } => ({ starter: textParam(s.starter) }),
  component: lazyComponent(() => import('./CreateTemplate')),
});

/** Finds the templates of a name in all organizations. */
const findByName = (name: string) =>
  api.get('/templates', { query: { q: `exact_name:"${name.replaceAll('"', '')}"` } });

// Links from other programs omit the organization of a template.
const named = createRoute({
  getParentRoute: () => appRoute,
  path: '/templates/$template',
  beforeLoad: async ({ params }) => {
    const [found] = await findByName(params.template);
    if (!found) throw redirect({ to: '/templates', search: { q: params.template } });
    throw redirect({
      to: '/templates/$organization/$template',
      params: { organization: found.organization_name, template: found.name },
    });
  },
});

const page = createRoute({
  getParentRoute: () => appRoute,
  path: '/templates/$organization/$template',
  validateSearch: (s): { tab?: TemplateTab; page?: number } => ({
    tab: templateTabs.find((t) => t === s.tab),
    page: parseListSearch(s).page,
  }),
  beforeLoad: async ({ params, location }) => {
    // /templates/<template>/workspace also omits it, unless a template is named "workspace".
    if (params.template !== 'workspace') return;
    if ((await findByName('workspace')).some((template) => template.organization_name === params.organization)) return;
    const [found] = await findByName(params.organization);
    if (found) {
      const to = { organization: found.organization_name, template: found.name };
      throw redirect({
        to: '/templates/$organization/$template/workspace',
        params: to,
        search: parseCreateLink(location.search),
      });
    }
  },
  component: lazyComponent(() => import('./TemplatePage')),
});

const version = createRoute({
  getParentRoute: () => appRoute,
  path: '/templates/$organization/$template/versions/$version',
  validateSearch: (s): { tab?: VersionTab; from?: string; file?: string; line?: number } => ({
    tab: versionTabs.find((t) => t === s.tab),
    from: textParam(s.from),
    file: textParam(s.file),
    line: Number(s.line) > 0 ? Number(s.line) : undefined,
  }),
  component: lazyComponent(() => import('./VersionPage')),
});

const edit = createRoute({
  getParentRoute: () => appRoute,
  path: '/templates/$organization/$template/edit',
  validateSearch: (s): { version?: string } => ({ version: textParam(s.version) }),
  component: lazyComponent(() => import('./TemplateEditor')),
});

export const templateRoutes = [list, create, named, page, version, edit] as const;
