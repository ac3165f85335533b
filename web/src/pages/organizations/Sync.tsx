import { Stack, Switch, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { Claims } from '../../parts/Claims';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { type TabProps, groupsQuery, rolesQuery } from './data';

const groupsKey = (o: string) => ['organization', o, 'sync', 'groups'];
const rolesKey = (o: string) => ['organization', o, 'sync', 'roles'];

/** What the identity provider arranges in the organization: groups and roles. */
export default function Sync({ o, may }: TabProps) {
  const path = { organization: o.id };
  const groups = useQuery({ queryKey: groupsKey(o.id), queryFn: () => api.get('/organizations/{organization}/settings/idpsync/groups', { path }) });
  const roles = useQuery({ queryKey: rolesKey(o.id), queryFn: () => api.get('/organizations/{organization}/settings/idpsync/roles', { path }) });
  useLive(['idpsync_settings'], ['organization', o.id, 'sync']);
  const error = groups.error ?? roles.error;
  if (error) return <Refusal error={error} />;
  if (!groups.data || !roles.data) return <Loading />;
  return (
    <Stack maw={860}>
      <Groups o={o} may={may} now={groups.data} />
      <Roles o={o} may={may} now={roles.data} />
    </Stack>
  );
}

function Groups({ o, may, now }: TabProps & { now: Schema<'GroupSyncSettings'> }) {
  const client = useQueryClient();
  const { data: groups } = useQuery(groupsQuery(o.id));
  const [filter, setFilter] = useState(now.regex_filter ?? '');
  const [create, setCreate] = useState(now.auto_create_missing_groups);
  const path = { organization: o.id };
  const keep = (saved: Schema<'GroupSyncSettings'>) => client.setQueryData(groupsKey(o.id), saved);
  const legacy = Object.entries(now.legacy_group_name_mapping ?? {});
  return (
    <Claims
      title="Groups"
      about={`At a login, people are put into the groups that the provider names, and out of all others. ${legacy.length > 0 ? `By --oidc-group-mapping: ${legacy.map(([a, b]) => `${a} is ${b}`).join(', ')}. ` : ''}A name that is not mapped is that of a group.`}
      of="groups"
      organization={o.id}
      field={now.field}
      mapping={now.mapping}
      targets={(groups ?? []).filter((g) => g.id !== o.id).map((g) => ({ value: g.id, label: g.display_name || g.name }))}
      change={may.updateSync}
      onConfig={async (field) => keep(await api.patch('/organizations/{organization}/settings/idpsync/groups/config', { path, body: { field, regex_filter: filter || null, auto_create_missing_groups: create } }))}
      onMap={async (body) => keep(await api.patch('/organizations/{organization}/settings/idpsync/groups/mapping', { path, body }))}
      extra={
        <>
          <TextInput
            label="Only names that match"
            description="A regular expression, such as ^eng-. Empty: all."
            value={filter}
            onChange={(e) => setFilter(e.currentTarget.value)}
            disabled={!may.updateSync}
          />
          <Switch
            label="Make groups that are not there"
            description="Of names that are neither mapped nor a group's."
            checked={create}
            onChange={(e) => setCreate(e.currentTarget.checked)}
            disabled={!may.updateSync}
          />
        </>
      }
    />
  );
}

function Roles({ o, may, now }: TabProps & { now: Schema<'RoleSyncSettings'> }) {
  const client = useQueryClient();
  const { data: roles } = useQuery(rolesQuery(o.id));
  const path = { organization: o.id };
  const keep = (saved: Schema<'RoleSyncSettings'>) => client.setQueryData(rolesKey(o.id), saved);
  return (
    <Claims
      title="Roles"
      about="At a login, people are given the roles in this organization that the provider names, and no others."
      of="roles"
      organization={o.id}
      field={now.field}
      mapping={now.mapping}
      targets={(roles ?? []).map((r) => ({ value: r.name, label: r.display_name || r.name }))}
      change={may.updateSync}
      onConfig={async (field) => keep(await api.patch('/organizations/{organization}/settings/idpsync/roles/config', { path, body: { field } }))}
      onMap={async (body) => keep(await api.patch('/organizations/{organization}/settings/idpsync/roles/mapping', { path, body }))}
    />
  );
}
