// The permissions that a custom organization role can grant.

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
const workspace: Action[] = [
  ...usual,
  'start',
  'stop',
  'ssh',
  'application_connect',
  'share',
  'create_agent',
  'update_agent',
  'delete_agent',
];

/** The resource types of an organization and their actions. */
export const kinds: Kind[] = [
  { resource: 'workspace', label: 'Workspaces', actions: workspace },
  { resource: 'workspace_dormant', label: 'Dormant workspaces', actions: workspace },
  { resource: 'prebuilt_workspace', label: 'Prebuilt workspaces', actions: ['update', 'delete'] },
  { resource: 'template', label: 'Templates', actions: [...usual, 'use', 'view_insights'] },
  { resource: 'file', label: 'Template files', actions: ['create', 'read'] },
  { resource: 'group', label: 'Groups', actions: usual },
  { resource: 'group_member', label: 'Group members', actions: ['read'] },
  { resource: 'organization', label: 'Organization', actions: ['read', 'update', 'delete'] },
  { resource: 'organization_member', label: 'Members', actions: usual },
  { resource: 'assign_org_role', label: 'Roles', actions: [...usual, 'assign', 'unassign'] },
  { resource: 'provisioner_daemon', label: 'Provisioners', actions: usual },
  { resource: 'provisioner_jobs', label: 'Provisioner jobs', actions: ['create', 'read', 'update'] },
  { resource: 'audit_log', label: 'Audit log', actions: ['read'] },
  { resource: 'idpsync_settings', label: 'IdP sync settings', actions: ['read', 'update'] },
];

const matches = (permission: Permission, resource: Resource, action: Action): boolean =>
  permission.resource_type === resource && permission.action === action && !permission.negate;

/** Reports whether a permission is granted. */
export const hasPermission = (all: readonly Permission[], resource: Resource, action: Action): boolean =>
  all.some((permission) => matches(permission, resource, action));

/** Returns the permissions with one added or removed. */
export function togglePermission(
  all: readonly Permission[],
  resource: Resource,
  action: Action,
  on: boolean,
): Permission[] {
  const others = all.filter((permission) => !matches(permission, resource, action));
  return on ? [...others, { resource_type: resource, action, negate: false }] : others;
}

/** Summarizes the permissions of a role. */
export function summarizePermissions(all: readonly Permission[]): string {
  if (all.some((permission) => permission.resource_type === '*')) return 'All resources';
  const label = (r: string) => {
    const known = kinds.find((kind) => kind.resource === r)?.label;
    return known?.replace(/^[A-Z][a-z]+\b/, (word) => word.toLowerCase()) ?? r.replaceAll('_', ' ');
  };
  const named = (negate: boolean) =>
    [
      ...new Set(
        all.filter((permission) => permission.negate === negate).map((permission) => label(permission.resource_type)),
      ),
    ].join(', ');
  const [gives, takes] = [named(false), named(true)];
  return [gives, takes && `denied: ${takes}`].filter(Boolean).join('; ') || 'No additional permissions';
}
