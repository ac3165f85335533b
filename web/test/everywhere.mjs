// The addresses of all pages of somebody who is logged in.

const tabs = (at, ...names) => [at, ...names.map((n) => `${at}?tab=${n}`)];

/** All pages about an organization, a template in it, a workspace (owner/name) and a group, as look takes them. */
export async function everywhere(url, credentials, { organization, template, workspace, group }) {
  const login = await (await fetch(`${url}/api/v2/users/login`, { method: 'POST', body: JSON.stringify(credentials) })).json();
  const ask = async (path) => (await fetch(`${url}/api/v2${path}`, { headers: { 'Coder-Session-Token': login.session_token } })).json();
  const { active_version_id: id } = await ask(`/organizations/${organization}/templates/${template}`);
  const { name: version } = await ask(`/templateversions/${id}`);
  const w = `/@${workspace}`;
  const t = `/templates/${organization}/${template}`;
  const o = `/organizations/${organization}`;
  return [
    '/', // goes on to the workspaces
    '/workspaces',
    '/workspaces?q=name%3Anothing',
    ...tabs(w, 'builds', 'ports', 'parameters', 'schedule', 'sharing', 'settings'),
    `${w}/builds/1`,
    { path: `${w}/terminal`, ready: '[data-terminal=open]' },
    `${t}/workspace`,
    `${t}/workspace?mode=auto&name=linked`,
    '/templates',
    '/templates/new',
    '/templates/new?starter=local',
    ...tabs(t, 'versions', 'files', 'variables', 'permissions', 'schedule', 'settings', 'embed', 'insights'),
    ...tabs(`${t}/versions/${version}`, 'files', 'log').map((path) => ({ path, name: path.replace(version, 'version') })),
    `${t}/edit`,
    '/organizations',
    ...['members', 'groups', 'roles', 'provisioners', 'queue', 'jobs', 'keys', 'sync', 'settings'].map((n) => `${o}/${n}`),
    `${o}/groups/${group}`,
    '/users',
    '/audit',
    '/audit/connections',
    ...['overview', 'health', 'settings', 'sync', 'appearance'].map((n) => `/deployment/${n}`),
    ...['account', 'security', 'ssh-key', 'tokens', 'schedule', 'appearance'].map((n) => `/settings/${n}`),
    '/cli-auth',
    '/nothing/is/here',
    '/@nobody/nothing',
  ];
}
