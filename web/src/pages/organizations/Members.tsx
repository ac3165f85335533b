import { Avatar, Badge, Button, Checkbox, Group, Menu, Select, Stack, Table, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconDotsVertical, IconPlus } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Empty } from '../../parts/Empty';
import { Listing, useList } from '../../parts/Listing';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { Search } from '../../parts/Search';
import { Sheet } from '../../parts/Sheet';
import { complain, praise } from '../../parts/confirm';
import { type Organization, type TabProps, rolesQuery } from './data';
import { modals } from '../../parts/dialogs';

type Member = Schema<'OrganizationMemberWithUserData'>;
const size = 25;

/** Who is in the organization and what their roles are. */
export default function Members({ o, may }: TabProps) {
  const { q = '', page = 1 } = useSearch({ from: '/shell/organizations/$organization/$tab' });
  const navigate = useNavigate({ from: '/organizations/$organization/$tab' });
  const list = useList({
    key: ['organization', o.id, 'members'],
    filter: q,
    page,
    size,
    topics: ['organization_member', 'user', 'assign_org_role'],
    read: (part, signal) => api.get('/organizations/{organization}/paginated-members', { path: { organization: o.id }, query: { q, ...part }, signal }),
  });
  return (
    <>
      <Group mb="md">
        <Search label="Search members" placeholder="name or email" value={q} onChange={(next) => navigate({ search: { q: next || undefined }, replace: true })} />
        {may.addMember && (
          <Button leftSection={<IconPlus size={16} />} onClick={() => modals.open({ title: 'Add a member', children: <Add o={o} /> })}>
            Add member
          </Button>
        )}
      </Group>
      <Listing list={list} rows={list.data?.members.length} count={list.data?.count} page={page} size={size} of="members" empty={<Empty title={q ? 'Nobody matches' : 'Nobody is in it'} />}>
        <Sheet heads={['Member', 'Roles']} actions={60} minWidth={560}>
          {list.data?.members.map((m) => (
            <Table.Tr key={m.user_id}>
              <Table.Td>
                <Group gap="xs" wrap="nowrap">
                  <Avatar size={28} radius="xl" src={m.avatar_url || null} name={m.name || m.username} color="brand" alt="" />
                  <div>
                    <Text size="sm" fw={600}>
                      {m.username}
                    </Text>
                    <Text size="xs" c="dimmed">
                      {m.name ? `${m.name} · ${m.email}` : m.email}
                    </Text>
                  </div>
                </Group>
              </Table.Td>
              <Table.Td>
                <Group gap={4}>
                  {m.roles.length + m.global_roles.length === 0 && (
                    <Text size="sm" c="dimmed">
                      Member
                    </Text>
                  )}
                  {m.roles.map((r) => (
                    <Badge key={r.name} variant="light">
                      {r.display_name || r.name}
                    </Badge>
                  ))}
                  {m.global_roles.map((r) => (
                    <Badge key={r.name} variant="light" color="gray" title="A role of the whole deployment">
                      {r.display_name || r.name}
                    </Badge>
                  ))}
                </Group>
              </Table.Td>
              <Table.Td>{(may.assign || may.removeMember) && <MemberMenu o={o} m={m} assign={may.assign} remove={may.removeMember} />}</Table.Td>
            </Table.Tr>
          ))}
        </Sheet>
      </Listing>
    </>
  );
}

function MemberMenu({ o, m, assign, remove }: { o: Organization; m: Member; assign: boolean; remove: boolean }) {
  const client = useQueryClient();
  const out = useMutation({
    mutationFn: () => api.delete('/organizations/{organization}/members/{user}', { path: { organization: o.id, user: m.user_id } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['organization', o.id, 'members'] });
      praise(`${m.username} is not in ${o.display_name || o.name} any more`);
    },
    onError: complain,
  });
  const ask = () =>
    modals.openConfirmModal({
      title: `Remove ${m.username} from ${o.display_name || o.name}?`,
      children: <Text size="sm">Their roles and groups here are lost, and they cannot use its templates. Their workspaces stay, for administrators.</Text>,
      labels: { confirm: 'Remove', cancel: 'Keep' },
      confirmProps: { color: 'red' },
      onConfirm: () => out.mutate(),
    });
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="compact-sm" aria-label={`Actions for ${m.username}`}>
          <IconDotsVertical size={16} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {assign && <Menu.Item onClick={() => modals.open({ title: `Roles of ${m.username}`, children: <MemberRoles o={o} m={m} /> })}>Roles …</Menu.Item>}
        {remove && (
          <Menu.Item c="var(--mantine-color-red-text)" onClick={ask}>
            Remove …
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function MemberRoles({ o, m }: { o: Organization; m: Member }) {
  const client = useQueryClient();
  const roles = useQuery(rolesQuery(o.id));
  const [chosen, setChosen] = useState(() => m.roles.map((r) => r.name));
  const save = useMutation({
    mutationFn: () => api.put('/organizations/{organization}/members/{user}/roles', { path: { organization: o.id, user: m.user_id }, body: { roles: chosen } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['organization', o.id, 'members'] });
      modals.closeAll();
    },
  });
  if (roles.isPending) return <Loading />;
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        save.mutate();
      }}
    >
      <Stack>
        <Refusal error={roles.error ?? save.error} />
        <Checkbox.Group label={`In ${o.display_name || o.name}`} value={chosen} onChange={setChosen}>
          <Stack gap="xs" mt="xs">
            {roles.data
              ?.filter((r) => r.name !== 'organization-member')
              .map((r) => (
                <Checkbox key={r.name} value={r.name} label={r.display_name || r.name} disabled={!r.assignable} />
              ))}
          </Stack>
        </Checkbox.Group>
        <Button type="submit" loading={save.isPending}>
          Save
        </Button>
      </Stack>
    </form>
  );
}

function Add({ o }: { o: Organization }) {
  const client = useQueryClient();
  const [q, setQ] = useState('');
  const [asked] = useDebouncedValue(q, 250);
  const [who, setWho] = useState<string | null>(null);
  const found = useQuery({ queryKey: ['users', asked, 'some'], queryFn: () => api.get('/users', { query: { q: asked, limit: 20 } }), placeholderData: keepPreviousData });
  const add = useMutation({
    mutationFn: () => api.post('/organizations/{organization}/members/{user}', { path: { organization: o.id, user: who ?? '' } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['organization', o.id, 'members'] });
      modals.closeAll();
    },
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        add.mutate();
      }}
    >
      <Stack>
        <Refusal error={add.error ?? found.error} />
        <Select
          data-autofocus
          label="User"
          placeholder="Type a name"
          searchable
          data={found.data?.users.map((u) => ({ value: u.id, label: u.name ? `${u.username} (${u.name})` : u.username }))}
          filter={({ options }) => options}
          searchValue={q}
          onSearchChange={setQ}
          nothingFoundMessage="Nobody of this name"
          value={who}
          onChange={setWho}
        />
        <Button type="submit" disabled={!who} loading={add.isPending}>
          Add
        </Button>
      </Stack>
    </form>
  );
}
