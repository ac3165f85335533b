// What the signed-in user can do. The server's authorizer decides, so the page offers
// exactly the actions that the API allows.

import { type UseQueryResult, queryOptions, useQuery } from '@tanstack/react-query';
import { type Schema, api } from './client';

const checks = {
  createTemplate: { object: { resource_type: 'template', any_org: true }, action: 'create' },
  readAudit: { object: { resource_type: 'audit_log', any_org: true }, action: 'read' },
  readConnections: { object: { resource_type: 'connection_log', any_org: true }, action: 'read' },
  readUsers: { object: { resource_type: 'user' }, action: 'read' },
  createUser: { object: { resource_type: 'user' }, action: 'create' },
  readDeployment: { object: { resource_type: 'deployment_config' }, action: 'read' },
  createOrganization: { object: { resource_type: 'organization' }, action: 'create' },
  readProvisioners: { object: { resource_type: 'provisioner_daemon', any_org: true }, action: 'read' },
  updateOAuth2Apps: { object: { resource_type: 'oauth2_app' }, action: 'update' },
  readGroups: { object: { resource_type: 'group', any_org: true }, action: 'read' },
} as const;

export type Permission = keyof typeof checks;

export const permissionsQuery = queryOptions({
  queryKey: ['permissions'],
  queryFn: () => api.post('/authcheck', { body: { checks } as unknown as Schema<'AuthorizationRequest'> }),
  staleTime: 300_000,
});

/** Whether permissions are loaded. */
export interface PermissionState {
  /** The permissions are loaded. */
  known: boolean;
  /** Why they could not be loaded. */
  error: Error | null;
  /** Loads them again. */
  retry: () => void;
}

const getState = ({ data, error, refetch }: UseQueryResult): PermissionState => ({
  known: data !== undefined,
  error: data === undefined ? error : null,
  retry: () => void refetch(),
});

/** Reports whether a site-wide permission is granted. False while it loads. */
export function usePermission(permission: Permission): PermissionState & { granted: boolean } {
  const query = useQuery(permissionsQuery);
  return { ...getState(query), granted: query.data?.[permission] ?? false };
}

/** Returns the site-wide permissions. All are false while they load. */
export function usePermissions(): Record<Permission, boolean> {
  const { data } = useQuery(permissionsQuery);
  return Object.fromEntries(Object.keys(checks).map((k) => [k, data?.[k] ?? false])) as Record<Permission, boolean>;
}

/** A permission on one resource, or on all resources of a type in an organization. */
export interface PermissionCheck {
  on: Schema<'RBACResource'>;
  action: Schema<'RBACAction'>;
  organization?: string;
  id?: string;
}

/** The query of which permissions are granted. */
export function permissionChecks(wishes: Record<string, PermissionCheck>) {
  const checks = Object.fromEntries(
    Object.entries(wishes).map(([k, w]) => [
      k,
      { action: w.action, object: { resource_type: w.on, organization_id: w.organization, resource_id: w.id } },
    ]),
  );
  return queryOptions({
    queryKey: ['permissions', checks],
    queryFn: () => api.post('/authcheck', { body: { checks } as unknown as Schema<'AuthorizationRequest'> }),
    staleTime: 300_000,
  });
}

/** Returns which of the permissions are granted. All are false while they load. */
export function usePermissionChecks<K extends string>(
  wishes: Record<K, PermissionCheck> | undefined,
): Record<K, boolean> & PermissionState {
  const query = useQuery({ ...permissionChecks(wishes ?? {}), enabled: wishes !== undefined });
  const granted = Object.fromEntries(Object.keys(wishes ?? {}).map((k) => [k, query.data?.[k] ?? false]));
  return { ...(granted as Record<K, boolean>), ...getState(query) };
}
