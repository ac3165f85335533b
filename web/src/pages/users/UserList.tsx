import { Avatar, Badge, Button, Group, Table, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { usePermissions } from '../../api/permissions';
import { EmptyState } from '../../components/EmptyState';
import { ListToolbar, PagedList, usePagedQuery } from '../../components/PagedList';
import { Restricted } from '../../components/Refusal';
import { Page } from '../../components/Page';
import { DataTable } from '../../components/DataTable';
import { capitalize } from '../../lib/text';
import { RelativeTime } from '../../components/time';
import { CreateUser } from './CreateUser';
import { UserMenu } from './UserMenu';
import { modals } from '../../components/dialogs';

type User = Schema<'User'>;

const size = 25;
const filters: [string, string][] = [
  ['All users', ''],
  ['Active', 'status:active'],
  ['Dormant', 'status:dormant'],
  ['Suspended', 'status:suspended'],
  ['Owners', 'role:owner'],
  ['Service accounts', 'service_account:true'],
];
const colors: Record<string, string> = { active: 'green', dormant: 'gray', suspended: 'orange' };
const loginTypes: Record<string, string> = {
  password: 'Password',
  oidc: 'OpenID Connect',
  github: 'GitHub',
  token: 'API token',
  none: 'API tokens only',
};
const zeroTime = '0001-01-01';

/** The users of the deployment. */
export default function UserList() {
  return (
    <Restricted permission="readUsers" title="Users" needs="the role User Admin, Template Admin or Auditor">
      <Users />
    </Restricted>
  );
}

function Users() {
  const { q = '', page = 1 } = useSearch({ from: '/shell/users' });
  const navigate = useNavigate({ from: '/users' });
  const may = usePermissions();
  const list = usePagedQuery({
    key: ['users'],
    filter: q,
    page,
    size,
    topics: ['user'],
    read: (part, signal) => api.get('/users', { query: { q, ...part }, signal }),
  });
  const seek = (next: string) => navigate({ search: { q: next || undefined }, replace: true });
  const create = () => modals.open({ title: 'Create user', children: <CreateUser /> });
  return (
    <Page
      title="Users"
      actions={
        may.createUser && (
          <Button leftSection={<IconPlus size={16} />} onClick={create}>
            Create user
          </Button>
        )
      }
    >
      <ListToolbar
        label="Search users"
        placeholder="name, email, status:, role:, last_seen_before: ..."
        value={q}
        onSearch={seek}
        choices={filters}
      />
      <PagedList
        list={list}
        rows={list.data?.users.length}
        count={list.data?.count}
        page={page}
        size={size}
        of="users"
        empty={<EmptyState title="No users found" />}
      >
        <UserTable users={list.data?.users ?? []} />
      </PagedList>
    </Page>
  );
}

function UserTable({ users }: { users: User[] }) {
  return (
    <DataTable headers={['User', 'Roles', 'Login type', 'Status', 'Last seen']} actions={60} minWidth={720}>
      {users.map((user) => (
        <Table.Tr key={user.id}>
          <Table.Td>
            <Group gap="xs" wrap="nowrap">
              <Avatar
                size={28}
                radius="xl"
                src={user.avatar_url || null}
                name={user.name || user.username}
                color="brand"
                alt=""
              />
              <div>
                <Text size="sm" fw={600}>
                  {user.username}
                  {user.name && (
                    <Text span size="sm" fw={400}>
                      {' '}
                      {user.name}
                    </Text>
                  )}
                </Text>
                <Text size="xs" c="dimmed">
                  {user.email}
                </Text>
              </div>
            </Group>
          </Table.Td>
          <Table.Td>
            <Group gap={4}>
              {user.roles.length === 0 && (
                <Text size="sm" c="dimmed">
                  Member
                </Text>
              )}
              {user.roles.map((role) => (
                <Badge key={role.name}>{role.display_name || role.name}</Badge>
              ))}
            </Group>
          </Table.Td>
          <Table.Td>
            {user.is_service_account ? 'Service account' : (loginTypes[user.login_type] ?? user.login_type)}
          </Table.Td>
          <Table.Td>
            <Badge color={colors[user.status] ?? 'gray'}>{capitalize(user.status)}</Badge>
          </Table.Td>
          <Table.Td>
            {!user.last_seen_at || user.last_seen_at.startsWith(zeroTime) ? (
              'Never'
            ) : (
              <RelativeTime at={user.last_seen_at} />
            )}
          </Table.Td>
          <Table.Td>
            <UserMenu user={user} />
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}
