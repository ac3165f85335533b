// The data of the demo: a deployment with two organizations, four templates and a few users.
// Each value starts from its schema in the OpenAPI document, so a new required field never
// breaks the demo.

import agentIcon from '../icons/own/agent.svg';
import databaseIcon from '../icons/own/database-admin.svg';
import filesIcon from '../icons/own/files.svg';
import desktopIcon from '../icons/own/remote-desktop.svg';
import type { Schema } from '../src/api/client';
import { create } from './openapi';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const opened = Date.now();

/** Returns the time a duration in milliseconds before the demo was opened. */
export const ago = (milliseconds: number): string => new Date(opened - milliseconds).toISOString();

/** Returns a stable id for an object of the demo. */
export function id(kind: number, index: number): string {
  return `${String(kind).padStart(8, '0')}-0000-4000-8000-${String(index).padStart(12, '0')}`;
}

const icons = { agent: agentIcon, database: databaseIcon, files: filesIcon, desktop: desktopIcon };

export const organizations = [
  create('Organization', {
    id: id(1, 1),
    name: 'platform',
    display_name: 'Platform',
    description: 'Services and infrastructure',
    is_default: true,
    provisioner_weight: 1,
    created_at: ago(400 * day),
  }),
  create('Organization', {
    id: id(1, 2),
    name: 'data-science',
    display_name: 'Data science',
    description: 'Notebooks and model training',
    provisioner_weight: 1,
    created_at: ago(200 * day),
  }),
];

const owner = { name: 'owner', display_name: 'Owner', organization_id: '' };
const templateAdmin = { name: 'template-admin', display_name: 'Template Admin', organization_id: '' };
const auditor = { name: 'auditor', display_name: 'Auditor', organization_id: '' };

function createUser(index: number, username: string, properties: Partial<Schema<'User'>>): Schema<'User'> {
  return create('User', {
    id: id(2, index),
    username,
    name: '',
    email: `${username}@example.com`,
    login_type: 'oidc',
    status: 'active',
    created_at: ago(300 * day),
    last_seen_at: ago(index * hour),
    organization_ids: organizations.map((o) => o.id),
    ...properties,
  });
}

export const users = [
  createUser(1, 'owner', { roles: [owner], login_type: 'password', last_seen_at: ago(minute) }),
  createUser(2, 'developer', { last_seen_at: ago(4 * minute) }),
  createUser(3, 'template-admin', { roles: [templateAdmin] }),
  createUser(4, 'auditor', { roles: [auditor] }),
  createUser(5, 'contractor', { status: 'suspended', last_seen_at: ago(40 * day) }),
];

/** The signed-in user. */
export const self = users[0] as Schema<'User'>;

function createJob(index: number, properties: Partial<Schema<'ProvisionerJob'>> = {}): Schema<'ProvisionerJob'> {
  const started = opened - (index % 97) * hour - 10 * minute;
  return create('ProvisionerJob', {
    id: id(3, index),
    status: 'succeeded',
    type: 'workspace_build',
    tags: { scope: 'organization', owner: '' },
    organization_id: organizations[0]?.id,
    initiator_id: self.id,
    worker_name: 'built-in-1',
    created_at: new Date(started - 2_000).toISOString(),
    started_at: new Date(started).toISOString(),
    completed_at: new Date(started + 14_000 + (index % 7) * 3_000).toISOString(),
    file_id: id(9, 1),
    metadata: create('ProvisionerJobMetadata'),
    input: create('ProvisionerJobInput'),
    ...properties,
  });
}

const readme = `# Development environment

A Kubernetes pod with a persistent home directory.

| Parameter | Effect |
| --- | --- |
| Size | CPU and memory of the pod |
| Region | The cluster that runs the pod |

\`\`\`sh
coder create dev --template kubernetes
\`\`\`
`;

interface TemplateSpec {
  name: string;
  display_name: string;
  description: string;
  icon: string;
  users: number;
  organization?: number;
  seconds: number;
}

const templateSpecs: TemplateSpec[] = [
  {
    name: 'kubernetes',
    display_name: 'Kubernetes pod',
    description: 'A pod with a persistent home directory.',
    icon: icons.agent,
    users: 34,
    seconds: 19,
  },
  {
    name: 'docker',
    display_name: 'Docker container',
    description: 'A container on a shared host.',
    icon: icons.files,
    users: 12,
    seconds: 6,
  },
  {
    name: 'windows',
    display_name: 'Windows VM',
    description: 'A virtual machine with remote desktop.',
    icon: icons.desktop,
    users: 3,
    seconds: 210,
  },
  {
    name: 'notebook',
    display_name: 'Notebook',
    description: 'JupyterLab with access to the warehouse.',
    icon: icons.database,
    users: 9,
    seconds: 41,
    organization: 1,
  },
];

export const templates = templateSpecs.map((spec, index) => {
  const organization = organizations[spec.organization ?? 0] as Schema<'Organization'>;
  return create('Template', {
    id: id(4, index + 1),
    name: spec.name,
    display_name: spec.display_name,
    description: spec.description,
    icon: spec.icon,
    organization_id: organization.id,
    organization_name: organization.name,
    organization_display_name: organization.display_name,
    active_version_id: id(5, index * 10 + 2),
    active_user_count: spec.users,
    build_time_stats: { start: { P50: spec.seconds * 1000, P95: spec.seconds * 2400 } },
    created_by_id: users[2]?.id,
    created_by_name: 'template-admin',
    created_at: ago((90 + index) * day),
    updated_at: ago((2 + index) * day),
    provisioner: 'terraform',
    default_ttl_ms: 8 * hour,
    activity_bump_ms: hour,
    allow_user_autostart: true,
    allow_user_autostop: true,
    allow_user_cancel_workspace_jobs: true,
    autostart_requirement: { days_of_week: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'] },
    autostop_requirement: { days_of_week: ['sunday'], weeks: 1 },
    time_til_dormant_ms: 30 * day,
    max_port_share_level: 'authenticated',
    cors_behavior: 'simple',
  });
});

const createdBy = { id: users[2]?.id ?? '', username: 'template-admin', name: '', avatar_url: '' };

export const versions = templates.flatMap((template, index) =>
  [2, 1].map((number) =>
    create('TemplateVersion', {
      id: id(5, index * 10 + number),
      template_id: template.id,
      organization_id: template.organization_id,
      name: `v${number}`,
      message: number === 1 ? 'Create the template' : 'Raise the memory limit',
      readme,
      created_by: createdBy,
      created_at: ago((number === 1 ? 90 : 2 + index) * day),
      job: createJob(500 + index * 10 + number, {
        type: 'template_version_import',
        organization_id: template.organization_id,
        file_id: id(9, number),
      }),
      matched_provisioners: { available: 3, count: 3, most_recently_seen: ago(minute) },
    }),
  ),
);

/** The source files of the template versions by file id. */
export const sources: Record<string, Record<string, string>> = {
  [id(9, 1)]: { 'main.tf': terraformSource('4Gi'), 'README.md': readme },
  [id(9, 2)]: { 'main.tf': terraformSource('8Gi'), 'README.md': readme },
};

function terraformSource(memory: string): string {
  return `terraform {
  required_providers {
    coder      = { source = "coder/coder" }
    kubernetes = { source = "hashicorp/kubernetes" }
  }
}

data "coder_workspace" "me" {}

resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"
}

resource "kubernetes_pod" "main" {
  count = data.coder_workspace.me.start_count
  metadata {
    name = "coder-\${data.coder_workspace.me.id}"
  }
  spec {
    container {
      name  = "dev"
      image = "registry.example.com/dev:latest"
      resources {
        limits = { memory = "${memory}" }
      }
    }
  }
}
`;
}

export const parameters = [
  create('TemplateVersionParameter', {
    name: 'size',
    display_name: 'Size',
    description: 'CPU and memory of the workspace.',
    description_plaintext: 'CPU and memory of the workspace.',
    type: 'string',
    form_type: 'radio',
    mutable: true,
    required: true,
    default_value: 'medium',
    options: [
      { name: 'Small', value: 'small', description: '2 CPU, 4 GiB', icon: '' },
      { name: 'Medium', value: 'medium', description: '4 CPU, 8 GiB', icon: '' },
      { name: 'Large', value: 'large', description: '8 CPU, 16 GiB', icon: '' },
    ],
  }),
  create('TemplateVersionParameter', {
    name: 'region',
    display_name: 'Region',
    type: 'string',
    form_type: 'dropdown',
    default_value: 'us-east',
    options: ['us-east', 'eu-west'].map((region) => ({ name: region, value: region, description: '', icon: '' })),
  }),
  create('TemplateVersionParameter', {
    name: 'disk',
    display_name: 'Home directory (GiB)',
    type: 'number',
    form_type: 'slider',
    mutable: true,
    default_value: '20',
    validation_min: 10,
    validation_max: 100,
    validation_monotonic: 'increasing',
  }),
];

function createApp(index: number, slug: string, display_name: string, icon: string): Schema<'WorkspaceApp'> {
  return create('WorkspaceApp', {
    id: id(8, index),
    slug,
    display_name,
    icon,
    health: 'healthy',
    sharing_level: 'owner',
    open_in: 'tab',
  });
}

interface WorkspaceSpec {
  name: string;
  template: number;
  user?: number;
  status: Schema<'WorkspaceStatus'>;
  version?: number;
  lastUsed: number;
}

function createResources(index: number, template: Schema<'Template'>): Schema<'WorkspaceResource'>[] {
  const agent = create('WorkspaceAgent', {
    id: id(6, index),
    name: 'main',
    status: 'connected',
    lifecycle_state: 'ready',
    operating_system: template.name === 'windows' ? 'windows' : 'linux',
    architecture: 'amd64',
    version: 'v2.37.0',
    display_apps: ['web_terminal', 'ssh_helper', 'vscode', 'port_forwarding_helper'],
    apps: [
      createApp(index * 2, 'files', 'Files', icons.files),
      createApp(index * 2 + 1, 'database', 'Database', icons.database),
    ],
    health: { healthy: true, reason: '' },
    log_sources: [
      {
        id: id(12, 1),
        workspace_agent_id: id(6, index),
        created_at: ago(day),
        display_name: 'Startup script',
        icon: '',
      },
    ],
    logs_length: 3,
    resource_id: id(7, index),
    expanded_directory: '/home/coder',
    directory: '/home/coder',
  });
  return [
    create('WorkspaceResource', {
      id: id(7, index),
      name: 'main',
      type: template.name === 'docker' ? 'docker_container' : 'kubernetes_pod',
      icon: template.icon,
      workspace_transition: 'start',
      agents: [agent],
      daily_cost: 4,
      metadata: [{ key: 'Image', value: 'registry.example.com/dev:latest', sensitive: false }],
    }),
  ];
}

/** Creates a build of a workspace. Its resources exist while the workspace runs. */
export function createBuild(
  workspace: Schema<'Workspace'>,
  index: number,
  number: number,
  properties: Partial<Schema<'WorkspaceBuild'>>,
): Schema<'WorkspaceBuild'> {
  const template = templates.find((t) => t.id === workspace.template_id) as Schema<'Template'>;
  const status = properties.status ?? 'running';
  return create('WorkspaceBuild', {
    id: id(10, index * 100 + number),
    build_number: number,
    workspace_id: workspace.id,
    workspace_name: workspace.name,
    workspace_owner_id: workspace.owner_id,
    workspace_owner_name: workspace.owner_name,
    initiator_id: workspace.owner_id,
    initiator_name: workspace.owner_name,
    reason: 'dashboard',
    transition: 'start',
    template_version_id: template.active_version_id,
    template_version_name: 'v2',
    created_at: ago(3 * hour),
    updated_at: ago(3 * hour),
    job: createJob(index * 100 + number, {
      status: status === 'failed' ? 'failed' : 'succeeded',
      error: status === 'failed' ? 'kubernetes_pod.main: the quota of the namespace is exceeded' : '',
      organization_id: workspace.organization_id,
      metadata: create('ProvisionerJobMetadata', {
        template_name: template.name,
        template_display_name: template.display_name,
        template_version_name: 'v2',
        workspace_name: workspace.name,
      }),
      input: create('ProvisionerJobInput', { workspace_build_id: id(10, index * 100 + number) }),
    }),
    resources: status === 'running' ? createResources(index, template) : [],
    daily_cost: 4,
    ...(status === 'running' && { deadline: new Date(opened + 5 * hour).toISOString() }),
    ...properties,
  });
}

/** Creates a workspace of a template with its latest build. */
export function createWorkspace(spec: WorkspaceSpec, index: number): Schema<'Workspace'> {
  const template = templates[spec.template] as Schema<'Template'>;
  const user = users[spec.user ?? 0] as Schema<'User'>;
  const workspace = create('Workspace', {
    id: id(11, index),
    name: spec.name,
    owner_id: user.id,
    owner_name: user.username,
    organization_id: template.organization_id,
    organization_name: template.organization_name,
    template_id: template.id,
    template_name: template.name,
    template_display_name: template.display_name,
    template_icon: template.icon,
    template_active_version_id: template.active_version_id,
    automatic_updates: 'never',
    allow_renames: true,
    outdated: spec.version === 1,
    health: { healthy: true, failing_agents: [] },
    created_at: ago((10 + index) * day),
    last_used_at: ago(spec.lastUsed),
    ttl_ms: 8 * hour,
    autostart_schedule: 'CRON_TZ=America/New_York 0 9 * * 1-5',
  });
  const stopped = spec.status === 'stopped';
  const outdated = spec.version === 1 && {
    template_version_id: id(5, spec.template * 10 + 1),
    template_version_name: 'v1',
  };
  const build = { status: spec.status, transition: stopped ? ('stop' as const) : ('start' as const), ...outdated };
  return { ...workspace, latest_build: createBuild(workspace, index, 3, build) };
}

const workspaceSpecs: WorkspaceSpec[] = [
  { name: 'dev', template: 0, status: 'running', lastUsed: 2 * minute },
  { name: 'review-api', template: 0, status: 'running', version: 1, lastUsed: 3 * hour },
  { name: 'windows-build', template: 2, status: 'stopped', lastUsed: 2 * day },
  { name: 'gpu-test', template: 0, status: 'failed', lastUsed: 20 * hour },
  { name: 'frontend', template: 1, user: 1, status: 'running', lastUsed: 9 * minute },
  { name: 'forecast', template: 3, user: 1, status: 'stopped', lastUsed: 6 * day },
];

export const workspaces = workspaceSpecs.map((spec, index) => createWorkspace(spec, index + 1));

export const groups = [
  create('Group', {
    id: organizations[0]?.id,
    name: 'Everyone',
    organization_id: organizations[0]?.id,
    total_member_count: users.length,
  }),
  create('Group', {
    id: id(13, 1),
    name: 'backend',
    display_name: 'Backend',
    organization_id: organizations[0]?.id,
    organization_name: 'platform',
    quota_allowance: 40,
    total_member_count: 2,
    source: 'user',
  }),
];

export const roles = [
  create('AssignableRoles', {
    name: 'organization-admin',
    display_name: 'Organization Admin',
    built_in: true,
    assignable: true,
  }),
  create('AssignableRoles', {
    name: 'template-reader',
    display_name: 'Template reader',
    assignable: true,
    organization_permissions: [{ resource_type: 'template', action: 'read', negate: false }],
  }),
];

export const siteRoles = [owner, templateAdmin, auditor].map((r) =>
  create('AssignableRoles', { name: r.name, display_name: r.display_name, built_in: true, assignable: true }),
);

export const provisioners = [1, 2, 3].map((index) =>
  create('ProvisionerDaemon', {
    id: id(14, index),
    name: `built-in-${index}`,
    key_name: 'built-in',
    organization_id: organizations[0]?.id,
    status: index === 1 ? 'busy' : 'idle',
    slots: 2,
    busy_slots: index === 1 ? 1 : 0,
    version: 'v2.37.0',
    tags: { scope: 'organization', owner: '' },
    last_seen_at: ago(20_000),
    provisioners: ['terraform'],
  }),
);

export const provisionerKeys = [
  create('ProvisionerKey', {
    id: id(15, 1),
    name: 'eu-west',
    organization: organizations[0]?.id,
    tags: { region: 'eu-west' },
    created_at: ago(60 * day),
    last_used_at: ago(minute),
  }),
];

/** The jobs of the provisioners: the latest build of each workspace, and one that is pending. */
export const jobs = [
  createJob(900, {
    status: 'pending',
    worker_name: '',
    started_at: undefined,
    completed_at: undefined,
    queue_position: 1,
    queue_size: 1,
    tags: { region: 'ap-south', scope: 'organization', owner: '' },
    metadata: create('ProvisionerJobMetadata', {
      template_name: 'kubernetes',
      template_display_name: 'Kubernetes pod',
      workspace_name: 'asia-test',
    }),
  }),
  ...workspaces.map((w) => w.latest_build.job),
];

interface EventSpec {
  action: Schema<'AuditAction'>;
  type: Schema<'ResourceType'>;
  target: string;
  description: string;
  diff?: Schema<'AuditLog'>['diff'];
}

const eventSpecs: EventSpec[] = [
  {
    action: 'start',
    type: 'workspace_build',
    target: 'dev',
    description: '{user} started build 3 of workspace {target}',
  },
  {
    action: 'write',
    type: 'template',
    target: 'kubernetes',
    description: '{user} updated template {target}',
    diff: { default_ttl_ms: { old: 28_800_000, new: 36_000_000, secret: false } },
  },
  { action: 'create', type: 'user', target: 'contractor', description: '{user} created user {target}' },
  { action: 'delete', type: 'api_key', target: 'ci', description: '{user} deleted API key {target}' },
];

export const auditLogs = eventSpecs.map((event, index) =>
  create('AuditLog', {
    id: id(16, index),
    time: ago(index * hour + 5 * minute),
    action: event.action,
    resource_type: event.type,
    resource_target: event.target,
    description: event.description,
    diff: event.diff ?? {},
    status_code: 200,
    user: self,
    ip: '203.0.113.7',
    request_id: id(17, index),
  }),
);

const organization = { id: organizations[0]?.id ?? '', name: 'platform', display_name: 'Platform', icon: '' };

export const connections = [
  create('ConnectionLog', {
    id: id(18, 1),
    type: 'ssh',
    agent_name: 'main',
    workspace_name: 'dev',
    workspace_owner_username: 'owner',
    connect_time: ago(40 * minute),
    ip: '203.0.113.7',
    organization,
    ssh_info: create('ConnectionLogSSHInfo', { user: self }),
  }),
  create('ConnectionLog', {
    id: id(18, 2),
    type: 'workspace_app',
    agent_name: 'main',
    workspace_name: 'frontend',
    workspace_owner_username: 'developer',
    connect_time: ago(3 * hour),
    ip: '198.51.100.23',
    organization,
    web_info: create('ConnectionLogWebInfo', { slug_or_port: 'files', status_code: 200, user: users[1] }),
  }),
];

export const tokens = [
  create('APIKeyWithOwner', {
    id: 'k3x9q2',
    token_name: 'ci',
    scopes: ['coder:all'],
    allow_list: ['*:*'],
    created_at: ago(20 * day),
    expires_at: new Date(opened + 10 * day).toISOString(),
    last_used: ago(hour),
    username: self.username,
    user_id: self.id,
  }),
];

export const dailyActiveUsers = Array.from({ length: 30 }, (_, i) => ({
  date: ago((29 - i) * day).slice(0, 10),
  amount: (i % 7 < 5 ? 24 : 6) + ((i * 5) % 9),
}));
