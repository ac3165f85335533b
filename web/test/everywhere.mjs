// The paths of all pages that need a session.

const tabs = (at, ...names) => [at, ...names.map((n) => `${at}?tab=${n}`)];

/** Returns the pages of an organization, a template, a workspace (owner/name) and a group, in the format of look. */
export async function everywhere(url, credentials, { organization, template, workspace, group }) {
  const login = await (
    await fetch(`${url}/api/v2/users/login`, { method: 'POST', body: JSON.stringify(credentials) })
  ).json();
  const ask = async (path) =>
    (await fetch(`${url}/api/v2${path}`, { headers: { 'Coder-Session-Token': login.session_token } })).json();
  const { active_version_id: id } = await ask(`/organizations/${organization}/templates/${template}`);
  const apps = await ask('/oauth2-provider/apps'); // an error while the OAuth2 provider is off
  const { name: version } = await ask(`/templateversions/${id}`);
  const w = `/@${workspace}`;
  const t = `/templates/${organization}/${template}`;
  const o = `/organizations/${organization}`;
  return [
    '/', // redirects to the workspaces
    '/workspaces',
    '/workspaces?q=name%3Anothing',
    ...tabs(w, 'builds', 'parameters', 'schedule', 'sharing', 'settings'),
    { path: `${w}?tab=ports`, varies: true }, // the ports of the machine
    { path: `${w}/builds/1`, varies: true }, // the times of the phases
    `${t}/workspace`,
    `${t}/workspace?mode=auto&name=linked`,
    '/templates',
    '/templates/new',
    '/templates/new?starter=local',
    ...tabs(t, 'versions', 'files', 'variables', 'permissions', 'schedule', 'settings', 'embed', 'insights'),
    ...tabs(`${t}/versions/${version}`, 'files', 'log').map((path) => ({
      path,
      name: path.replace(version, 'version'),
      varies: path.endsWith('log'),
    })),
    `${t}/edit`,
    '/organizations',
    ...['members', 'groups', 'roles', 'queue', 'jobs', 'keys', 'insights', 'sync', 'rules', 'settings'].map(
      (n) => `${o}/${n}`,
    ),
    { path: `${o}/provisioners`, varies: true }, // which one ran the last build
    `${o}/groups/${group}`,
    '/users',
    '/deployment/insights',
    // After all insights, which would have its session if it is open for a while.
    { path: `${w}/terminal`, ready: '[data-terminal=open]', varies: true },
    { path: '/deployment/overview', varies: true }, // charts of what the server measured
    '/audit',
    '/audit/connections',
    ...[
      'health',
      'health/database',
      'health/derp',
      'settings',
      'sync',
      'notifications',
      'oauth2',
      'support',
      'appearance',
    ].map((n) => `/deployment/${n}`),
    ...[
      'account',
      'security',
      'ssh-key',
      'tokens',
      'secrets',
      'external-auth',
      'applications',
      'schedule',
      'appearance',
      'notifications',
    ].map((n) => `/settings/${n}`),
    ...(apps[0] ? [{ path: `/deployment/oauth2/${apps[0].id}`, name: '/deployment/oauth2/app' }] : []),
    '/notifications',
    '/cli-auth',
    '/@nobody/nothing',
  ];
}
