import { Alert, Badge, Button, Group, Loader, Paper, Stack, Text } from '@mantine/core';
import { IconPlayerPlay, IconRefresh, IconTrash } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { follow } from '../../api/stream';
import { complain } from '../../parts/confirm';
import { modals } from '../../parts/dialogs';
import { Apps } from './Apps';
import { type Agent, type Rights, type Workspace, agentsOf } from './data';

type Containers = Schema<'WorkspaceAgentListContainersResponse'>;
type Devcontainer = Schema<'WorkspaceAgentDevcontainer'>;
type Status = Schema<'WorkspaceAgentDevcontainerStatus'>;

const looks: Record<Status, { color: string; busy?: boolean }> = {
  running: { color: 'green' },
  starting: { color: 'blue', busy: true },
  stopping: { color: 'blue', busy: true },
  deleting: { color: 'red', busy: true },
  stopped: { color: 'gray' },
  error: { color: 'red' },
};

/** What an agent knows of containers, as it changes; undefined where it knows nothing. */
function useContainers(agent: Agent, wanted: boolean): Containers | undefined {
  const [now, setNow] = useState<Containers>();
  const path = { workspaceagent: agent.id };
  // Asked first: where there are none for good, nothing is followed.
  const { data } = useQuery({
    queryKey: ['containers', agent.id],
    queryFn: () => api.get('/workspaceagents/{workspaceagent}/containers', { path }),
    enabled: wanted,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const live = wanted && data !== undefined;
  useEffect(() => {
    if (!live) return;
    return follow<Containers>(
      () => `/api/v2/workspaceagents/${agent.id}/containers/watch`,
      (all) => setNow(all.at(-1)),
      () => 0,
      () => {},
    );
  }, [live, agent.id]);
  return live ? (now ?? data) : undefined;
}

interface Props {
  w: Workspace;
  agent: Agent;
  may: Rights;
  onPorts: () => void;
}

/** The dev containers below an agent: their state, what can be done with them, and the ways into them. */
export function Devcontainers({ w, agent, may, onPorts }: Props) {
  const all = useContainers(agent, Boolean(may.ssh) && agent.status === 'connected' && agent.operating_system === 'linux' && !agent.parent_id);
  if (!all || all.devcontainers.length === 0) return null;
  return (
    <Stack gap="xs" px="md" pb="md">
      {(all.warnings ?? []).map((text) => (
        <Alert key={text} color="orange" p="xs">
          {text}
        </Alert>
      ))}
      {all.devcontainers.map((d) => (
        <One key={d.id} w={w} parent={agent} d={d} may={may} onPorts={onPorts} />
      ))}
    </Stack>
  );
}

function One({ w, parent, d, may, onPorts }: { w: Workspace; parent: Agent; d: Devcontainer; may: Rights; onPorts: () => void }) {
  const look = looks[d.status];
  const agent = agentsOf(w).find((a) => a.id === d.agent?.id);
  const path = { workspaceagent: parent.id, devcontainer: d.id };
  const recreate = useMutation({
    mutationFn: () => api.post('/workspaceagents/{workspaceagent}/containers/devcontainers/{devcontainer}/recreate', { path }),
    onError: complain,
  });
  const remove = useMutation({
    mutationFn: () => api.delete('/workspaceagents/{workspaceagent}/containers/devcontainers/{devcontainer}', { path }),
    onError: complain,
  });
  const fresh = !d.container;
  const ask = (title: string, verb: string, go: () => void) =>
    modals.openConfirmModal({
      title,
      children: <Text size="sm">What is in its container and in none of its volumes is lost.</Text>,
      labels: { confirm: verb, cancel: 'Keep it' },
      confirmProps: { color: 'red' },
      onConfirm: go,
    });
  const busy = look.busy || recreate.isPending || remove.isPending;
  return (
    <Paper withBorder p="sm" role="group" aria-label={`Dev container ${d.name}`}>
      <Group gap="xs" justify="space-between">
        <Group gap="xs">
          <Text fw={600}>{d.name}</Text>
          <Badge color={look.color} variant="light" autoContrast leftSection={look.busy && <Loader size={10} color={look.color} />}>
            {d.status}
          </Badge>
          {d.dirty && (
            <Badge color="orange" variant="light" autoContrast>
              configuration changed
            </Badge>
          )}
        </Group>
        <Group gap={4}>
          {fresh ? (
            <Button size="compact-xs" variant="subtle" leftSection={<IconPlayerPlay size={14} />} disabled={busy} onClick={() => recreate.mutate()} aria-label={`Start the dev container ${d.name}`}>
              Start
            </Button>
          ) : (
            <>
              <Button
                size="compact-xs"
                variant="subtle"
                leftSection={<IconRefresh size={14} />}
                disabled={busy}
                onClick={() => ask(`Recreate ${d.name}?`, 'Recreate', recreate.mutate)}
                aria-label={`Recreate the dev container ${d.name}`}
              >
                Recreate
              </Button>
              <Button
                size="compact-xs"
                variant="subtle"
                color="red"
                leftSection={<IconTrash size={14} />}
                disabled={busy}
                onClick={() => ask(`Remove the container of ${d.name}?`, 'Remove', remove.mutate)}
                aria-label={`Remove the dev container ${d.name}`}
              >
                Remove
              </Button>
            </>
          )}
        </Group>
      </Group>
      <Text size="xs" c="dimmed" truncate title={d.workspace_folder}>
        {d.workspace_folder}
        {d.container && ` · ${d.container.name}`}
      </Text>
      {d.error && (
        <Text size="sm" c="red" mt={4} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {d.error}
        </Text>
      )}
      {agent && (
        <Group gap="xs" mt="xs">
          <Apps w={w} agent={agent} may={may} onPorts={onPorts} />
        </Group>
      )}
    </Paper>
  );
}
