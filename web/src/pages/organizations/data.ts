// What the pages of an organization read.

import { queryOptions } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';
import { useMay } from '../../api/permissions';

export type Organization = Schema<'Organization'>;

export const organizationQuery = (name: string) =>
  queryOptions({ queryKey: ['organization', name], queryFn: () => api.get('/organizations/{organization}', { path: { organization: name } }) });

export const groupsQuery = (organization: string) =>
  queryOptions({
    queryKey: ['organization', organization, 'groups'],
    queryFn: () => api.get('/organizations/{organization}/groups', { path: { organization }, query: { exclude_members: true } }),
  });

export const rolesQuery = (organization: string) =>
  queryOptions({
    queryKey: ['organization', organization, 'roles'],
    queryFn: () => api.get('/organizations/{organization}/members/roles', { path: { organization } }),
  });

/** What somebody may do in an organization. */
export function useOrganizationRights(o: Organization | undefined) {
  const organization = o?.id;
  return useMay(
    o && {
      update: { on: 'organization', action: 'update', organization, id: o.id },
      remove: { on: 'organization', action: 'delete', organization, id: o.id },
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
      readSync: { on: 'idpsync_settings', action: 'read', organization },
      updateSync: { on: 'idpsync_settings', action: 'update', organization },
      cancelJobs: { on: 'provisioner_jobs', action: 'update', organization },
    },
  );
}

export type Rights = ReturnType<typeof useOrganizationRights>;

/** What every tab of an organization's page is given. */
export interface TabProps {
  o: Organization;
  may: Rights;
}
