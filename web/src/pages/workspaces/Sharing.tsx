import { Alert, Avatar, Badge, Button, Group, Paper, Select, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { complain } from '../../parts/confirm';
import type { Workspace } from './data';
import { type Candidate, candidates } from './sharing';
import { plural } from '../../parts/plural';

type Role = Schema<'WorkspaceRole'>;

const roles = [
  { value: 'use', label: 'may use it' },
  { value: 'admin', label: 'may do everything but delete it' },
];

/** Who else may use a workspace. */
export function Sharing({ w }: { w: Workspace }) {
  const client = useQueryClient();
  const path = { workspace: w.id };
  const list = useQuery({ queryKey: ['workspace-acl', w.id], queryFn: () => api.get('/workspaces/{workspace}/acl', { path }) });
  useLive([`workspace/${w.id}`], ['workspace-acl', w.id]);
  const change = useMutation({
    mutationFn: ({ kind, id, role }: { kind: 'user' | 'group'; id: string; role: Role }) =>
      api.patch('/workspaces/{workspace}/acl', { path, body: kind === 'user' ? { user_roles: { [id]: role } } : { group_roles: { [id]: role } } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['workspace-acl', w.id] }),
    onError: complain,
  });
  if (list.isPending) return <Loading />;
  if (!list.data) return <Refusal error={list.error} />;
  const rows = [
    ...list.data.users.map((u) => ({ kind: 'user' as const, id: u.id, name: u.username, about: u.name, role: u.role, avatar: u.avatar_url })),
    ...list.data.group.map((g) => ({ kind: 'group' as const, id: g.id, name: g.display_name || g.name, about: plural(g.total_member_count, 'member'), role: g.role, avatar: g.avatar_url })),
  ];
  return (
    <Stack maw={720}>
      <Text size="sm">
        Whoever may use this workspace gets into it as if they were {w.owner_name}: files, terminals and apps, with whatever is logged in there.
      </Text>
      <Add w={w} known={rows.map((r) => r.id)} onAdd={(c, role) => change.mutate({ kind: c.kind, id: c.id, role })} />
      {rows.length === 0 && <Alert color="gray">It is shared with nobody.</Alert>}
      {rows.map((r) => (
        <Paper withBorder p="sm" key={r.id}>
          <Group justify="space-between">
            <Group gap="xs">
              <Avatar size={28} radius="xl" src={r.avatar || null} name={r.name} color="brand" alt="" />
              <div>
                <Text size="sm" fw={600}>
                  {r.name} {r.kind === 'group' && <Badge variant="light">group</Badge>}
                </Text>
                <Text size="xs" c="dimmed">
                  {r.about}
                </Text>
              </div>
            </Group>
            <Group gap="xs">
              <Select
                w={250}
                allowDeselect={false}
                aria-label={`What ${r.name} may do`}
                data={roles}
                value={r.role}
                onChange={(v) => change.mutate({ kind: r.kind, id: r.id, role: v as Role })}
              />
              <Button variant="subtle" color="red" aria-label={`Stop sharing with ${r.name}`} onClick={() => change.mutate({ kind: r.kind, id: r.id, role: '' })}>
                Remove
              </Button>
            </Group>
          </Group>
        </Paper>
      ))}
    </Stack>
  );
}

interface AddProps {
  w: Workspace;
  known: string[];
  onAdd: (c: Candidate, role: Role) => void;
}

/** Finds somebody among the organization's members and groups. */
function Add({ w, known, onAdd }: AddProps) {
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed, 250);
  const [chosen, setChosen] = useState<string | null>(null);
  const [role, setRole] = useState<Role>('use');
  const path = { organization: w.organization_id };
  const members = useQuery({
    queryKey: ['members', w.organization_id, q],
    queryFn: () => api.get('/organizations/{organization}/paginated-members', { path, query: { q, limit: 25 } }),
  });
  const groups = useQuery({ queryKey: ['groups', w.organization_id], queryFn: () => api.get('/organizations/{organization}/groups', { path }) });
  const found = candidates(members.data?.members ?? [], groups.data ?? [], [w.owner_id, ...known]);
  return (
    <Stack gap="xs">
      <Refusal error={members.error} />
      <Group align="flex-end">
        <Select
          flex={1}
          miw={200}
          label="Share with"
          placeholder="a member or a group"
          searchable
          searchValue={typed}
          onSearchChange={setTyped}
          nothingFoundMessage="Nobody of this organization matches"
          data={found.map((c) => ({ value: c.id, label: c.label }))}
          value={chosen}
          onChange={setChosen}
        />
        <Select w={250} label="What they may do" allowDeselect={false} data={roles} value={role} onChange={(v) => setRole(v as Role)} />
        <Button
          disabled={!chosen}
          onClick={() => {
            const c = found.find((f) => f.id === chosen);
            if (c) onAdd(c, role);
            setChosen(null);
            setTyped('');
          }}
        >
          Share
        </Button>
      </Group>
    </Stack>
  );
}
