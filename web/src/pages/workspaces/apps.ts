// Where the ways into a workspace lead.

import type { Schema } from '../../api/client';
import type { Place } from '../../api/region';
import type { Agent, Workspace } from './data';

type App = Schema<'WorkspaceApp'>;

/** What stands for a token of the user's in the address of an external app. */
const placeholder = '$SESSION_TOKEN';

/** Where an app opens: its own host name, a path of this server, a terminal, or
 * elsewhere. Undefined for one that needs a host name where there are none.
 * place is where apps are opened from; its host is "" where they have no host names. */
export function appHref(w: Workspace, agent: Agent, app: App, place: Place): string | undefined {
  if (app.external) return app.url;
  const at = `/@${w.owner_name}/${w.name}.${agent.name}`;
  if (app.command) return `${at}/terminal?app=${encodeURIComponent(app.slug)}`;
  if (!app.subdomain) return `${place.base}${at}/apps/${encodeURIComponent(app.slug)}/`;
  return place.host && app.subdomain_name ? `${place.protocol}//${place.host.replace('*', app.subdomain_name)}/` : undefined;
}

/** Whether the address of an app wants a token. A web page is not given one: it would go to whoever serves the page. */
export const wantsToken = (app: App): boolean => app.external && app.url.includes(placeholder) && !/^https?:/i.test(app.url.trim());

/** An external app's address with a token in it. */
export const withToken = (app: App, token: string): string => app.url.replaceAll(placeholder, encodeURIComponent(token));

/** The directory of an agent as editors want it: from the root, with slashes. */
export function folder(agent: Pick<Agent, 'expanded_directory' | 'operating_system'>): string {
  const dir = agent.operating_system === 'windows' ? agent.expanded_directory.replaceAll('\\', '/') : agent.expanded_directory;
  return dir === '' || dir.startsWith('/') ? dir : `/${dir}`;
}

/** The address that an editor of this machine opens a workspace by. */
export function editorHref(scheme: 'vscode' | 'vscode-insiders', w: Workspace, agent: Agent, token: string): string {
  const q = new URLSearchParams({ url: location.origin, owner: w.owner_name, workspace: w.name, agent: agent.name });
  const dir = folder(agent);
  if (dir) q.set('folder', dir);
  q.set('token', token);
  return `${scheme}://coder.coder-remote/open?${q}`;
}

/** The workspace and its agent as commands name them: the owner only where it is not oneself, the agent only where there are several. */
export function target(w: Workspace, agent: Agent, self: string | undefined, several: boolean): string {
  return `${w.owner_id === self ? '' : `${w.owner_name}/`}${w.name}${several ? `.${agent.name}` : ''}`;
}

/** The name that SSH has for an agent once coder config-ssh ran. */
export function sshHost(w: Workspace, agent: Agent, config: Pick<Schema<'SSHConfigResponse'>, 'hostname_prefix' | 'hostname_suffix'>): string {
  const suffix = config.hostname_suffix.replace(/^\./, '');
  if (suffix) return `${agent.name}.${w.name}.${w.owner_name}.${suffix}`;
  return `${config.hostname_prefix || 'coder.'}${w.owner_name}--${w.name}.${agent.name}`;
}
