// Queries of the organization pages.

import { queryOptions } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';
import { usePermissionChecks } from '../../api/permissions';

export type Organization = Schema<'Organization'>;

export const organizationQuery = (name: string) =>
  queryOptions({
    queryKey: ['organization', name],
    queryFn: () => api.get('/organizations/{organization}', { path: { organization: name } }),
  });

export const groupsQuery = (organization: string) =>
  queryOptions({
    queryKey: ['organization', organization, 'groups'],
    queryFn: () =>
      api.get('/organizations/{organization}/groups', { path: { organization }, query: { exclude_members: true } }),
  });

export const rolesQuery = (organization: string) =>
  queryOptions({
    queryKey: ['organization', organization, 'roles'],
    queryFn: () => api.get('/organizations/{organization}/members/roles', { path: { organization } }),
  });

/** Returns what the user can do in an organization. */
export function useOrganizationRights(org: Organization | undefined) {
  const organization = org?.id;
  return usePermissionChecks(
    org && {
      update: { on: 'organization', action: 'update', organization, id: org.id },
      remove: { on: 'organization', action: 'delete', organization, id: org.id },
      addMember: { on: 'organization_member', action: 'create', organization },
      removeMember: { on: 'organization_member', action: 'delete', organization },
      readMembers: { on: 'organization_member', action: 'read', organization },
      assign: { on: 'assign_org_role', action: 'assign', organization },
      createRole: { on: 'assign_org_role', action: 'create', organization },
      updateRole: { on: 'assign_org_role', action: 'update', organization },
      deleteRole: { on: 'assign_org_role', action: 'delete', organization },
      createGroup: { on: 'group', action: 'create', organization },
      readGroups: { on: 'group', action: 'read', organization },
      readProvisioners: { on: 'provisioner_daemon', action: 'read', organization },
      createKey: { on: 'provisioner_daemon', action: 'create', organization },
      rotateKey: { on: 'provisioner_daemon', action: 'update', organization },
      deleteKey: { on: 'provisioner_daemon', action: 'delete', organization },
      readJobs: { on: 'provisioner_jobs', action: 'read', organization },
      viewInsights: { on: 'template', action: 'view_insights', organization },
      readSync: { on: 'idpsync_settings', action: 'read', organization },
      updateSync: { on: 'idpsync_settings', action: 'update', organization },
      cancelJobs: { on: 'provisioner_jobs', action: 'update', organization },
    },
  );
}

export type Rights = ReturnType<typeof useOrganizationRights>;

/** The properties of each tab of the organization page. */
export interface TabProps {
  organization: Organization;
  may: Rights;
}
