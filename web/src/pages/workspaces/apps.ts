import type { Schema } from '../../api/client';
import type { Agent, Workspace } from './data';

/** Where an app opens: its own subdomain, a path of this server, a terminal, or elsewhere. */
export function appHref(w: Workspace, agent: Agent, app: Schema<'WorkspaceApp'>, wildcard = ''): string {
  if (app.external) return app.url;
  if (app.command) {
    return `/@${w.owner_name}/${w.name}/terminal?agent=${encodeURIComponent(agent.name)}&command=${encodeURIComponent(app.command)}`;
  }
  if (app.subdomain && app.subdomain_name && wildcard) return `${location.protocol}//${wildcard.replace('*', app.subdomain_name)}/`;
  return `/@${w.owner_name}/${w.name}.${agent.name}/apps/${encodeURIComponent(app.slug)}/`;
}
