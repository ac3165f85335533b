// What the person who is logged in may do, asked of the server's authorizer, so
// that the page shows exactly what will be allowed.

import { useQuery } from '@tanstack/react-query';
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
  readGroups: { object: { resource_type: 'group', any_org: true }, action: 'read' },
} as const;

export type Permission = keyof typeof checks;

/** The permissions, all false until they are known. */
export function usePermissions(): Record<Permission, boolean> {
  const { data } = useQuery({
    queryKey: ['permissions'],
    queryFn: () => api.post('/authcheck', { body: { checks } as unknown as Schema<'AuthorizationRequest'> }),
    staleTime: 300_000,
  });
  return Object.fromEntries(Object.keys(checks).map((k) => [k, data?.[k] ?? false])) as Record<Permission, boolean>;
}

/** Something somebody may do to one thing, or to things of an organization. */
export interface Wish {
  on: Schema<'RBACResource'>;
  action: Schema<'RBACAction'>;
  organization?: string;
  id?: string;
}

/** Which of the wishes are allowed; all false until it is known. */
export function useMay<K extends string>(wishes: Record<K, Wish> | undefined): Record<K, boolean> {
  const checks = Object.fromEntries(
    Object.entries<Wish>(wishes ?? {}).map(([k, w]) => [k, { action: w.action, object: { resource_type: w.on, organization_id: w.organization, resource_id: w.id } }]),
  );
  const { data } = useQuery({
    queryKey: ['permissions', checks],
    queryFn: () => api.post('/authcheck', { body: { checks } as unknown as Schema<'AuthorizationRequest'> }),
    staleTime: 300_000,
    enabled: wishes !== undefined,
  });
  return Object.fromEntries(Object.keys(checks).map((k) => [k, data?.[k] ?? false])) as Record<K, boolean>;
}
