import { Anchor, Button, Group as Row, MultiSelect, Stack, Table, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { useMay } from '../../api/permissions';
import { Empty } from '../../parts/Empty';
import { Listing, useList } from '../../parts/Listing';
import { Loading } from '../../parts/Loading';
import { Page } from '../../parts/Page';
import { Refusal } from '../../parts/Refusal';
import { Search } from '../../parts/Search';
import { Sheet } from '../../parts/Sheet';
import { complain, confirmByName, praise } from '../../parts/confirm';
import { GroupForm } from './Groups';
import { type Organization, organizationQuery } from './data';
import { plural } from '../../parts/plural';
import { modals } from '../../parts/dialogs';

const size = 25;

/** One group: who is in it and what they may spend. */
export default function Group() {
  const { organization, group } = useParams({ from: '/shell/organizations/$organization/groups/$group' });
  const navigate = useNavigate();
  const client = useQueryClient();
  const o = useQuery(organizationQuery(organization)).data;
  const { data: g, error } = useQuery({
    queryKey: ['group', organization, group],
    queryFn: () => api.get('/organizations/{organization}/groups/{groupName}', { path: { organization, groupName: group }, query: { exclude_members: true } }),
  });
  useLive(['group'], ['group', organization, group], ['group-members', g?.id]);
  const at = { organization: g?.organization_id, id: g?.id };
  const may = useMay(g && { update: { on: 'group', action: 'update', ...at }, remove: { on: 'group', action: 'delete', ...at } });
  const remove = useMutation({
    mutationFn: () => api.delete('/groups/{group}', { path: { group: g?.id ?? '' } }),
    onSuccess: async () => {
      praise(`The group ${group} is deleted`);
      await navigate({ to: '/organizations/$organization/$tab', params: { organization, tab: 'groups' } });
      await client.invalidateQueries({ queryKey: ['organization'] });
    },
    onError: complain,
  });
  if (error) {
    return (
      <Page title={group}>
        <Refusal error={error} />
      </Page>
    );
  }
  if (!g || !o) return <Loading />;
  const everyone = g.id === o.id;
  const moved = (saved: Schema<'Group'>) => {
    if (saved.name !== group) navigate({ to: '/organizations/$organization/groups/$group', params: { organization, group: saved.name }, replace: true });
  };
  const edit = () => modals.open({ title: `Edit ${g.display_name || g.name}`, children: <GroupForm o={o} g={g} onSaved={moved} /> });
  const ask = () =>
    confirmByName({
      title: `Delete ${g.display_name || g.name}?`,
      lost: 'The group. What was shared with it, its members cannot use any more; what it let them spend is gone.',
      name: g.name,
      verb: 'Delete the group',
      onYes: () => remove.mutate(),
    });
  return (
    <Page
      title={g.display_name || g.name}
      hint={
        <>
          <Anchor component={Link} to={`/organizations/${organization}/groups`} size="sm" underline="always">
            Groups of {o.display_name || o.name}
          </Anchor>{' '}
          · {plural(g.total_member_count, 'member')} · {plural(g.quota_allowance, 'credit')} a day for each
        </>
      }
      actions={
        <>
          {may.update && (
            <Button variant="default" onClick={edit}>
              Edit
            </Button>
          )}
          {may.remove && !everyone && (
            <Button variant="light" color="red" onClick={ask}>
              Delete …
            </Button>
          )}
        </>
      }
    >
      <Members o={o} g={g} change={may.update && !everyone} />
    </Page>
  );
}

function Members({ o, g, change }: { o: Organization; g: Schema<'Group'>; change: boolean }) {
  const { q = '', page = 1 } = useSearch({ from: '/shell/organizations/$organization/groups/$group' });
  const navigate = useNavigate({ from: '/organizations/$organization/groups/$group' });
  const client = useQueryClient();
  const list = useList({
    key: ['group-members', g.id],
    filter: q,
    page,
    size,
    topics: [], // the page that it is part of listens
    read: (part, signal) => api.get('/groups/{group}/members', { path: { group: g.id }, query: { q, ...part }, signal }),
  });
  const save = useMutation({
    mutationFn: (body: { add_users?: string[]; remove_users?: string[] }) => api.patch('/groups/{group}', { path: { group: g.id }, body: { ...body, name: '' } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['group-members', g.id] });
      await client.invalidateQueries({ queryKey: ['group', o.name] });
    },
    onError: complain,
  });
  return (
    <Stack>
      {change && <Add o={o} onAdd={(add_users) => save.mutate({ add_users })} />}
      <Row>
        <Search label="Search members" placeholder="name or email" value={q} onChange={(next) => navigate({ search: { q: next || undefined }, replace: true })} />
      </Row>
      <Listing
        list={list}
        rows={list.data?.users.length}
        count={list.data?.count}
        page={page}
        size={size}
        of="members"
        empty={<Empty title={q ? 'Nobody matches' : 'Nobody is in this group'} />}
      >
        <Sheet heads={['Member']} actions={110} minWidth={280}>
          {list.data?.users.map((u) => (
            <Table.Tr key={u.id}>
              <Table.Td>
                <Text size="sm" fw={600}>
                  {u.username}
                </Text>
                <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                  {u.name ? `${u.name} · ${u.email}` : u.email}
                </Text>
              </Table.Td>
              <Table.Td>
                {change && (
                  <Button variant="subtle" color="red" size="compact-sm" aria-label={`Remove ${u.username}`} onClick={() => save.mutate({ remove_users: [u.id] })}>
                    Remove
                  </Button>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Sheet>
      </Listing>
    </Stack>
  );
}

function Add({ o, onAdd }: { o: Organization; onAdd: (ids: string[]) => void }) {
  const [q, setQ] = useState('');
  const [asked] = useDebouncedValue(q, 250);
  const [chosen, setChosen] = useState<{ value: string; label: string }[]>([]);
  const found = useQuery({
    queryKey: ['organization', o.id, 'members', asked, 'some'],
    queryFn: () => api.get('/organizations/{organization}/paginated-members', { path: { organization: o.id }, query: { q: asked, limit: 20 } }),
    placeholderData: keepPreviousData,
  });
  const offered = (found.data?.members ?? []).map((m) => ({ value: m.user_id, label: m.name ? `${m.username} (${m.name})` : m.username }));
  const data = [...offered, ...chosen.filter((c) => !offered.some((x) => x.value === c.value))];
  return (
    <Row align="flex-end">
      <MultiSelect
        flex={1}
        miw={220}
        label="Add members"
        placeholder="Type a name"
        searchable
        data={data}
        filter={({ options }) => options}
        searchValue={q}
        onSearchChange={setQ}
        nothingFoundMessage="Nobody of this name is in the organization"
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
