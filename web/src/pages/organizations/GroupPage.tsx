import { Anchor, Button, Group as Row, MultiSelect, Stack, Table, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { usePermissionChecks } from '../../api/permissions';
import { EmptyState } from '../../components/EmptyState';
import { PagedList, usePagedQuery } from '../../components/PagedList';
import { Loading } from '../../components/Loading';
import { Page } from '../../components/Page';
import { ErrorAlert } from '../../components/ErrorAlert';
import { SearchField } from '../../components/SearchField';
import { DataTable } from '../../components/DataTable';
import { notifyError, confirmByName, notifySuccess } from '../../components/confirm';
import { GroupForm } from './GroupList';
import { type Organization, organizationQuery } from './queries';
import { formatCount } from '../../lib/text';
import { modals } from '../../components/dialogs';

const size = 25;

/** A group: its members and quota. */
export default function GroupPage() {
  const { organization, group } = useParams({ from: '/shell/organizations/$organization/groups/$group' });
  const navigate = useNavigate();
  const client = useQueryClient();
  const org = useQuery(organizationQuery(organization)).data;
  const { data: team, error } = useQuery({
    queryKey: ['group', organization, group],
    queryFn: () =>
      api.get('/organizations/{organization}/groups/{groupName}', {
        path: { organization, groupName: group },
        query: { exclude_members: true },
      }),
  });
  useLiveUpdates(['group'], ['group', organization, group], ['group-members', team?.id]);
  const at = { organization: team?.organization_id, id: team?.id };
  const may = usePermissionChecks(
    team && { update: { on: 'group', action: 'update', ...at }, remove: { on: 'group', action: 'delete', ...at } },
  );
  const remove = useMutation({
    mutationFn: () => api.delete('/groups/{group}', { path: { group: team?.id ?? '' } }),
    onSuccess: async () => {
      notifySuccess(`Group ${group} deleted`);
      await navigate({ to: '/organizations/$organization/$tab', params: { organization, tab: 'groups' } });
      await client.invalidateQueries({ queryKey: ['organization'] });
    },
    onError: notifyError,
  });
  if (error) {
    return (
      <Page title={group}>
        <ErrorAlert error={error} />
      </Page>
    );
  }
  if (!team || !org) return <Loading />;
  const everyone = team.id === org.id;
  const moved = (saved: Schema<'Group'>) => {
    if (saved.name !== group)
      navigate({
        to: '/organizations/$organization/groups/$group',
        params: { organization, group: saved.name },
        replace: true,
      });
  };
  const edit = () =>
    modals.open({
      title: `Edit ${team.display_name || team.name}`,
      children: <GroupForm organization={org} group={team} onSaved={moved} />,
    });
  const ask = () =>
    confirmByName({
      title: `Delete ${team.display_name || team.name}?`,
      warning: 'Deletes the group. Members lose the access and quota that it grants.',
      name: team.name,
      action: 'Delete group',
      onConfirm: () => remove.mutate(),
    });
  return (
    <Page
      title={team.display_name || team.name}
      hint={
        <>
          <Anchor component={Link} to={`/organizations/${organization}/groups`} size="sm" underline="always">
            Groups of {org.display_name || org.name}
          </Anchor>{' '}
          · {formatCount(team.total_member_count, 'member')} · {formatCount(team.quota_allowance, 'credit')} per member
          and day
        </>
      }
      actions={
        <>
          {may.update && (
            <Button variant="default" onClick={edit}>
              Edit group
            </Button>
          )}
          {may.remove && !everyone && (
            <Button variant="light" color="red" onClick={ask}>
              Delete group…
            </Button>
          )}
        </>
      }
    >
      <GroupMembers organization={org} group={team} change={may.update && !everyone} />
    </Page>
  );
}

function GroupMembers({
  organization,
  group,
  change,
}: {
  organization: Organization;
  group: Schema<'Group'>;
  change: boolean;
}) {
  const { q = '', page = 1 } = useSearch({ from: '/shell/organizations/$organization/groups/$group' });
  const navigate = useNavigate({ from: '/organizations/$organization/groups/$group' });
  const client = useQueryClient();
  const list = usePagedQuery({
    key: ['group-members', group.id],
    filter: q,
    page,
    size,
    topics: [], // the surrounding page subscribes
    read: (part, signal) =>
      api.get('/groups/{group}/members', { path: { group: group.id }, query: { q, ...part }, signal }),
  });
  const save = useMutation({
    mutationFn: (body: { add_users?: string[]; remove_users?: string[] }) =>
      api.patch('/groups/{group}', { path: { group: group.id }, body: { ...body, name: '' } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['group-members', group.id] });
      await client.invalidateQueries({ queryKey: ['group', organization.name] });
    },
    onError: notifyError,
  });
  return (
    <Stack>
      {change && <AddMembers organization={organization} onAdd={(add_users) => save.mutate({ add_users })} />}
      <Row>
        <SearchField
          label="Search members"
          placeholder="name or email"
          value={q}
          onChange={(next) => navigate({ search: { q: next || undefined }, replace: true })}
        />
      </Row>
      <PagedList
        list={list}
        rows={list.data?.users.length}
        count={list.data?.count}
        page={page}
        size={size}
        of="members"
        empty={<EmptyState title={q ? 'No members found' : 'No members'} />}
      >
        <DataTable headers={['Member']} actions={110} minWidth={280}>
          {list.data?.users.map((user) => (
            <Table.Tr key={user.id}>
              <Table.Td>
                <Text size="sm" fw={600}>
                  {user.username}
                </Text>
                <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                  {user.name ? `${user.name} · ${user.email}` : user.email}
                </Text>
              </Table.Td>
              <Table.Td>
                {change && (
                  <Button
                    variant="subtle"
                    color="red"
                    size="compact-sm"
                    aria-label={`Remove ${user.username}`}
                    onClick={() => save.mutate({ remove_users: [user.id] })}
                  >
                    Remove
                  </Button>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      </PagedList>
    </Stack>
  );
}

function AddMembers({ organization, onAdd }: { organization: Organization; onAdd: (ids: string[]) => void }) {
  const [q, setQ] = useState('');
  const [asked] = useDebouncedValue(q, 250);
  const [chosen, setChosen] = useState<{ value: string; label: string }[]>([]);
  const found = useQuery({
    queryKey: ['organization', organization.id, 'members', asked, 'some'],
    queryFn: () =>
      api.get('/organizations/{organization}/paginated-members', {
        path: { organization: organization.id },
        query: { q: asked, limit: 20 },
      }),
    placeholderData: keepPreviousData,
  });
  const offered = (found.data?.members ?? []).map((member) => ({
    value: member.user_id,
    label: member.name ? `${member.username} (${member.name})` : member.username,
  }));
  const data = [...offered, ...chosen.filter((c) => !offered.some((x) => x.value === c.value))];
  return (
    <Row align="flex-end">
      <MultiSelect
        flex={1}
        miw={220}
        label="Add members"
        placeholder="Search by name"
        searchable
        data={data}
        filter={({ options }) => options}
        searchValue={q}
        onSearchChange={setQ}
        nothingFoundMessage="No members found"
        value={chosen.map((c) => c.value)}
        onChange={(ids) => setChosen(data.filter((d) => ids.includes(d.value)))}
      />
      <Button
        disabled={chosen.length === 0}
        onClick={() => {
          onAdd(chosen.map((c) => c.value));
          setChosen([]);
          setQ('');
        }}
      >
        Add
      </Button>
    </Row>
  );
}
