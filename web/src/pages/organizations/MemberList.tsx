import { Avatar, Badge, Button, Checkbox, Group, Menu, Select, Stack, Table, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconDotsVertical, IconPlus } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Form } from '../../components/Form';
import { EmptyState } from '../../components/EmptyState';
import { PagedList, usePagedQuery } from '../../components/PagedList';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { SearchField } from '../../components/SearchField';
import { DataTable } from '../../components/DataTable';
import { notifyError, notifySuccess } from '../../components/confirm';
import { type Organization, type TabProps, rolesQuery } from './queries';
import { modals } from '../../components/dialogs';

type Member = Schema<'OrganizationMemberWithUserData'>;
const size = 25;

/** The members of the organization and their roles. */
export default function MemberList({ organization, may }: TabProps) {
  const { q = '', page = 1 } = useSearch({ from: '/shell/organizations/$organization/$tab' });
  const navigate = useNavigate({ from: '/organizations/$organization/$tab' });
  const list = usePagedQuery({
    key: ['organization', organization.id, 'members'],
    filter: q,
    page,
    size,
    topics: ['organization_member', 'user', 'assign_org_role'],
    read: (part, signal) =>
      api.get('/organizations/{organization}/paginated-members', {
        path: { organization: organization.id },
        query: { q, ...part },
        signal,
      }),
  });
  return (
    <>
      <Group mb="md">
        <SearchField
          label="Search members"
          placeholder="name or email"
          value={q}
          onChange={(next) => navigate({ search: { q: next || undefined }, replace: true })}
        />
        {may.addMember && (
          <Button
            leftSection={<IconPlus size={16} />}
            onClick={() => modals.open({ title: 'Add member', children: <AddMember organization={organization} /> })}
          >
            Add member
          </Button>
        )}
      </Group>
      <PagedList
        list={list}
        rows={list.data?.members.length}
        count={list.data?.count}
        page={page}
        size={size}
        of="members"
        empty={<EmptyState title={q ? 'No members found' : 'No members'} />}
      >
        <DataTable headers={['Member', 'Roles']} actions={60} minWidth={560}>
          {list.data?.members.map((member) => (
            <Table.Tr key={member.user_id}>
              <Table.Td>
                <Group gap="xs" wrap="nowrap">
                  <Avatar
                    size={28}
                    radius="xl"
                    src={member.avatar_url || null}
                    name={member.name || member.username}
                    color="brand"
                    alt=""
                  />
                  <div>
                    <Text size="sm" fw={600}>
                      {member.username}
                    </Text>
                    <Text size="xs" c="dimmed">
                      {member.name ? `${member.name} · ${member.email}` : member.email}
                    </Text>
                  </div>
                </Group>
              </Table.Td>
              <Table.Td>
                <Group gap={4}>
                  {member.roles.length + member.global_roles.length === 0 && (
                    <Text size="sm" c="dimmed">
                      Member
                    </Text>
                  )}
                  {member.roles.map((role) => (
                    <Badge key={role.name}>{role.display_name || role.name}</Badge>
                  ))}
                  {member.global_roles.map((role) => (
                    <Badge key={role.name} color="gray" title="Site-wide role">
                      {role.display_name || role.name}
                    </Badge>
                  ))}
                </Group>
              </Table.Td>
              <Table.Td>
                {(may.assign || may.removeMember) && (
                  <MemberMenu
                    organization={organization}
                    member={member}
                    assign={may.assign}
                    remove={may.removeMember}
                  />
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      </PagedList>
    </>
  );
}

function MemberMenu({
  organization,
  member,
  assign,
  remove,
}: {
  organization: Organization;
  member: Member;
  assign: boolean;
  remove: boolean;
}) {
  const client = useQueryClient();
  const out = useMutation({
    mutationFn: () =>
      api.delete('/organizations/{organization}/members/{user}', {
        path: { organization: organization.id, user: member.user_id },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['organization', organization.id, 'members'] });
      notifySuccess(`${member.username} removed from ${organization.display_name || organization.name}`);
    },
    onError: notifyError,
  });
  const ask = () =>
    modals.openConfirmModal({
      title: `Remove ${member.username} from ${organization.display_name || organization.name}?`,
      children: (
        <Text size="sm">The user loses all roles and groups in this organization. Their workspaces are kept.</Text>
      ),
      labels: { confirm: 'Remove', cancel: 'Cancel' },
      confirmProps: { color: 'red' },
      onConfirm: () => out.mutate(),
    });
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="compact-sm" aria-label={`Actions for ${member.username}`}>
          <IconDotsVertical size={16} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {assign && (
          <Menu.Item
            onClick={() =>
              modals.open({
                title: `Edit roles of ${member.username}`,
                children: <MemberRoles organization={organization} member={member} />,
              })
            }
          >
            Edit roles…
          </Menu.Item>
        )}
        {remove && (
          <Menu.Item c="var(--mantine-color-red-text)" onClick={ask}>
            Remove…
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function MemberRoles({ organization, member }: { organization: Organization; member: Member }) {
  const client = useQueryClient();
  const roles = useQuery(rolesQuery(organization.id));
  const [chosen, setChosen] = useState(() => member.roles.map((role) => role.name));
  const save = useMutation({
    mutationFn: () =>
      api.put('/organizations/{organization}/members/{user}/roles', {
        path: { organization: organization.id, user: member.user_id },
        body: { roles: chosen },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['organization', organization.id, 'members'] });
      modals.closeAll();
    },
  });
  if (roles.isPending) return <Loading />;
  return (
    <Form
      error={roles.error ?? save.error}
      onSubmit={() => {
        save.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={roles.error ?? save.error} />
        <Checkbox.Group
          label={`Roles in ${organization.display_name || organization.name}`}
          value={chosen}
          onChange={setChosen}
        >
          <Stack gap="xs" mt="xs">
            {roles.data
              ?.filter((role) => role.name !== 'organization-member')
              .map((role) => (
                <Checkbox
                  key={role.name}
                  value={role.name}
                  label={role.display_name || role.name}
                  disabled={!role.assignable}
                />
              ))}
          </Stack>
        </Checkbox.Group>
        <Button type="submit" loading={save.isPending}>
          Save
        </Button>
      </Stack>
    </Form>
  );
}

function AddMember({ organization }: { organization: Organization }) {
  const client = useQueryClient();
  const [q, setQ] = useState('');
  const [asked] = useDebouncedValue(q, 250);
  const [who, setWho] = useState<string | null>(null);
  const found = useQuery({
    queryKey: ['users', asked, 'some'],
    queryFn: () => api.get('/users', { query: { q: asked, limit: 20 } }),
    placeholderData: keepPreviousData,
  });
  const add = useMutation({
    mutationFn: () =>
      api.post('/organizations/{organization}/members/{user}', {
        path: { organization: organization.id, user: who ?? '' },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['organization', organization.id, 'members'] });
      modals.closeAll();
    },
  });
  return (
    <Form
      error={add.error ?? found.error}
      onSubmit={() => {
        add.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={add.error ?? found.error} />
        <Select
          data-autofocus
          label="User"
          placeholder="Search by name"
          searchable
          data={found.data?.users.map((user) => ({
            value: user.id,
            label: user.name ? `${user.username} (${user.name})` : user.username,
          }))}
          filter={({ options }) => options}
          searchValue={q}
          onSearchChange={setQ}
          nothingFoundMessage="No users found"
          value={who}
          onChange={setWho}
        />
        <Button type="submit" disabled={!who} loading={add.isPending}>
          Add member
        </Button>
      </Stack>
    </Form>
  );
}
