import { Avatar, Button, Group, Select, Stack, Switch, Table, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconUsersGroup } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { Loading } from '../../components/Loading';
import { DataTable } from '../../components/DataTable';
import { ErrorAlert } from '../../components/ErrorAlert';
import { notifyError } from '../../components/confirm';
import type { Template } from './queries';
import { formatCount } from '../../lib/text';

type Role = Schema<'TemplateRole'>;

const roles = [
  { value: 'use', label: 'Use: create workspaces' },
  { value: 'admin', label: 'Admin: edit and delete the template' },
];

interface Row {
  id: string;
  name: string;
  hint: string;
  avatar?: string;
  group: boolean;
  role: Role;
}

/** The users and groups with access to the template. */
export default function TemplatePermissions({ template }: { template: Template }) {
  const client = useQueryClient();
  const acl = useQuery({
    queryKey: ['template', template.id, 'acl'],
    queryFn: () => api.get('/templates/{template}/acl', { path: { template: template.id } }),
  });
  useLiveUpdates(['template', 'group'], ['template', template.id, 'acl']);
  const change = useMutation({
    mutationFn: ({ id, group, role }: { id: string; group: boolean; role: Role }) =>
      api.patch('/templates/{template}/acl', {
        path: { template: template.id },
        body: group ? { group_perms: { [id]: role } } : { user_perms: { [id]: role } },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['template', template.id, 'acl'] }),
    onError: notifyError,
  });
  if (acl.error) return <ErrorAlert error={acl.error} />;
  if (!acl.data) return <Loading />;
  const rows: Row[] = [
    ...acl.data.group.map((g) => ({
      id: g.id,
      name: g.id === g.organization_id ? 'Everyone' : g.display_name || g.name,
      hint:
        g.id === g.organization_id
          ? `All members of ${template.organization_display_name || template.organization_name}`
          : formatCount(g.total_member_count, 'member'),
      avatar: g.avatar_url,
      group: true,
      role: g.role,
    })),
    ...acl.data.users.map((u) => ({
      id: u.id,
      name: u.username,
      hint: u.name || u.email,
      avatar: u.avatar_url,
      group: false,
      role: u.role,
    })),
  ];
  const everyone = rows.some((r) => r.id === template.organization_id);
  return (
    <Stack>
      <AddPermission template={template} onAdd={(id, group, role) => change.mutate({ id, group, role })} />
      <Switch
        label="Allow all organization members to use this template"
        checked={everyone}
        disabled={change.isPending}
        onChange={(e) =>
          change.mutate({ id: template.organization_id, group: true, role: e.currentTarget.checked ? 'use' : '' })
        }
      />
      <DataTable headers={['User or group', 'Role']} actions={110} minWidth={520}>
        {rows.map((r) => (
          <Table.Tr key={r.id}>
            <Table.Td>
              <Group gap="xs" wrap="nowrap">
                <Avatar
                  size={28}
                  radius="xl"
                  src={r.avatar || null}
                  name={r.group ? undefined : r.name}
                  color="brand"
                  alt=""
                >
                  {r.group && <IconUsersGroup size={16} />}
                </Avatar>
                <div>
                  <Text size="sm" fw={600}>
                    {r.name}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {r.hint}
                  </Text>
                </div>
              </Group>
            </Table.Td>
            <Table.Td>
              <Select
                aria-label={`Role of ${r.name}`}
                allowDeselect={false}
                data={roles}
                value={r.role}
                onChange={(role) => change.mutate({ id: r.id, group: r.group, role: (role ?? 'use') as Role })}
              />
            </Table.Td>
            <Table.Td>
              <Button
                variant="subtle"
                color="red"
                size="compact-sm"
                aria-label={`Remove ${r.name}`}
                onClick={() => change.mutate({ id: r.id, group: r.group, role: '' })}
              >
                Remove
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
      {rows.length === 0 && <Text c="dimmed">Only organization admins can use this template.</Text>}
    </Stack>
  );
}

function AddPermission({
  template,
  onAdd,
}: {
  template: Template;
  onAdd: (id: string, group: boolean, role: Role) => void;
}) {
  const [q, setQ] = useState('');
  const [asked] = useDebouncedValue(q, 250);
  const [who, setWho] = useState<string | null>(null);
  const [role, setRole] = useState<string>('use');
  const found = useQuery({
    queryKey: ['template', template.id, 'acl', 'available', asked],
    queryFn: () =>
      api.get('/templates/{template}/acl/available', { path: { template: template.id }, query: { q: asked } }),
    placeholderData: (old) => old,
  });
  const groups = found.data?.groups ?? [];
  const data = [
    {
      group: 'Groups',
      items: groups.map((group) => ({
        value: group.id,
        label: group.id === group.organization_id ? 'Everyone' : group.display_name || group.name,
      })),
    },
    {
      group: 'Users',
      items: (found.data?.users ?? []).map((user) => ({
        value: user.id,
        label: user.name ? `${user.username} (${user.name})` : user.username,
      })),
    },
  ].filter((g) => g.items.length > 0);
  return (
    <Group align="flex-end">
      <Select
        flex={1}
        miw={220}
        label="User or group"
        placeholder="Search by name"
        searchable
        clearable
        data={data}
        filter={({ options }) => options}
        searchValue={q}
        onSearchChange={setQ}
        nothingFoundMessage="No users or groups found"
        value={who}
        onChange={setWho}
      />
      <Select
        label="Role"
        allowDeselect={false}
        data={roles}
        value={role}
        onChange={(r) => setRole(r ?? 'use')}
        w={260}
      />
      <Button
        disabled={!who}
        onClick={() => {
          if (who)
            onAdd(
              who,
              groups.some((group) => group.id === who),
              role as Role,
            );
          setWho(null);
          setQ('');
        }}
      >
        Add
      </Button>
    </Group>
  );
}
