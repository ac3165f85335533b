import { Stack, Switch } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { useMay } from '../../api/permissions';
import { Claims } from '../../parts/Claims';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';

const key = ['sync'];

/** What the identity provider arranges on the whole deployment: who is in which organization. */
export function Sync() {
  const { data, error } = useQuery({ queryKey: key, queryFn: () => api.get('/settings/idpsync/organization') });
  useLive(['idpsync_settings'], key);
  if (error) return <Refusal error={error} />;
  if (!data) return <Loading />;
  return (
    <Stack maw={860}>
      <Organizations now={data} />
    </Stack>
  );
}

function Organizations({ now }: { now: Schema<'OrganizationSyncSettings'> }) {
  const client = useQueryClient();
  const may = useMay({ update: { on: 'idpsync_settings', action: 'update' } });
  const { data: all } = useQuery({ queryKey: ['organization', ''], queryFn: () => api.get('/organizations') });
  const [assign, setAssign] = useState(now.organization_assign_default);
  const keep = (saved: Schema<'OrganizationSyncSettings'>) => client.setQueryData(key, saved);
  return (
    <Claims
      title="Organizations"
      about="At a login, people become members of the organizations that the provider names, and leave all others, with the groups and roles that they have there. What it arranges within one is set on the page of each organization."
      of="organizations"
      field={now.field}
      mapping={now.mapping}
      targets={(all ?? []).map((o) => ({ value: o.id, label: o.display_name || o.name }))}
      change={may.update}
      onConfig={async (field) => keep(await api.patch('/settings/idpsync/organization/config', { body: { field, assign_default: assign } }))}
      onMap={async (body) => keep(await api.patch('/settings/idpsync/organization/mapping', { body }))}
      extra={
        <Switch
          label="Everybody is in the default organization"
          description="Whatever the provider says."
          checked={assign}
          onChange={(e) => setAssign(e.currentTarget.checked)}
          disabled={!may.update}
        />
      }
    />
  );
}
