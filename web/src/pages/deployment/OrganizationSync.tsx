import { Stack, Switch } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { usePermissionChecks } from '../../api/permissions';
import { ClaimMapping } from '../../components/ClaimMapping';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { ScimStatus } from './ScimStatus';

const key = ['sync'];

/** Organization sync: maps a claim of the identity provider to organizations. */
export function OrganizationSync() {
  const { data, error } = useQuery({ queryKey: key, queryFn: () => api.get('/settings/idpsync/organization') });
  useLiveUpdates(['idpsync_settings'], key);
  if (error) return <ErrorAlert error={error} />;
  if (!data) return <Loading />;
  return (
    <Stack maw={860}>
      <OrganizationMapping now={data} />
      <ScimStatus />
    </Stack>
  );
}

function OrganizationMapping({ now }: { now: Schema<'OrganizationSyncSettings'> }) {
  const client = useQueryClient();
  const may = usePermissionChecks({ update: { on: 'idpsync_settings', action: 'update' } });
  const { data: all } = useQuery({ queryKey: ['organization', ''], queryFn: () => api.get('/organizations') });
  const [assign, setAssign] = useState(now.organization_assign_default);
  const keep = (saved: Schema<'OrganizationSyncSettings'>) => client.setQueryData(key, saved);
  return (
    <ClaimMapping
      title="Organization sync"
      description="At each sign-in, users join the mapped organizations and leave all others. Configure group and role sync in each organization."
      resources="organizations"
      field={now.field}
      mapping={now.mapping}
      targets={(all ?? []).map((organization) => ({
        value: organization.id,
        label: organization.display_name || organization.name,
      }))}
      editable={may.update}
      onConfig={async (field) =>
        keep(await api.patch('/settings/idpsync/organization/config', { body: { field, assign_default: assign } }))
      }
      onMap={async (body) => keep(await api.patch('/settings/idpsync/organization/mapping', { body }))}
      extra={
        <Switch
          label="Assign all users to the default organization"
          description="Regardless of the claim."
          checked={assign}
          onChange={(e) => setAssign(e.currentTarget.checked)}
          disabled={!may.update}
        />
      }
    />
  );
}
