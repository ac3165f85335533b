import { Avatar, Badge, Button, Group, Table, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { usePermissions } from '../../api/permissions';
import { Empty } from '../../parts/Empty';
import { Find, Listing, useList } from '../../parts/Listing';
import { Page } from '../../parts/Page';
import { Sheet } from '../../parts/Sheet';
import { Moment } from '../../parts/time';
import { Create } from './Create';
import { UserMenu } from './UserMenu';
import { modals } from '../../parts/dialogs';

export type User = Schema<'User'>;

const size = 25;
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
  const list = useList({ key: ['users'], filter: q, page, size, topics: ['user'], read: (part, signal) => api.get('/users', { query: { q, ...part }, signal }) });
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
      <Find label="Search users" placeholder="name, email, status:, role:, last_seen_before: ..." value={q} onSeek={seek} choices={filters} />
      <Listing list={list} rows={list.data?.users.length} count={list.data?.count} page={page} size={size} of="users" empty={<Empty title="Nobody matches" />}>
        <Rows users={list.data?.users ?? []} />
      </Listing>
    </Page>
  );
}

function Rows({ users }: { users: User[] }) {
  return (
    <Sheet heads={['User', 'Roles', 'Logs in with', 'Status', 'Last seen']} actions={60} minWidth={720}>
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
    </Sheet>
  );
}
