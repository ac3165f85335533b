// The permissions that a role of an organization can have, for people to choose.

import type { Schema } from '../../api/client';

export type Permission = Schema<'Permission'>;
type Resource = Schema<'RBACResource'>;
type Action = Schema<'RBACAction'>;

export interface Kind {
  resource: Resource;
  label: string;
  actions: Action[];
}

const usual: Action[] = ['create', 'read', 'update', 'delete'];
const workspace: Action[] = [...usual, 'start', 'stop', 'ssh', 'application_connect', 'share', 'create_agent', 'update_agent', 'delete_agent'];

/** What there is in an organization, and what can be done with it. */
export const kinds: Kind[] = [
  { resource: 'workspace', label: 'Workspaces', actions: workspace },
  { resource: 'workspace_dormant', label: 'Dormant workspaces', actions: workspace },
  { resource: 'prebuilt_workspace', label: 'Prebuilt workspaces', actions: ['update', 'delete'] },
  { resource: 'template', label: 'Templates', actions: [...usual, 'use', 'view_insights'] },
  { resource: 'file', label: 'Files of templates', actions: ['create', 'read'] },
  { resource: 'group', label: 'Groups', actions: usual },
  { resource: 'group_member', label: 'Members of groups', actions: ['read'] },
  { resource: 'organization', label: 'The organization', actions: ['read', 'update', 'delete'] },
  { resource: 'organization_member', label: 'Members', actions: usual },
  { resource: 'assign_org_role', label: 'Roles', actions: [...usual, 'assign', 'unassign'] },
  { resource: 'provisioner_daemon', label: 'Provisioners', actions: usual },
  { resource: 'provisioner_jobs', label: 'Provisioner jobs', actions: ['create', 'read', 'update'] },
  { resource: 'audit_log', label: 'Audit log', actions: ['read'] },
  { resource: 'idpsync_settings', label: 'Synchronization with the identity provider', actions: ['read', 'update'] },
];

const same = (p: Permission, resource: Resource, action: Action): boolean => p.resource_type === resource && p.action === action && !p.negate;

/** Whether the permissions hold one. */
export const holds = (all: readonly Permission[], resource: Resource, action: Action): boolean => all.some((p) => same(p, resource, action));

/** The permissions with one put in or taken out; what else is in them stays. */
export function toggled(all: readonly Permission[], resource: Resource, action: Action, on: boolean): Permission[] {
  const others = all.filter((p) => !same(p, resource, action));
  return on ? [...others, { resource_type: resource, action, negate: false }] : others;
}

/** Says in a few words what a role is about. */
export function summary(all: readonly Permission[]): string {
  if (all.some((p) => p.resource_type === '*')) return 'everything in the organization';
  const label = (r: string) => kinds.find((k) => k.resource === r)?.label.toLowerCase() ?? r.replaceAll('_', ' ');
  const named = (negate: boolean) => [...new Set(all.filter((p) => p.negate === negate).map((p) => label(p.resource_type)))].join(', ');
  const [gives, takes] = [named(false), named(true)];
  return [gives, takes && `takes away rights to: ${takes}`].filter(Boolean).join('; ') || 'nothing more than any member';
}
