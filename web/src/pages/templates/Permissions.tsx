import { Avatar, Button, Group, Select, Stack, Switch, Table, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconUsersGroup } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { Loading } from '../../parts/Loading';
import { Sheet } from '../../parts/Sheet';
import { Refusal } from '../../parts/Refusal';
import { complain } from '../../parts/confirm';
import type { Template } from './data';
import { plural } from '../../parts/plural';

type Role = Schema<'TemplateRole'>;

const roles = [
  { value: 'use', label: 'Use: make workspaces of it' },
  { value: 'admin', label: 'Admin: change and delete it too' },
];

interface Row {
  id: string;
  name: string;
  hint: string;
  avatar?: string;
  group: boolean;
  role: Role;
}

/** Who may use and who may administer the template. */
export default function Permissions({ t }: { t: Template }) {
  const client = useQueryClient();
  const acl = useQuery({ queryKey: ['template', t.id, 'acl'], queryFn: () => api.get('/templates/{template}/acl', { path: { template: t.id } }) });
  useLive(['template', 'group'], ['template', t.id, 'acl']);
  const change = useMutation({
    mutationFn: ({ id, group, role }: { id: string; group: boolean; role: Role }) =>
      api.patch('/templates/{template}/acl', { path: { template: t.id }, body: group ? { group_perms: { [id]: role } } : { user_perms: { [id]: role } } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['template', t.id, 'acl'] }),
    onError: complain,
  });
  if (acl.error) return <Refusal error={acl.error} />;
  if (!acl.data) return <Loading />;
  const rows: Row[] = [
    ...acl.data.group.map((g) => ({
      id: g.id,
      name: g.id === g.organization_id ? 'Everyone' : g.display_name || g.name,
      hint: g.id === g.organization_id ? `all members of ${t.organization_display_name || t.organization_name}` : plural(g.total_member_count, 'member'),
      avatar: g.avatar_url,
      group: true,
      role: g.role,
    })),
    ...acl.data.users.map((u) => ({ id: u.id, name: u.username, hint: u.name || u.email, avatar: u.avatar_url, group: false, role: u.role })),
  ];
  const everyone = rows.some((r) => r.id === t.organization_id);
  return (
    <Stack>
      <Add t={t} onAdd={(id, group, role) => change.mutate({ id, group, role })} />
      <Switch
        label="Everyone in the organization may use it"
        checked={everyone}
        disabled={change.isPending}
        onChange={(e) => change.mutate({ id: t.organization_id, group: true, role: e.currentTarget.checked ? 'use' : '' })}
      />
      <Sheet heads={['Who', 'May']} actions={110} minWidth={520}>
        {rows.map((r) => (
          <Table.Tr key={r.id}>
            <Table.Td>
              <Group gap="xs" wrap="nowrap">
                <Avatar size={28} radius="xl" src={r.avatar || null} name={r.group ? undefined : r.name} color="brand" alt="">
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
              <Select aria-label={`What ${r.name} may do`} allowDeselect={false} data={roles} value={r.role} onChange={(role) => change.mutate({ id: r.id, group: r.group, role: (role ?? 'use') as Role })} />
            </Table.Td>
            <Table.Td>
              <Button variant="subtle" color="red" size="compact-sm" aria-label={`Remove ${r.name}`} onClick={() => change.mutate({ id: r.id, group: r.group, role: '' })}>
                Remove
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </Sheet>
      {rows.length === 0 && <Text c="dimmed">Only administrators of the organization may use it.</Text>}
    </Stack>
  );
}

function Add({ t, onAdd }: { t: Template; onAdd: (id: string, group: boolean, role: Role) => void }) {
  const [q, setQ] = useState('');
  const [asked] = useDebouncedValue(q, 250);
  const [who, setWho] = useState<string | null>(null);
  const [role, setRole] = useState<string>('use');
  const found = useQuery({
    queryKey: ['template', t.id, 'acl', 'available', asked],
    queryFn: () => api.get('/templates/{template}/acl/available', { path: { template: t.id }, query: { q: asked } }),
    placeholderData: (old) => old,
  });
  const groups = found.data?.groups ?? [];
  const data = [
    { group: 'Groups', items: groups.map((g) => ({ value: g.id, label: g.id === g.organization_id ? 'Everyone' : g.display_name || g.name })) },
    { group: 'Users', items: (found.data?.users ?? []).map((u) => ({ value: u.id, label: u.name ? `${u.username} (${u.name})` : u.username })) },
  ].filter((g) => g.items.length > 0);
  return (
    <Group align="flex-end">
      <Select
        flex={1}
        miw={220}
        label="Add a user or a group"
        placeholder="Type a name"
        searchable
        clearable
        data={data}
        filter={({ options }) => options}
        searchValue={q}
        onSearchChange={setQ}
        nothingFoundMessage="Nobody of this name"
        value={who}
        onChange={setWho}
      />
      <Select label="May" allowDeselect={false} data={roles} value={role} onChange={(r) => setRole(r ?? 'use')} w={260} />
      <Button
        disabled={!who}
        onClick={() => {
          if (who) onAdd(who, groups.some((g) => g.id === who), role as Role);
          setWho(null);
          setQ('');
        }}
      >
        Add
      </Button>
    </Group>
  );
}
