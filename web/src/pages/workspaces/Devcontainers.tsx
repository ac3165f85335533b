import { Alert, Badge, Button, Group, Loader, Paper, Stack, Text } from '@mantine/core';
import { IconPlayerPlay, IconRefresh, IconTrash } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { followStream } from '../../api/stream';
import { notifyError } from '../../components/confirm';
import { capitalize } from '../../lib/text';
import { modals } from '../../components/dialogs';
import { Apps } from './Apps';
import { type Agent, type Rights, type Workspace, getAgents } from './queries';

type Containers = Schema<'WorkspaceAgentListContainersResponse'>;
type Devcontainer = Schema<'WorkspaceAgentDevcontainer'>;
type Status = Schema<'WorkspaceAgentDevcontainerStatus'>;

const badges: Record<Status, { color: string; busy?: boolean }> = {
  running: { color: 'green' },
  starting: { color: 'blue', busy: true },
  stopping: { color: 'blue', busy: true },
  deleting: { color: 'red', busy: true },
  stopped: { color: 'gray' },
  error: { color: 'red' },
};

/** Returns the containers of an agent, kept up to date; undefined when the agent reports none. */
function useContainers(agent: Agent, wanted: boolean): Containers | undefined {
  const [now, setNow] = useState<Containers>();
  const path = { workspaceagent: agent.id };
  // Checked first, so that no stream is opened to an agent without container support.
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
    return followStream<Containers>(
      () => `/api/v2/workspaceagents/${agent.id}/containers/watch`,
      (all) => setNow(all.at(-1)),
      () => 0,
      () => {},
    );
  }, [live, agent.id]);
  return live ? (now ?? data) : undefined;
}

interface Props {
  workspace: Workspace;
  agent: Agent;
  may: Rights;
  onPorts: () => void;
}

/** The dev containers of an agent, with their status, actions and apps. */
export function Devcontainers({ workspace, agent, may, onPorts }: Props) {
  const all = useContainers(
    agent,
    Boolean(may.ssh) && agent.status === 'connected' && agent.operating_system === 'linux' && !agent.parent_id,
  );
  if (!all || all.devcontainers.length === 0) return null;
  return (
    <Stack gap="xs" px="md" pb="md">
      {(all.warnings ?? []).map((text) => (
        <Alert key={text} color="orange" p="xs">
          {text}
        </Alert>
      ))}
      {all.devcontainers.map((devcontainer) => (
        <DevcontainerCard
          key={devcontainer.id}
          workspace={workspace}
          parent={agent}
          devcontainer={devcontainer}
          may={may}
          onPorts={onPorts}
        />
      ))}
    </Stack>
  );
}

function DevcontainerCard({
  workspace,
  parent,
  devcontainer,
  may,
  onPorts,
}: {
  workspace: Workspace;
  parent: Agent;
  devcontainer: Devcontainer;
  may: Rights;
  onPorts: () => void;
}) {
  const look = badges[devcontainer.status];
  const agent = getAgents(workspace).find((a) => a.id === devcontainer.agent?.id);
  const path = { workspaceagent: parent.id, devcontainer: devcontainer.id };
  const recreate = useMutation({
    mutationFn: () =>
      api.post('/workspaceagents/{workspaceagent}/containers/devcontainers/{devcontainer}/recreate', { path }),
    onError: notifyError,
  });
  const remove = useMutation({
    mutationFn: () => api.delete('/workspaceagents/{workspaceagent}/containers/devcontainers/{devcontainer}', { path }),
    onError: notifyError,
  });
  const fresh = !devcontainer.container;
  const ask = (title: string, verb: string, go: () => void) =>
    modals.openConfirmModal({
      title,
      children: <Text size="sm">Data in the container outside of its volumes is lost.</Text>,
      labels: { confirm: verb, cancel: 'Cancel' },
      confirmProps: { color: 'red' },
      onConfirm: go,
    });
  const busy = look.busy || recreate.isPending || remove.isPending;
  return (
    <Paper withBorder p="sm" role="group" aria-label={`Dev container ${devcontainer.name}`}>
      <Group gap="xs" justify="space-between">
        <Group gap="xs">
          <Text fw={600}>{devcontainer.name}</Text>
          <Badge color={look.color} leftSection={look.busy && <Loader size={10} color={look.color} />}>
            {capitalize(devcontainer.status)}
          </Badge>
          {devcontainer.dirty && <Badge color="orange">Configuration changed</Badge>}
        </Group>
        <Group gap={4}>
          {fresh ? (
            <Button
              size="compact-xs"
              variant="subtle"
              leftSection={<IconPlayerPlay size={14} />}
              disabled={busy}
              onClick={() => recreate.mutate()}
              aria-label={`Start dev container ${devcontainer.name}`}
            >
              Start
            </Button>
          ) : (
            <>
              <Button
                size="compact-xs"
                variant="subtle"
                leftSection={<IconRefresh size={14} />}
                disabled={busy}
                onClick={() => ask(`Recreate ${devcontainer.name}?`, 'Recreate', recreate.mutate)}
                aria-label={`Recreate dev container ${devcontainer.name}`}
              >
                Recreate
              </Button>
              <Button
                size="compact-xs"
                variant="subtle"
                color="red"
                leftSection={<IconTrash size={14} />}
                disabled={busy}
                onClick={() => ask(`Delete ${devcontainer.name}?`, 'Delete', remove.mutate)}
                aria-label={`Delete dev container ${devcontainer.name}`}
              >
                Delete
              </Button>
            </>
          )}
        </Group>
      </Group>
      <Text size="xs" c="dimmed" truncate title={devcontainer.workspace_folder}>
        {devcontainer.workspace_folder}
        {devcontainer.container && ` · ${devcontainer.container.name}`}
      </Text>
      {devcontainer.error && (
        <Text size="sm" c="red" mt={4} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {devcontainer.error}
        </Text>
      )}
      {agent && (
        <Group gap="xs" mt="xs">
          <Apps workspace={workspace} agent={agent} may={may} onPorts={onPorts} />
        </Group>
      )}
    </Paper>
  );
}
