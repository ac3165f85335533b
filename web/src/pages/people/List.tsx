import { Avatar, Badge, Button, Group, Menu, Paper, Table, Text, VisuallyHidden } from '@mantine/core';
import { IconFilter, IconPlus } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { usePermissions } from '../../api/permissions';
import { Empty } from '../../parts/Empty';
import { Loading } from '../../parts/Loading';
import { Page } from '../../parts/Page';
import { Pages } from '../../parts/Pages';
import { Refusal } from '../../parts/Refusal';
import { Search } from '../../parts/Search';
import { Moment } from '../../parts/time';
import { Create } from './Create';
import { UserMenu } from './UserMenu';
import { modals } from '../../parts/dialogs';

export type User = Schema<'User'>;

const pageSize = 25;
const filters: [string, string][] = [
  ['Everybody', ''],
  ['Active', 'status:active'],
  ['Dormant', 'status:dormant'],
  ['Suspended', 'status:suspended'],
  ['Owners', 'role:owner'],
];
const colors: Record<string, string> = { active: 'green', dormant: 'gray', suspended: 'orange' };
const ways: Record<string, string> = { password: 'password', oidc: 'OpenID Connect', github: 'GitHub', token: 'token', none: 'tokens only' };
const never = '0001-01-01';

/** Everybody who may log in. */
export default function List() {
  const { q = '', page = 1 } = useSearch({ from: '/shell/users' });
  const navigate = useNavigate({ from: '/users' });
  const may = usePermissions();
  const list = useQuery({
    queryKey: ['users', q, page],
    queryFn: ({ signal }) => api.get('/users', { query: { q, limit: pageSize, offset: (page - 1) * pageSize }, signal }),
    placeholderData: keepPreviousData,
  });
  useLive(['user'], ['users']);
  const seek = (next: string) => navigate({ search: { q: next || undefined }, replace: true });
  const create = () => modals.open({ title: 'New user', children: <Create /> });
  return (
    <Page
      title="Users"
      actions={
        may.createUser && (
          <Button leftSection={<IconPlus size={16} />} onClick={create}>
            New user
          </Button>
        )
      }
    >
      <Group mb="md" gap="xs" wrap="nowrap">
        <Menu>
          <Menu.Target>
            <Button variant="default" leftSection={<IconFilter size={16} />}>
              Filter
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {filters.map(([label, term]) => (
              <Menu.Item key={label} onClick={() => seek(term)}>
                {label}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
        <Search label="Search users" placeholder="name, email, status:, role:, last_seen_before: ..." value={q} onChange={seek} />
      </Group>
      <Refusal error={list.error} />
      {list.isPending && <Loading />}
      {list.data?.users.length === 0 && <Empty title="Nobody matches" />}
      {list.data && list.data.users.length > 0 && <Rows users={list.data.users} />}
      {list.data && <Pages count={list.data.count} size={pageSize} page={page} of="users" onPage={(n) => navigate({ search: (s) => ({ ...s, page: n }) })} />}
    </Page>
  );
}

function Rows({ users }: { users: User[] }) {
  return (
    <Paper withBorder>
      <Table.ScrollContainer minWidth={720}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>User</Table.Th>
              <Table.Th>Roles</Table.Th>
              <Table.Th>Logs in with</Table.Th>
              <Table.Th>Status</Table.Th>
              <Table.Th>Last seen</Table.Th>
              <Table.Th w={60}>
                <VisuallyHidden>Actions</VisuallyHidden>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {users.map((u) => (
              <Table.Tr key={u.id}>
                <Table.Td>
                  <Group gap="xs" wrap="nowrap">
                    <Avatar size={28} radius="xl" src={u.avatar_url || null} name={u.name || u.username} color="brand" alt="" />
                    <div>
                      <Text size="sm" fw={600}>
                        {u.username}
                        {u.name && (
                          <Text span size="sm" fw={400}>
                            {' '}
                            {u.name}
                          </Text>
                        )}
                      </Text>
                      <Text size="xs" c="dimmed">
                        {u.email}
                      </Text>
                    </div>
                  </Group>
                </Table.Td>
                <Table.Td>
                  <Group gap={4}>
                    {u.roles.length === 0 && (
                      <Text size="sm" c="dimmed">
                        Member
                      </Text>
                    )}
                    {u.roles.map((r) => (
                      <Badge key={r.name} variant="light">
                        {r.display_name || r.name}
                      </Badge>
                    ))}
                  </Group>
                </Table.Td>
                <Table.Td>{ways[u.login_type] ?? u.login_type}</Table.Td>
                <Table.Td>
                  <Badge variant="light" color={colors[u.status] ?? 'gray'}>
                    {u.status}
                  </Badge>
                </Table.Td>
                <Table.Td>{!u.last_seen_at || u.last_seen_at.startsWith(never) ? 'never' : <Moment at={u.last_seen_at} />}</Table.Td>
                <Table.Td>
                  <UserMenu u={u} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}
