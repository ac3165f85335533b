import { Alert, Anchor, Badge, Button, Group, Paper, SimpleGrid, Stack, Text, Tooltip } from '@mantine/core';
import { useState } from 'react';
import type { Schema } from '../../api/client';
import { useEvents } from '../../api/stream';
import { Icon } from '../../parts/Icon';
import { Download } from '../../parts/Download';
import { AgentLog } from '../../parts/Log';
import { Moment } from '../../parts/time';
import { Apps } from './Apps';
import { Devcontainers } from './Devcontainers';
import { External } from './External';
import type { Agent, Rights, Workspace } from './data';

const lifecycles: Partial<Record<Schema<'WorkspaceAgentLifecycle'>, [string, string]>> = {
  created: ['gray', 'not started yet'],
  starting: ['blue', 'startup scripts run'],
  start_timeout: ['orange', 'startup scripts take long'],
  start_error: ['orange', 'a startup script failed'],
  ready: ['green', 'ready'],
  shutting_down: ['blue', 'shutdown scripts run'],
  shutdown_timeout: ['orange', 'shutdown scripts take long'],
  shutdown_error: ['orange', 'a shutdown script failed'],
  off: ['gray', 'off'],
};

function State({ agent }: { agent: Agent }) {
  if (agent.status === 'connected') {
    const [color, label] = lifecycles[agent.lifecycle_state] ?? ['gray', agent.lifecycle_state];
    return <Badge color={color} variant="light">{label}</Badge>;
  }
  if (agent.status === 'connecting') return <Badge color="blue" variant="light">connecting</Badge>;
  if (agent.status === 'timeout') return <Badge color="orange" variant="light">never connected</Badge>;
  return (
    <Badge color="red" variant="light">
      disconnected {agent.disconnected_at && <Moment at={agent.disconnected_at} />}
    </Badge>
  );
}

/** The agents of a workspace: their state, apps, metadata and logs. */
export function Agents({ w, may, onPorts }: { w: Workspace; may: Rights; onPorts: () => void }) {
  const resources = w.latest_build.resources.filter((r) => !r.hide || (r.agents ?? []).length > 0);
  const agents = resources.flatMap((r) => r.agents ?? []).filter((a) => !a.parent_id); // those of dev containers are shown with them
  return (
    <Stack>
      {agents.map((a) => (
        <AgentCard key={a.id} w={w} agent={a} may={may} onPorts={onPorts} />
      ))}
      <Resources rows={resources} />
    </Stack>
  );
}

const isExternal = (w: Workspace, agent: Agent) => w.latest_build.resources.some((r) => r.type === 'coder_external_agent' && r.id === agent.resource_id);

function AgentCard({ w, agent, may, onPorts }: { w: Workspace; agent: Agent; may: Rights; onPorts: () => void }) {
  const [log, setLog] = useState(agent.lifecycle_state !== 'ready');
  return (
    <Paper withBorder>
      <Stack gap={0} p="md">
        <Group gap="xs">
          <Text fw={600}>{agent.name}</Text>
          <State agent={agent} />
          {agent.health.reason && (
            <Text size="sm" c="red">
              {agent.health.reason}
              {agent.troubleshooting_url && (
                <>
                  {' '}
                  <Anchor href={agent.troubleshooting_url} target="_blank" rel="noreferrer" inherit underline="always">
                    What to do
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
      {short(agent).map((what) => (
        <Alert key={what} color="orange" mx="md" mb="md" p="xs">
          {what}
        </Alert>
      ))}
      <Group px="md" pb="md" gap="xs">
        <Apps w={w} agent={agent} may={may} onPorts={onPorts} />
      </Group>
      <Devcontainers w={w} agent={agent} may={may} onPorts={onPorts} />
      {agent.status === 'connected' && <Metadata agent={agent} />}
      {agent.status !== 'connected' && may.update && isExternal(w, agent) && <External w={w} agent={agent} />}
      <Group px="md" pb="xs">
        <Button size="compact-xs" variant="subtle" onClick={() => setLog(!log)} aria-expanded={log}>
          {log ? 'Hide the log' : 'Show the log'}
        </Button>
        {agent.logs_length > 0 && <Download href={`/api/v2/workspaceagents/${agent.id}/logs?format=text`} name={`${w.name}-${agent.name}.log`} label={`Download the log of ${agent.name}`} />}
      </Group>
      {log && <AgentLog agent={agent} />}
    </Paper>
  );
}

/** What the template watches and there is too little of. */
function short(agent: Agent) {
  return (agent.resource_monitors ?? []).filter((m) => m.short).map((m) => (m.path ? `The volume of ${m.path} is ${m.percent} % full. The template warns from ${m.threshold} % on.` : `${m.percent} % of the memory is used. The template warns from ${m.threshold} % on.`));
}

function Metadata({ agent }: { agent: Agent }) {
  const data = useEvents<Schema<'WorkspaceAgentMetadata'>[]>(`/api/v2/workspaceagents/${agent.id}/watch-metadata`);
  if (!data || data.length === 0) return null;
  return (
    <SimpleGrid cols={{ base: 2, sm: 4, lg: 6 }} px="md" pb="md">
      {data.map((m) => (
        <Tooltip key={m.description.key} label={m.result.error || `collected ${new Date(m.result.collected_at).toLocaleTimeString()}`}>
          <div>
            <Text size="xs" c="dimmed">
              {m.description.display_name || m.description.key}
            </Text>
            <Text size="sm" c={m.result.error ? 'red' : undefined} truncate>
              {m.result.error ? 'failed' : m.result.value || '…'}
            </Text>
          </div>
        </Tooltip>
      ))}
    </SimpleGrid>
  );
}

function Resources({ rows }: { rows: Schema<'WorkspaceResource'>[] }) {
  const bare = rows.filter((r) => (r.agents ?? []).length === 0 || (r.metadata ?? []).length > 0);
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
      {bare.map((r) => (
        <Paper withBorder p="md" key={r.id}>
          <Group gap="xs" wrap="nowrap">
            <Icon src={r.icon} name={r.type} />
            <div>
              <Text fw={600}>{r.name}</Text>
              <Text size="xs" c="dimmed">
                {r.type}
                {r.daily_cost > 0 && ` · ${r.daily_cost} credits a day`}
              </Text>
            </div>
          </Group>
          {(r.metadata ?? []).map((m) => (
            <Group key={m.key} justify="space-between" mt={6} wrap="nowrap">
              <Text size="sm" c="dimmed">
                {m.key}
              </Text>
              {m.sensitive ? <Secret value={m.value} /> : <Text size="sm" truncate title={m.value}>{m.value}</Text>}
            </Group>
          ))}
        </Paper>
      ))}
    </SimpleGrid>
  );
}

function Secret({ value }: { value: string }) {
  const [shown, setShown] = useState(false);
  return (
    <Button size="compact-xs" variant="subtle" onClick={() => setShown(!shown)}>
      {shown ? value : 'show'}
    </Button>
  );
}
