import { Stack, Switch, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { ClaimMapping } from '../../components/ClaimMapping';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { type TabProps, groupsQuery, rolesQuery } from './queries';

const groupsKey = (o: string) => ['organization', o, 'sync', 'groups'];
const rolesKey = (o: string) => ['organization', o, 'sync', 'roles'];

/** IdP sync: maps claims of the identity provider to groups and roles. */
export default function IdpSync({ organization, may }: TabProps) {
  const path = { organization: organization.id };
  const groups = useQuery({
    queryKey: groupsKey(organization.id),
    queryFn: () => api.get('/organizations/{organization}/settings/idpsync/groups', { path }),
  });
  const roles = useQuery({
    queryKey: rolesKey(organization.id),
    queryFn: () => api.get('/organizations/{organization}/settings/idpsync/roles', { path }),
  });
  useLiveUpdates(['idpsync_settings'], ['organization', organization.id, 'sync']);
  const error = groups.error ?? roles.error;
  if (error) return <ErrorAlert error={error} />;
  if (!groups.data || !roles.data) return <Loading />;
  return (
    <Stack maw={860}>
      <GroupSync organization={organization} may={may} now={groups.data} />
      <RoleSync organization={organization} may={may} now={roles.data} />
    </Stack>
  );
}

function GroupSync({ organization, may, now }: TabProps & { now: Schema<'GroupSyncSettings'> }) {
  const client = useQueryClient();
  const { data: groups } = useQuery(groupsQuery(organization.id));
  const [filter, setFilter] = useState(now.regex_filter ?? '');
  const [create, setCreate] = useState(now.auto_create_missing_groups);
  const path = { organization: organization.id };
  const keep = (saved: Schema<'GroupSyncSettings'>) => client.setQueryData(groupsKey(organization.id), saved);
  const legacy = Object.entries(now.legacy_group_name_mapping ?? {});
  return (
    <ClaimMapping
      title="Group sync"
      description={`At each sign-in, users join the mapped groups and leave all others. A claim value without a mapping matches the group of that name.${legacy.length > 0 ? ` Mapped by --oidc-group-mapping: ${legacy.map(([value, group]) => `${value} to ${group}`).join(', ')}.` : ''}`}
      resources="groups"
      organization={organization.id}
      field={now.field}
      mapping={now.mapping}
      targets={(groups ?? [])
        .filter((group) => group.id !== organization.id)
        .map((group) => ({ value: group.id, label: group.display_name || group.name }))}
      editable={may.updateSync}
      onConfig={async (field) =>
        keep(
          await api.patch('/organizations/{organization}/settings/idpsync/groups/config', {
            path,
            body: { field, regex_filter: filter || null, auto_create_missing_groups: create },
          }),
        )
      }
      onMap={async (body) =>
        keep(await api.patch('/organizations/{organization}/settings/idpsync/groups/mapping', { path, body }))
      }
      extra={
        <>
          <TextInput
            label="Filter"
            description="A regular expression that claim values must match, for example ^eng-."
            value={filter}
            onChange={(e) => setFilter(e.currentTarget.value)}
            disabled={!may.updateSync}
          />
          <Switch
            label="Create missing groups"
            description="Creates a group for each claim value without a mapping or a matching group."
            checked={create}
            onChange={(e) => setCreate(e.currentTarget.checked)}
            disabled={!may.updateSync}
          />
        </>
      }
    />
  );
}

function RoleSync({ organization, may, now }: TabProps & { now: Schema<'RoleSyncSettings'> }) {
  const client = useQueryClient();
  const { data: roles } = useQuery(rolesQuery(organization.id));
  const path = { organization: organization.id };
  const keep = (saved: Schema<'RoleSyncSettings'>) => client.setQueryData(rolesKey(organization.id), saved);
  return (
    <ClaimMapping
      title="Role sync"
      description="At each sign-in, users get the mapped roles in this organization and lose all others."
      resources="roles"
      organization={organization.id}
      field={now.field}
      mapping={now.mapping}
      targets={(roles ?? []).map((role) => ({ value: role.name, label: role.display_name || role.name }))}
      editable={may.updateSync}
      onConfig={async (field) =>
        keep(await api.patch('/organizations/{organization}/settings/idpsync/roles/config', { path, body: { field } }))
      }
      onMap={async (body) =>
        keep(await api.patch('/organizations/{organization}/settings/idpsync/roles/mapping', { path, body }))
      }
    />
  );
}
