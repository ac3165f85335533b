import { Alert, Avatar, Badge, Button, Group, Paper, Select, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { notifyError } from '../../components/confirm';
import type { Workspace } from './queries';
import { type Candidate, listCandidates } from './shareCandidates';
import { formatCount } from '../../lib/text';

type Role = Schema<'WorkspaceRole'>;

const roles = [
  { value: 'use', label: 'Use' },
  { value: 'admin', label: 'Admin: everything except delete' },
];

/** The users and groups that a workspace is shared with. */
export function WorkspaceSharing({ workspace }: { workspace: Workspace }) {
  const client = useQueryClient();
  const path = { workspace: workspace.id };
  const list = useQuery({
    queryKey: ['workspace-acl', workspace.id],
    queryFn: () => api.get('/workspaces/{workspace}/acl', { path }),
  });
  useLiveUpdates([`workspace/${workspace.id}`], ['workspace-acl', workspace.id]);
  const change = useMutation({
    mutationFn: ({ kind, id, role }: { kind: 'user' | 'group'; id: string; role: Role }) =>
      api.patch('/workspaces/{workspace}/acl', {
        path,
        body: kind === 'user' ? { user_roles: { [id]: role } } : { group_roles: { [id]: role } },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['workspace-acl', workspace.id] }),
    onError: notifyError,
  });
  if (list.isPending) return <Loading />;
  if (!list.data) return <ErrorAlert error={list.error} />;
  const rows = [
    ...list.data.users.map((u) => ({
      kind: 'user' as const,
      id: u.id,
      name: u.username,
      about: u.name,
      role: u.role,
      avatar: u.avatar_url,
    })),
    ...list.data.group.map((g) => ({
      kind: 'group' as const,
      id: g.id,
      name: g.display_name || g.name,
      about: formatCount(g.total_member_count, 'member'),
      role: g.role,
      avatar: g.avatar_url,
    })),
  ];
  return (
    <Stack maw={720}>
      <Text size="sm">
        Users you share with get the same access as {workspace.owner_name}: files, terminals, apps and all credentials
        in the workspace.
      </Text>
      <ShareForm
        workspace={workspace}
        known={rows.map((r) => r.id)}
        onAdd={(candidate, role) => change.mutate({ kind: candidate.kind, id: candidate.id, role })}
      />
      {rows.length === 0 && <Alert color="gray">Not shared</Alert>}
      {rows.map((r) => (
        <Paper withBorder p="sm" key={r.id}>
          <Group justify="space-between">
            <Group gap="xs">
              <Avatar size={28} radius="xl" src={r.avatar || null} name={r.name} color="brand" alt="" />
              <div>
                <Text component="div" size="sm" fw={600}>
                  {r.name} {r.kind === 'group' && <Badge>Group</Badge>}
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
                aria-label={`Role of ${r.name}`}
                data={roles}
                value={r.role}
                onChange={(v) => change.mutate({ kind: r.kind, id: r.id, role: v as Role })}
              />
              <Button
                variant="subtle"
                color="red"
                aria-label={`Stop sharing with ${r.name}`}
                onClick={() => change.mutate({ kind: r.kind, id: r.id, role: '' })}
              >
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
  workspace: Workspace;
  known: string[];
  onAdd: (candidate: Candidate, role: Role) => void;
}

/** Selects a member or a group of the organization to share with. */
function ShareForm({ workspace, known, onAdd }: AddProps) {
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed, 250);
  const [chosen, setChosen] = useState<string | null>(null);
  const [role, setRole] = useState<Role>('use');
  const path = { organization: workspace.organization_id };
  const members = useQuery({
    queryKey: ['members', workspace.organization_id, q],
    queryFn: () => api.get('/organizations/{organization}/paginated-members', { path, query: { q, limit: 25 } }),
  });
  const groups = useQuery({
    queryKey: ['groups', workspace.organization_id],
    queryFn: () => api.get('/organizations/{organization}/groups', { path }),
  });
  const found = listCandidates(members.data?.members ?? [], groups.data ?? [], [workspace.owner_id, ...known]);
  return (
    <Stack gap="xs">
      <ErrorAlert error={members.error} />
      <Group align="flex-end">
        <Select
          flex={1}
          miw={200}
          label="Share with"
          placeholder="Search users and groups"
          searchable
          searchValue={typed}
          onSearchChange={setTyped}
          nothingFoundMessage="No members or groups found"
          data={found.map((candidate) => ({ value: candidate.id, label: candidate.label }))}
          value={chosen}
          onChange={setChosen}
        />
        <Select
          w={250}
          label="Role"
          allowDeselect={false}
          data={roles}
          value={role}
          onChange={(v) => setRole(v as Role)}
        />
        <Button
          disabled={!chosen}
          onClick={() => {
            const candidate = found.find((f) => f.id === chosen);
            if (candidate) onAdd(candidate, role);
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
