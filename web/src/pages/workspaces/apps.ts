// The URLs of apps, editors and SSH hosts.

import type { Schema } from '../../api/client';
import type { AppOrigin } from '../../api/region';
import type { Agent, Workspace } from './queries';

type App = Schema<'WorkspaceApp'>;

/** The placeholder for a session token in the URL of an external app. */
const placeholder = '$SESSION_TOKEN';

/** Returns the URL of an app: a subdomain, a path, a terminal or an external URL. Undefined
 * for a subdomain app when place has no wildcard host name. */
export function getAppURL(workspace: Workspace, agent: Agent, app: App, place: AppOrigin): string | undefined {
  if (app.external) return app.url;
  const at = `/@${workspace.owner_name}/${workspace.name}.${agent.name}`;
  if (app.command) return `${at}/terminal?app=${encodeURIComponent(app.slug)}`;
  if (!app.subdomain) return `${place.pathOrigin}${at}/apps/${encodeURIComponent(app.slug)}/`;
  return place.host && app.subdomain_name
    ? `${place.protocol}//${place.host.replace('*', app.subdomain_name)}/`
    : undefined;
}

/** Reports whether the URL of an app needs a token. Web pages never get one, because their server would receive it. */
export const needsToken = (app: App): boolean =>
  app.external && app.url.includes(placeholder) && !/^https?:/i.test(app.url.trim());

/** Returns the URL of an external app with a token in place of the placeholder. */
export const insertToken = (app: App, token: string): string =>
  app.url.replaceAll(placeholder, encodeURIComponent(token));

/** Returns the directory of an agent as an absolute path with forward slashes. */
export function getFolder(agent: Pick<Agent, 'expanded_directory' | 'operating_system'>): string {
  const dir =
    agent.operating_system === 'windows' ? agent.expanded_directory.replaceAll('\\', '/') : agent.expanded_directory;
  return dir === '' || dir.startsWith('/') ? dir : `/${dir}`;
}

/** Returns the URL that opens a workspace in a desktop editor. */
export function getEditorURL(
  scheme: 'vscode' | 'vscode-insiders',
  workspace: Workspace,
  agent: Agent,
  token: string,
): string {
  const q = new URLSearchParams({
    url: location.origin,
    owner: workspace.owner_name,
    workspace: workspace.name,
    agent: agent.name,
  });
  const dir = getFolder(agent);
  if (dir) q.set('folder', dir);
  q.set('token', token);
  return `${scheme}://coder.coder-remote/open?${q}`;
}

/** Returns the workspace argument of CLI commands, without a redundant owner or agent. */
export function formatTarget(workspace: Workspace, agent: Agent, self: string | undefined, several: boolean): string {
  return `${workspace.owner_id === self ? '' : `${workspace.owner_name}/`}${workspace.name}${several ? `.${agent.name}` : ''}`;
}

/** Returns the SSH host name of an agent after coder config-ssh ran. */
export function getSSHHost(
  workspace: Workspace,
  agent: Agent,
  config: Pick<Schema<'SSHConfigResponse'>, 'hostname_prefix' | 'hostname_suffix'>,
): string {
  const suffix = config.hostname_suffix.replace(/^\./, '');
  if (suffix) return `${agent.name}.${workspace.name}.${workspace.owner_name}.${suffix}`;
  return `${config.hostname_prefix || 'coder.'}${workspace.owner_name}--${workspace.name}.${agent.name}`;
}
