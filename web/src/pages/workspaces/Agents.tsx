import { Alert, Anchor, Badge, Button, Group, Paper, SimpleGrid, Stack, Text, Tooltip } from '@mantine/core';
import { useState } from 'react';
import type { Schema } from '../../api/client';
import { useServerSentEvents } from '../../api/stream';
import { Icon } from '../../components/Icon';
import { DownloadLink } from '../../components/DownloadLink';
import { AgentLog } from '../../components/Log';
import { Sparkline } from '../../components/Sparkline';
import { RelativeTime } from '../../components/time';
import { Apps } from './Apps';
import { Devcontainers } from './Devcontainers';
import { ExternalAgent } from './ExternalAgent';
import { type MetadataHistory, appendMetadata } from './metadataHistory';
import type { Agent, Rights, Workspace } from './queries';

const lifecycles: Partial<Record<Schema<'WorkspaceAgentLifecycle'>, [string, string]>> = {
  created: ['gray', 'Not started'],
  starting: ['blue', 'Running startup scripts'],
  start_timeout: ['orange', 'Startup scripts timed out'],
  start_error: ['orange', 'Startup script failed'],
  ready: ['green', 'Ready'],
  shutting_down: ['blue', 'Running shutdown scripts'],
  shutdown_timeout: ['orange', 'Shutdown scripts timed out'],
  shutdown_error: ['orange', 'Shutdown script failed'],
  off: ['gray', 'Off'],
};

function AgentStatus({ agent }: { agent: Agent }) {
  if (agent.status === 'connected') {
    const [color, label] = lifecycles[agent.lifecycle_state] ?? ['gray', agent.lifecycle_state];
    return <Badge color={color}>{label}</Badge>;
  }
  if (agent.status === 'connecting') return <Badge color="blue">Connecting</Badge>;
  if (agent.status === 'timeout') return <Badge color="orange">Connection timed out</Badge>;
  return <Badge color="red">Disconnected {agent.disconnected_at && <RelativeTime at={agent.disconnected_at} />}</Badge>;
}

/** The agents of a workspace: their state, apps, metadata and logs. */
export function Agents({ workspace, may, onPorts }: { workspace: Workspace; may: Rights; onPorts: () => void }) {
  const resources = workspace.latest_build.resources.filter(
    (resource) => !resource.hide || (resource.agents ?? []).length > 0,
  );
  // Sub-agents are shown with their dev containers.
  const agents = resources.flatMap((resource) => resource.agents ?? []).filter((agent) => !agent.parent_id);
  return (
    <Stack>
      {agents.map((agent) => (
        <AgentCard key={agent.id} workspace={workspace} agent={agent} may={may} onPorts={onPorts} />
      ))}
      <Resources rows={resources} />
    </Stack>
  );
}

const isExternal = (workspace: Workspace, agent: Agent) =>
  workspace.latest_build.resources.some(
    (resource) => resource.type === 'coder_external_agent' && resource.id === agent.resource_id,
  );

function AgentCard({
  workspace,
  agent,
  may,
  onPorts,
}: {
  workspace: Workspace;
  agent: Agent;
  may: Rights;
  onPorts: () => void;
}) {
  const [log, setLog] = useState(agent.lifecycle_state !== 'ready');
  return (
    <Paper withBorder>
      <Stack gap={0} p="md">
        <Group gap="xs">
          <Text fw={600}>{agent.name}</Text>
          <AgentStatus agent={agent} />
          {agent.health.reason && (
            <Text size="sm" c="red">
              {agent.health.reason}
              {agent.troubleshooting_url && (
                <>
                  {' '}
                  <Anchor href={agent.troubleshooting_url} target="_blank" rel="noreferrer" inherit underline="always">
                    Troubleshoot
                  </Anchor>
                </>
              )}
            </Text>
          )}
        </Group>
        <Text size="xs" c="dimmed">
          {agent.operating_system}/{agent.architecture} {agent.version && `· ${agent.version}`}
        </Text>
      </Stack>
      {resourceWarnings(agent).map((what) => (
        <Alert key={what} color="orange" mx="md" mb="md" p="xs">
          {what}
        </Alert>
      ))}
      <Group px="md" pb="md" gap="xs">
        <Apps workspace={workspace} agent={agent} may={may} onPorts={onPorts} />
      </Group>
      <Devcontainers workspace={workspace} agent={agent} may={may} onPorts={onPorts} />
      {agent.status === 'connected' && <AgentMetadata agent={agent} />}
      {agent.status !== 'connected' && may.update && isExternal(workspace, agent) && (
        <ExternalAgent workspace={workspace} agent={agent} />
      )}
      <Group px="md" pb="xs">
        <Button size="compact-xs" variant="subtle" onClick={() => setLog(!log)} aria-expanded={log}>
          {log ? 'Hide log' : 'Show log'}
        </Button>
        {agent.logs_length > 0 && (
          <DownloadLink
            href={`/api/v2/workspaceagents/${agent.id}/logs?format=text`}
            name={`${workspace.name}-${agent.name}.log`}
            label={`Download log of ${agent.name}`}
          />
        )}
      </Group>
      {log && <AgentLog agent={agent} />}
    </Paper>
  );
}

/** Returns a warning for each resource monitor above its threshold. */
function resourceWarnings(agent: Agent) {
  return (agent.resource_monitors ?? [])
    .filter((m) => m.short)
    .map((m) =>
      m.path
        ? `Volume ${m.path} is ${m.percent}% full (threshold ${m.threshold}%).`
        : `Memory usage is ${m.percent}% (threshold ${m.threshold}%).`,
    );
}

function AgentMetadata({ agent }: { agent: Agent }) {
  const data = useServerSentEvents<Schema<'WorkspaceAgentMetadata'>[]>(
    `/api/v2/workspaceagents/${agent.id}/watch-metadata`,
  );
  const [seen, setSeen] = useState<{ data: typeof data; history: MetadataHistory }>({ data: undefined, history: {} });
  if (data && data !== seen.data) setSeen({ data, history: appendMetadata(seen.history, data) });
  if (!data || data.length === 0) return null;
  return (
    <SimpleGrid cols={{ base: 2, sm: 4, lg: 6 }} px="md" pb="md">
      {data.map((metadata) => (
        <div key={metadata.description.key}>
          <Tooltip
            label={metadata.result.error || `Collected ${new Date(metadata.result.collected_at).toLocaleTimeString()}`}
          >
            <div>
              <Text size="xs" c="dimmed">
                {metadata.description.display_name || metadata.description.key}
              </Text>
              <Text size="sm" c={metadata.result.error ? 'red' : undefined} truncate>
                {metadata.result.error ? 'Failed' : metadata.result.value || '…'}
              </Text>
            </div>
          </Tooltip>
          <Sparkline
            values={seen.history[metadata.description.key]?.numbers ?? []}
            label={metadata.description.display_name || metadata.description.key}
          />
        </div>
      ))}
    </SimpleGrid>
  );
}

function Resources({ rows }: { rows: Schema<'WorkspaceResource'>[] }) {
  const bare = rows.filter((resource) => (resource.agents ?? []).length === 0 || (resource.metadata ?? []).length > 0);
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
      {bare.map((resource) => (
        <Paper withBorder p="md" key={resource.id}>
          <Group gap="xs" wrap="nowrap">
            <Icon src={resource.icon} name={resource.type} />
            <div>
              <Text fw={600}>{resource.name}</Text>
              <Text size="xs" c="dimmed">
                {resource.type}
                {resource.daily_cost > 0 && ` · ${resource.daily_cost} credits per day`}
              </Text>
            </div>
          </Group>
          {(resource.metadata ?? []).map((m) => (
            <Group key={m.key} justify="space-between" mt={6} wrap="nowrap">
              <Text size="sm" c="dimmed">
                {m.key}
              </Text>
              {m.sensitive ? (
                <SensitiveValue value={m.value} />
              ) : (
                <Text size="sm" truncate title={m.value}>
                  {m.value}
                </Text>
              )}
            </Group>
          ))}
        </Paper>
      ))}
    </SimpleGrid>
  );
}

function SensitiveValue({ value }: { value: string }) {
  const [shown, setShown] = useState(false);
  return (
    <Button size="compact-xs" variant="subtle" onClick={() => setShown(!shown)}>
      {shown ? value : 'Show'}
    </Button>
  );
}
