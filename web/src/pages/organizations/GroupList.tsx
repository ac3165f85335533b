import { Anchor, Badge, Button, Group as Row, NumberInput, Stack, Table, Text, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { Form } from '../../components/Form';
import { EmptyState } from '../../components/EmptyState';
import { Loading } from '../../components/Loading';
import { DataTable } from '../../components/DataTable';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import type { Organization, TabProps } from './queries';
import { modals } from '../../components/dialogs';

/** The groups of the organization and their quotas. */
export default function GroupList({ organization, may }: TabProps) {
  const list = useQuery({
    queryKey: ['organization', organization.id, 'groups'],
    queryFn: () =>
      api.get('/organizations/{organization}/groups', {
        path: { organization: organization.id },
        query: { exclude_members: true },
      }),
  });
  useLiveUpdates(['group'], ['organization', organization.id, 'groups']);
  return (
    <Stack>
      <Row justify="space-between">
        <Text size="sm">
          Groups grant access to templates and workspaces, and set the daily quota of their members.
        </Text>
        {may.createGroup && (
          <Button
            leftSection={<IconPlus size={16} />}
            onClick={() => modals.open({ title: 'Create group', children: <GroupForm organization={organization} /> })}
          >
            Create group
          </Button>
        )}
      </Row>
      <ErrorAlert error={list.error} />
      {list.isPending && <Loading />}
      {list.data?.length === 0 && <EmptyState title="No groups" />}
      {list.data && list.data.length > 0 && (
        <DataTable headers={['Group', 'Members', 'Quota (credits per day)']} minWidth={480}>
          {list.data.map((group) => (
            <Table.Tr key={group.id}>
              <Table.Td>
                <Row gap="xs">
                  <Anchor
                    component={Link}
                    to={`/organizations/${organization.name}/groups/${encodeURIComponent(group.name)}`}
                    fw={600}
                  >
                    {group.display_name || group.name}
                  </Anchor>
                  {group.source === 'oidc' && <Badge>Identity provider</Badge>}
                </Row>
              </Table.Td>
              <Table.Td>{group.total_member_count}</Table.Td>
              <Table.Td>{group.quota_allowance}</Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
    </Stack>
  );
}

/** The form that creates or edits a group. */
export function GroupForm({
  organization,
  group,
  onSaved,
}: {
  organization: Organization;
  group?: Schema<'Group'>;
  onSaved?: (team: Schema<'Group'>) => void;
}) {
  const client = useQueryClient();
  const everyone = group?.id === organization.id;
  const [f, setF] = useState({
    name: group?.name ?? '',
    display_name: group?.display_name ?? '',
    avatar_url: group?.avatar_url ?? '',
    quota: (group?.quota_allowance ?? 0) as string | number,
  });
  const save = useMutation({
    mutationFn: () => {
      const { quota, ...texts } = f;
      const body = { ...texts, quota_allowance: Number(quota) || 0 };
      if (!group)
        return api.post('/organizations/{organization}/groups', { path: { organization: organization.id }, body });
      return api.patch('/groups/{group}', {
        path: { group: group.id },
        body: everyone ? { quota_allowance: body.quota_allowance } : body,
      });
    },
    onSuccess: async (saved) => {
      modals.closeAll();
      onSaved?.(saved);
      await client.invalidateQueries({ queryKey: ['organization', organization.id, 'groups'] });
      await client.invalidateQueries({ queryKey: ['group', organization.name] });
    },
  });
  const typed = (k: 'name' | 'display_name' | 'avatar_url') => ({
    value: f[k],
    onChange: (e: { currentTarget: { value: string } }) => {
      const { value } = e.currentTarget;
      setF((old) => ({ ...old, [k]: value }));
    },
    error: getFieldError(save.error, k),
    disabled: everyone,
  });
  return (
    <Form
      error={save.error}
      onSubmit={() => {
        save.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={save.error} />
        <TextInput data-autofocus label="Name" required {...typed('name')} />
        <TextInput label="Display name" {...typed('display_name')} />
        <TextInput label="Avatar URL" {...typed('avatar_url')} />
        <NumberInput
          label="Quota per member (credits per day)"
          description="Templates define the cost of workspaces. Quotas of several groups add up."
          min={0}
          allowDecimal={false}
          value={f.quota}
          onChange={(v) => setF((old) => ({ ...old, quota: v }))}
          error={getFieldError(save.error, 'quota_allowance')}
        />
        <Button type="submit" loading={save.isPending}>
          {group ? 'Save' : 'Create group'}
        </Button>
      </Stack>
    </Form>
  );
}
