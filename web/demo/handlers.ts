// The operations of the API that the demo implements. Workspaces, users and tokens can be
// changed; the changes are kept until the page is reloaded. Every other operation returns a
// sample of its response schema.

import type { Schema } from '../src/api/client';
import type { paths } from '../src/api/schema.gen';
import * as data from './fixtures';
import { create } from './openapi';

/** A request to the mock API. */
export interface MockRequest {
  variables: Record<string, string>;
  query: URLSearchParams;
  body: Record<string, unknown>;
}

/** An error response of the mock API. */
export class MockError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Handler = (request: MockRequest) => unknown;
type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type JSONBody<R> = R extends { content: { 'application/json': infer B } } ? B : void;
type Body<M extends Method, P extends keyof paths> = paths[P][M] extends { responses: infer R }
  ? JSONBody<R[keyof R]>
  : never;

const handlers = new Map<string, Handler>();

/** Registers a handler. Its result must conform to the response schema of the operation. */
function on<M extends Method, P extends keyof paths>(
  method: M,
  path: P,
  handler: (request: MockRequest) => Body<M, P>,
): void {
  handlers.set(`${method} ${path}`, handler);
}

/** Returns the handler of an operation, if the demo implements it. */
export function findHandler(method: string, path: string): Handler | undefined {
  return handlers.get(`${method.toLowerCase()} ${path}`);
}

const listeners = new Set<(topic: string) => void>();

/** Calls the listener for each changed topic until the returned function is called. */
export function onChange(listener: (topic: string) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notify(...topics: string[]): void {
  for (const topic of topics) for (const listener of [...listeners]) listener(topic);
}

/** Returns the item that matches, or fails with 404. */
function need<T>(item: T | undefined, kind: string): T {
  if (item === undefined) throw new MockError(404, `${kind} not found.`);
  return item;
}

/** Returns one page of a list. */
function paginate<T>(items: T[], query: URLSearchParams): T[] {
  const offset = Number(query.get('offset') ?? 0);
  return items.slice(offset, offset + (Number(query.get('limit')) || items.length));
}

const me = (name: string | undefined): string => (name === 'me' || name === undefined ? data.self.username : name);
const findUser = (key: string | undefined) =>
  need(
    data.users.find((u) => u.username === me(key) || u.id === key),
    'User',
  );
const findOrganization = (key: string | undefined) =>
  need(
    data.organizations.find((o) => o.name === key || o.id === key || (key === 'default' && o.is_default)),
    'Organization',
  );
const findTemplate = (key: string | undefined) =>
  need(
    data.templates.find((t) => t.id === key || t.name === key),
    'Template',
  );
const findVersion = (key: string | undefined) =>
  need(
    data.versions.find((v) => v.id === key),
    'Template version',
  );
const findWorkspace = (key: string | undefined) =>
  need(
    data.workspaces.find((w) => w.id === key),
    'Workspace',
  );

/** Reports whether a workspace matches a search such as "owner:me status:running dev". */
function matchesSearch(workspace: Schema<'Workspace'>, search: string): boolean {
  return search
    .split(/\s+/)
    .filter(Boolean)
    .every((term) => {
      const [key, quoted = ''] = term.split(':');
      const value = quoted.replaceAll('"', '');
      if (key === 'owner') return workspace.owner_name === me(value);
      if (key === 'status') return workspace.latest_build.status === value;
      if (key === 'outdated') return String(workspace.outdated) === value;
      if (key === 'template') return workspace.template_name === value;
      if (key === 'name_exact') return workspace.name === value;
      if (key === 'name') return workspace.name.includes(value);
      return value === '' ? workspace.name.includes(term) : false;
    });
}

function sortWorkspaces(found: Schema<'Workspace'>[], sort: string): Schema<'Workspace'>[] {
  const by = sort.replace('-', '');
  const key = (w: Schema<'Workspace'>) =>
    ({
      name: w.name,
      owner: w.owner_name,
      template: w.template_display_name || w.template_name,
      status: w.latest_build.status,
      last_used: w.last_used_at,
      autostop: w.latest_build.deadline ?? '',
    })[by] ?? '';
  const sorted = by === '' ? found : found.toSorted((a, b) => key(a).localeCompare(key(b)));
  return sort.startsWith('-') ? sorted.toReversed() : sorted;
}

function replaceWorkspace(workspace: Schema<'Workspace'>): void {
  const index = data.workspaces.findIndex((w) => w.id === workspace.id);
  if (index < 0) data.workspaces.unshift(workspace);
  else data.workspaces[index] = workspace;
  notify('workspace', `workspace/${workspace.id}`);
}

let created = 100;

/** How long a build of the demo takes, in milliseconds. */
const buildTime = 1_500;

/** Starts a build that completes after a moment. */
function startBuild(
  workspace: Schema<'Workspace'>,
  transition: Schema<'WorkspaceTransition'>,
): Schema<'WorkspaceBuild'> {
  const number = workspace.latest_build.build_number + 1;
  const running = { start: 'starting', stop: 'stopping', delete: 'deleting' } as const;
  const done = { start: 'running', stop: 'stopped', delete: 'deleted' } as const;
  const finished = data.createBuild(workspace, created++, number, {
    transition,
    status: done[transition],
    created_at: data.ago(0),
  });
  const build: Schema<'WorkspaceBuild'> = {
    ...finished,
    status: running[transition],
    resources: [],
    job: { ...finished.job, status: 'running', completed_at: undefined },
  };
  replaceWorkspace({ ...workspace, latest_build: build });
  setTimeout(() => {
    if (transition === 'delete')
      data.workspaces.splice(0, data.workspaces.length, ...data.workspaces.filter((w) => w.id !== workspace.id));
    else replaceWorkspace({ ...findWorkspace(workspace.id), latest_build: finished });
    notify('workspace', `workspace/${workspace.id}`, `job/${build.job.id}`);
  }, buildTime);
  return build;
}

on('get', '/api/v2/buildinfo', () =>
  create('BuildInfoResponse', { version: 'v2.37.0-demo', external_url: 'https://coder.example.com' }),
);
on('get', '/api/v2/appearance', () => create('AppearanceConfig', { application_name: 'Coder demo' }));
on('get', '/api/v2/users/authmethods', () => create('AuthMethods', { password: { enabled: true } }));
on('get', '/api/v2/regions', () =>
  create('RegionsResponse', { regions: [create('Region', { id: data.id(19, 1), name: 'primary', healthy: true })] }),
);
on('post', '/api/v2/authcheck', ({ body }) =>
  Object.fromEntries(Object.keys((body.checks as object | undefined) ?? {}).map((k) => [k, true])),
);
on('get', '/api/v2/auth/scopes', () =>
  create('ExternalAPIKeyScopes', { external: ['coder:all', 'coder:workspaces.access', 'coder:workspaces.operate'] }),
);

on('get', '/api/v2/users', ({ query }) => {
  const found = data.users.filter((u) => u.username.includes((query.get('q') ?? '').replace(/\w+:\S*/g, '').trim()));
  return { users: paginate(found, query), count: found.length };
});
on('post', '/api/v2/users', ({ body }) => {
  if (data.users.some((u) => u.username === body.username)) throw new MockError(409, 'The username is already taken.');
  const user = create('User', {
    ...body,
    id: data.id(2, created++),
    status: 'active',
    created_at: data.ago(0),
  } as Partial<Schema<'User'>>);
  data.users.push(user);
  notify('user');
  return user;
});
on('get', '/api/v2/users/{user}', ({ variables }) => findUser(variables.user));
on('delete', '/api/v2/users/{user}', ({ variables }) => {
  data.users.splice(data.users.indexOf(findUser(variables.user)), 1);
  notify('user');
  return { message: 'User deleted.' };
});
for (const [action, status] of [
  ['suspend', 'suspended'],
  ['activate', 'active'],
] as const) {
  on('put', `/api/v2/users/{user}/status/${action}`, ({ variables }) => {
    const user = findUser(variables.user);
    user.status = status;
    notify('user');
    return user;
  });
}
on('get', '/api/v2/users/roles', () => data.siteRoles);
on('get', '/api/v2/users/{user}/organizations', () => data.organizations);
on('get', '/api/v2/users/{user}/gitsshkey', () =>
  create('GitSSHKey', {
    public_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDemoDemoDemoDemoDemoDemoDemoDemoDemoDemoDemo owner',
    updated_at: data.ago(1e9),
  }),
);
on('get', '/api/v2/users/{user}/quiet-hours', () =>
  create('UserQuietHoursScheduleResponse', {
    time: '00:00',
    timezone: 'UTC',
    user_can_set: true,
    next: data.ago(-36_000_000),
  }),
);
on('get', '/api/v2/users/{user}/sessions', () => [
  create('Session', {
    id: 'a1',
    current: true,
    ip_address: '203.0.113.7',
    user_agent: navigator.userAgent,
    created_at: data.ago(4e6),
    last_used: data.ago(0),
  }),
  create('Session', {
    id: 'b2',
    ip_address: '203.0.113.9',
    user_agent: 'coder-cli/v2.37.0',
    created_at: data.ago(9e8),
    last_used: data.ago(7e6),
  }),
]);
on('get', '/api/v2/users/{user}/keys/tokens', () => data.tokens);
on('get', '/api/v2/users/{user}/keys/tokens/tokenconfig', () =>
  create('TokenConfig', { max_token_lifetime: 31_536_000_000_000_000 }),
);
on('post', '/api/v2/users/{user}/keys/tokens', ({ body }) => {
  const token = {
    token_name: String(body.token_name),
    scopes: body.scopes as Schema<'APIKeyScope'>[],
    allow_list: ['*:*'],
  };
  data.tokens.push(
    create('APIKeyWithOwner', {
      ...token,
      id: `t${created++}`,
      created_at: data.ago(0),
      expires_at: data.ago(-2.6e9),
      last_used: '0001-01-01T00:00:00Z',
    }),
  );
  return create('GenerateAPIKeyResponse', { key: 'demo-token-without-access' });
});
on('delete', '/api/v2/users/{user}/keys/{keyid}', ({ variables }) => {
  data.tokens.splice(0, data.tokens.length, ...data.tokens.filter((t) => t.id !== variables.keyid));
});

on('get', '/api/v2/workspaces', ({ query }) => {
  const found = data.workspaces.filter((w) => matchesSearch(w, query.get('q') ?? ''));
  const counts = found.map((w) => ({
    status: w.latest_build.status,
    template_name: w.template_name,
    outdated: w.outdated,
    dormant: w.dormant_at !== null && w.dormant_at !== undefined,
    unhealthy: w.latest_build.status === 'running' && !w.health.healthy,
    count: 1,
  }));
  const workspaces = paginate(sortWorkspaces(found, query.get('sort') ?? ''), query);
  const rights: Schema<'RBACAction'>[] = ['start', 'stop', 'ssh', 'application_connect', 'update'];
  return {
    workspaces,
    count: found.length,
    counts: query.get('counts') === 'true' ? counts : undefined,
    rights: query.get('rights') === 'true' ? Object.fromEntries(workspaces.map((w) => [w.id, rights])) : undefined,
  };
});
on('get', '/api/v2/workspaces/{workspace}', ({ variables }) => findWorkspace(variables.workspace));
on('get', '/api/v2/users/{user}/workspace/{workspacename}', ({ variables }) =>
  need(
    data.workspaces.find((w) => w.owner_name === me(variables.user) && w.name === variables.workspacename),
    'Workspace',
  ),
);
on('post', '/api/v2/users/{user}/workspaces', ({ variables, body }) => {
  const user = findUser(variables.user);
  const name = String(body.name);
  if (data.workspaces.some((w) => w.name === name && w.owner_id === user.id))
    throw new MockError(409, 'The name is already taken.');
  const template = data.templates.findIndex((t) => t.id === body.template_id);
  const workspace = data.createWorkspace(
    { name, template, user: data.users.indexOf(user), status: 'stopped', lastUsed: 0 },
    created++,
  );
  return { ...workspace, latest_build: startBuild(workspace, 'start') };
});
on('post', '/api/v2/workspaces/{workspace}/builds', ({ variables, body }) => {
  const build = startBuild(findWorkspace(variables.workspace), body.transition as Schema<'WorkspaceTransition'>);
  if (body.on_success) setTimeout(() => startBuild(findWorkspace(variables.workspace), 'start'), 2 * buildTime);
  return build;
});
for (const [method, favorite] of [
  ['put', true],
  ['delete', false],
] as const) {
  on(method, '/api/v2/workspaces/{workspace}/favorite', ({ variables }) =>
    replaceWorkspace({ ...findWorkspace(variables.workspace), favorite }),
  );
}
on('get', '/api/v2/workspaces/{workspace}/builds', ({ variables, query }) => {
  const workspace = findWorkspace(variables.workspace);
  const older = [2, 1].map((n) =>
    data.createBuild(workspace, data.workspaces.indexOf(workspace) + 1, n, {
      created_at: data.ago((4 - n) * 86_400_000),
    }),
  );
  return paginate([workspace.latest_build, ...older], query);
});
on('get', '/api/v2/users/{user}/workspace/{workspacename}/builds/{buildnumber}', ({ variables }) => {
  const workspace = need(
    data.workspaces.find((w) => w.name === variables.workspacename),
    'Workspace',
  );
  const number = Number(variables.buildnumber);
  if (number === workspace.latest_build.build_number) return workspace.latest_build;
  return data.createBuild(workspace, data.workspaces.indexOf(workspace) + 1, number, {});
});
on('get', '/api/v2/workspacebuilds/{workspacebuild}', ({ variables }) =>
  need(data.workspaces.find((w) => w.latest_build.id === variables.workspacebuild)?.latest_build, 'Build'),
);
on('get', '/api/v2/workspacebuilds/{workspacebuild}/parameters', () =>
  data.parameters.map((p) => ({ name: p.name, value: p.default_value })),
);
on('get', '/api/v2/workspacebuilds/{workspacebuild}/timings', () => {
  const stages = [
    ['init', 'terraform init', 0, 1.2],
    ['plan', 'terraform plan', 1.2, 3.4],
    ['apply', 'kubernetes_pod.main', 3.4, 15.1],
  ] as const;
  return create('WorkspaceBuildTimings', {
    provisioner_timings: stages.map(([stage, resource, from, to]) =>
      create('ProvisionerTiming', {
        stage,
        resource,
        started_at: data.ago(6e5 - from * 1000),
        ended_at: data.ago(6e5 - to * 1000),
      }),
    ),
  });
});
on('get', '/api/v2/workspaceagents/{workspaceagent}/listening-ports', () => ({
  ports: [
    { port: 3000, network: 'tcp', process_name: 'node' },
    { port: 8080, network: 'tcp', process_name: 'api' },
  ],
}));
on('get', '/api/v2/deployment/ssh', () => create('SSHConfigResponse', { hostname_suffix: 'coder' }));
on('get', '/api/v2/organizations/{organization}/members/{user}/workspace-quota', () => ({
  budget: 40,
  credits_consumed: 12,
}));

on('get', '/api/v2/templates', ({ query }) => {
  const search = (query.get('q') ?? '').replace(/exact_name:|"/g, '');
  return paginate(
    data.templates.filter((t) => t.name.includes(search)),
    query,
  );
});
on('get', '/api/v2/templates/{template}', ({ variables }) => findTemplate(variables.template));
on('get', '/api/v2/organizations/{organization}/templates/{templatename}', ({ variables }) =>
  findTemplate(variables.templatename),
);
on('get', '/api/v2/templates/{template}/versions', ({ variables, query }) => {
  const newest = data.versions.filter((v) => v.template_id === findTemplate(variables.template).id);
  const all = query.get('newest_first') === 'true' ? newest : newest.toReversed();
  return paginate(all.slice(all.findIndex((v) => v.id === query.get('after_id')) + 1), query);
});
on(
  'get',
  '/api/v2/organizations/{organization}/templates/{templatename}/versions/{templateversionname}',
  ({ variables }) =>
    need(
      data.versions.find(
        (v) => v.template_id === findTemplate(variables.templatename).id && v.name === variables.templateversionname,
      ),
      'Template version',
    ),
);
on('get', '/api/v2/templateversions/{templateversion}', ({ variables }) => findVersion(variables.templateversion));
on('get', '/api/v2/templateversions/{templateversion}/rich-parameters', () => data.parameters);
on('post', '/api/v2/templateversions/{templateversion}/dynamic-parameters/evaluate', () =>
  create('DynamicParametersResponse', {
    parameters: data.parameters.map((p, order) => {
      const value = { value: p.default_value, valid: true };
      return create('PreviewParameter', {
        name: p.name,
        display_name: p.display_name,
        description: p.description_plaintext,
        type: p.type,
        form_type: p.form_type as Schema<'ParameterFormType'>,
        mutable: p.mutable,
        required: p.required,
        order,
        default_value: value,
        value,
        options: p.options.map((o) => ({ ...o, value: { value: o.value, valid: true } })),
        validations: [
          create('PreviewParameterValidation', { validation_min: p.validation_min, validation_max: p.validation_max }),
        ],
      });
    }),
  }),
);
on('get', '/api/v2/templateversions/{templateversion}/variables', () => [
  create('TemplateVersionVariable', {
    name: 'namespace',
    description: 'Kubernetes namespace of the pods',
    type: 'string',
    value: 'workspaces',
    default_value: 'workspaces',
  }),
]);
on(
  'get',
  '/api/v2/templateversions/{templateversion}/resources',
  () => data.workspaces[0]?.latest_build.resources ?? [],
);
on('get', '/api/v2/templates/{template}/acl', ({ variables }) => {
  const template = findTemplate(variables.template);
  const everyone = {
    ...(data.groups[0] as Schema<'Group'>),
    id: template.organization_id,
    organization_id: template.organization_id,
  };
  return { group: [{ ...everyone, role: 'use' as const }], users: [] };
});
on('get', '/api/v2/templates/examples', () =>
  ['Docker container', 'Kubernetes pod', 'Local process'].map((name) =>
    create('TemplateExample', {
      id: name.toLowerCase().replaceAll(' ', '-'),
      name,
      description: `A ${name.toLowerCase()} with an agent.`,
      tags: name === 'Local process' ? ['linux'] : ['linux', 'container'],
      markdown: `# ${name}\n`,
    }),
  ),
);
on('get', '/api/v2/templates/summaries', ({ query }) =>
  (query.get('ids') ?? '').split(',').map((id, index) => ({
    template_id: id,
    workspaces: data.workspaces.filter((w) => w.template_id === id).length,
    latest_import: create('TemplateImport', {
      version_name: 'v2',
      status: index === 1 ? 'failed' : 'succeeded',
      error: index === 1 ? 'main.tf:12: Reference to undeclared resource' : '',
    }),
  })),
);
on('get', '/api/v2/templates/modules', () => [
  {
    id: 'dev-server',
    name: 'Development server',
    description: 'An app for a web server that users start in the workspace',
    icon: '',
    tags: ['web'],
    settings: [{ name: 'dev_server_port', type: 'number', description: 'Port of the web server.', default: '3000' }],
  },
]);
on('post', '/api/v2/templates/compose', ({ body }) => ({
  files: [
    { path: 'main.tf', content: 'resource "coder_agent" "main" {\n  os   = "linux"\n  arch = "amd64"\n}\n' },
    ...(body.modules as { id: string }[]).map((module) => ({ path: `${module.id}.tf`, content: '' })),
  ],
  variables: [],
}));
on('post', '/api/v2/organizations/{organization}/templates/check', () => ({
  diagnostics: [],
  blocks: [{ type: 'resource', labels: ['coder_agent', 'main'], path: 'main.tf', line: 1 }],
  parameters: [],
}));
on('get', '/api/v2/insights/templates', () =>
  create('TemplateInsightsResponse', {
    interval_reports: data.dailyActiveUsers.slice(-7).map((d) =>
      create('TemplateInsightsIntervalReport', {
        start_time: `${d.date}T00:00:00Z`,
        end_time: `${d.date}T23:59:59Z`,
        active_users: d.amount,
      }),
    ),
    report: create('TemplateInsightsReport', {
      active_users: 31,
      apps_usage: [
        create('TemplateAppUsage', {
          slug: 'vscode',
          display_name: 'Visual Studio Code',
          seconds: 184_000,
          times_used: 0,
          type: 'builtin',
        }),
      ],
    }),
  }),
);

on('get', '/api/v2/organizations', () => data.organizations);
on('get', '/api/v2/organizations/{organization}', ({ variables }) => findOrganization(variables.organization));
on('get', '/api/v2/organizations/{organization}/paginated-members', ({ variables, query }) => {
  const organization = findOrganization(variables.organization);
  const found = data.users.filter((u) => u.username.includes(query.get('q') ?? ''));
  const members = found.map((u) =>
    create('OrganizationMemberWithUserData', {
      user_id: u.id,
      username: u.username,
      email: u.email,
      global_roles: u.roles,
      organization_id: organization.id,
    }),
  );
  return { members: paginate(members, query), count: members.length };
});
on('get', '/api/v2/organizations/{organization}/groups', () => data.groups);
on('get', '/api/v2/organizations/{organization}/groups/{groupName}', ({ variables }) =>
  need(
    data.groups.find((g) => g.name === variables.groupName),
    'Group',
  ),
);
on('get', '/api/v2/groups/{group}/members', () => ({
  users: data.users.slice(1, 3).map((u) => create('ReducedUser', { id: u.id, username: u.username, email: u.email })),
  count: 2,
}));
on('get', '/api/v2/organizations/{organization}/members/roles', () => data.roles);
on('get', '/api/v2/organizations/{organization}/provisionerdaemons', ({ query }) =>
  data.provisioners.filter((p) => !query.get('status') || p.status === query.get('status')),
);
on('get', '/api/v2/organizations/{organization}/provisionerjobs', ({ query }) =>
  paginate(
    data.jobs.filter((j) => !query.get('status') || j.status === query.get('status')),
    query,
  ),
);
on('get', '/api/v2/organizations/{organization}/provisionerjobs/{job}/explain', () =>
  create('ProvisionerJobExplanation', {
    status: 'pending',
    summary: 'No provisioner matches the tags of this job.',
    warning: 'The job starts when a provisioner with the tag region=ap-south connects.',
    queue_position: 1,
    queue_size: 1,
  }),
);
on('get', '/api/v2/organizations/{organization}/provisionerqueue', () =>
  create('ProvisionerQueue', {
    count: 1,
    tag_sets: [
      create('ProvisionerQueueTagSet', {
        tags: data.jobs[0]?.tags ?? {},
        pending: 1,
        oldest_wait_seconds: 95,
        recommended_slots: 1,
      }),
    ],
  }),
);
on('get', '/api/v2/organizations/{organization}/provisionerkeys', () => data.provisionerKeys);

on('get', '/api/v2/audit', ({ query }) => ({
  audit_logs: paginate(data.auditLogs, query),
  count: data.auditLogs.length,
}));
on('get', '/api/v2/connectionlog', ({ query }) => ({
  connection_logs: paginate(data.connections, query),
  count: data.connections.length,
}));
on('get', '/api/v2/deployment/stats', () =>
  create('DeploymentStats', {
    aggregated_from: data.ago(36e5),
    session_count: { ssh: 11, vscode: 17, jetbrains: 4, reconnecting_pty: 6 },
    workspaces: {
      running: 31,
      building: 1,
      pending: 1,
      failed: 1,
      stopped: 22,
      rx_bytes: 4.1e9,
      tx_bytes: 9.7e9,
      connection_latency_ms: { P50: 18.4, P95: 96.2 },
    },
  }),
);
on('get', '/api/v2/insights/daus', () => ({ entries: data.dailyActiveUsers, tz_hour_offset: 0 }));
on('get', '/api/v2/replicas', () => [
  create('Replica', {
    id: data.id(20, 1),
    hostname: 'coder-0',
    created_at: data.ago(8e8),
    database_latency: 1_400_000,
  }),
]);
on('get', '/api/v2/deployment/config', () => {
  const group = { name: 'Networking', description: '', parent: null, yaml: 'networking' };
  return create('DeploymentConfig', {
    options: [
      create('DeploymentOption', {
        name: 'Access URL',
        flag: 'access-url',
        env: 'CODER_ACCESS_URL',
        description: 'URL that users and agents use to reach the server.',
        value: 'https://coder.example.com',
        value_source: 'env',
        group,
      }),
      create('DeploymentOption', {
        name: 'Wildcard access URL',
        flag: 'wildcard-access-url',
        env: 'CODER_WILDCARD_ACCESS_URL',
        description: 'Host name pattern of subdomain apps.',
        value: '*.apps.example.com',
        value_source: 'yaml',
        group,
      }),
    ],
  });
});
on('get', '/api/v2/debug/health', () => {
  const healthy = { severity: 'ok', healthy: true } as const;
  return create('HealthcheckReport', {
    ...healthy,
    time: data.ago(60_000),
    access_url: create('AccessURLReport', {
      ...healthy,
      access_url: 'https://coder.example.com',
      reachable: true,
      status_code: 200,
    }),
    database: create('DatabaseReport', { ...healthy, reachable: true, latency_ms: 1, threshold_ms: 15 }),
    websocket: create('WebsocketReport', healthy),
  });
});
