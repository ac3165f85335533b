import { Alert, Anchor, Autocomplete, Button, Group, Paper, Select, Stack, Table, Text, Title } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { useRegions } from '../../api/region';
import { Form } from '../../components/Form';
import { CopyIcon } from '../../components/CopyButton';
import { Loading } from '../../components/Loading';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { DataTable } from '../../components/DataTable';
import { notifyError, notifySuccess } from '../../components/confirm';
import { type Agent, type Rights, type Workspace, getAgents, templateQuery } from './queries';
import { type Level, type Protocol, limitLevel, getLevelLabel, listLevels, getPortURL, parsePort } from './ports';

type Share = Schema<'WorkspaceAgentPortShare'>;

const protocols = [
  { value: 'http', label: 'HTTP' },
  { value: 'https', label: 'HTTPS' },
];

/** The listening and shared ports of a workspace. */
export function WorkspacePorts({ workspace, may }: { workspace: Workspace; may: Rights }) {
  const client = useQueryClient();
  const path = { workspace: workspace.id };
  const list = useQuery({
    queryKey: ['ports', workspace.id],
    queryFn: () => api.get('/workspaces/{workspace}/port-share', { path }),
  });
  const template = useQuery(templateQuery(workspace.template_id));
  const regions = useRegions();
  useLiveUpdates(
    [`workspace/${workspace.id}`, 'template'],
    ['ports', workspace.id],
    ['template', workspace.template_id],
  );
  const again = () => client.invalidateQueries({ queryKey: ['ports', workspace.id] });
  const share = useMutation({
    mutationFn: (body: Omit<Share, 'workspace_id'>) => api.post('/workspaces/{workspace}/port-share', { path, body }),
    onSuccess: again,
  });
  const unshare = useMutation({
    mutationFn: ({ agent_name, port }: Share) =>
      api.delete('/workspaces/{workspace}/port-share', { path, body: { agent_name, port } }),
    onSuccess: async (_, s) => {
      await again();
      notifySuccess(`Stopped sharing port ${s.port}`);
    },
    onError: notifyError,
  });
  const error = list.error ?? template.error ?? regions.error;
  if (error) return <ErrorAlert error={error} />;
  if (!list.data || !template.data || !regions.ready) return <Loading />;
  const agents = getAgents(workspace);
  const most = template.data.max_port_share_level;
  const href = (agent: string, port: number, protocol: Protocol) =>
    getPortURL(
      regions.origin.host,
      port,
      protocol,
      { owner: workspace.owner_name, workspace: workspace.name, agent, only: agents.length === 1 },
      regions.origin.protocol,
    );
  return (
    <Stack maw={860}>
      {regions.origin.host === '' && (
        <Alert color="gray" title="Browser access to ports is not configured">
          Ask an admin of this deployment to configure a wildcard access URL.
        </Alert>
      )}
      {may.ssh &&
        agents
          .filter((agent) => agent.status === 'connected')
          .map((agent) => <ListeningPorts key={agent.id} agent={agent} alone={agents.length === 1} href={href} />)}
      <Paper withBorder p="md">
        <Stack>
          <Title order={2} size="h3">
            Shared ports
          </Title>
          <Text size="sm">
            {most === 'owner'
              ? 'The template does not allow port sharing. A template admin can change this in its settings.'
              : 'Users with access to a port can use the app behind it with all of its privileges in the workspace.'}
          </Text>
          {list.data.shares.length === 0 && <Text c="dimmed">No shared ports</Text>}
          {list.data.shares.length > 0 && (
            <SharedPorts
              shares={list.data.shares}
              most={most}
              change={may.update}
              href={href}
              onLevel={(s, share_level) => share.mutate({ ...s, share_level }, { onError: notifyError })}
              onRemove={(s) => unshare.mutate(s)}
            />
          )}
          {may.update && most !== 'owner' && agents.length > 0 && (
            <SharePortForm
              agents={agents}
              most={most}
              ask={may.ssh}
              error={share.error}
              pending={share.isPending}
              onShare={(s, done) => share.mutate(s, { onSuccess: done })}
            />
          )}
        </Stack>
      </Paper>
    </Stack>
  );
}

interface SharesProps {
  shares: Share[];
  most: Level;
  change: boolean;
  href: (agent: string, port: number, protocol: Protocol) => string | undefined;
  onLevel: (share: Share, level: Level) => void;
  onRemove: (share: Share) => void;
}

function SharedPorts({ shares, most, change, href, onLevel, onRemove }: SharesProps) {
  return (
    <DataTable headers={['Port', 'Agent', 'Sharing level']} actions={150} minWidth={560}>
      {shares.map((share) => {
        const at = href(share.agent_name, share.port, share.protocol);
        const counts = limitLevel(share.share_level, most);
        return (
          <Table.Tr key={`${share.agent_name} ${share.port}`}>
            <Table.Td>
              <PortLink at={at} port={share.port} />{' '}
              {share.protocol === 'https' && (
                <Text span size="xs" c="dimmed">
                  HTTPS
                </Text>
              )}
            </Table.Td>
            <Table.Td>{share.agent_name}</Table.Td>
            <Table.Td>
              {change && most !== 'owner' ? (
                <Select
                  size="xs"
                  allowDeselect={false}
                  aria-label={`Sharing level of port ${share.port}`}
                  data={listLevels(most)}
                  value={counts}
                  onChange={(l) => onLevel(share, l as Level)}
                />
              ) : (
                getLevelLabel(counts)
              )}
              {counts !== share.share_level && (
                <Text size="xs" c="dimmed">
                  Limited by the template
                </Text>
              )}
            </Table.Td>
            <Table.Td>
              <Group gap={4} wrap="nowrap" justify="flex-end">
                {at && <CopyIcon text={at} label={`Copy URL of port ${share.port}`} />}
                {change && (
                  <Button
                    size="compact-sm"
                    variant="subtle"
                    color="red"
                    aria-label={`Stop sharing port ${share.port}`}
                    onClick={() => onRemove(share)}
                  >
                    Stop sharing
                  </Button>
                )}
              </Group>
            </Table.Td>
          </Table.Tr>
        );
      })}
    </DataTable>
  );
}

function PortLink({ at, port }: { at: string | undefined; port: number }) {
  if (!at) return <b>{port}</b>;
  return (
    <Anchor href={at} target="_blank" rel="noreferrer" fw={600} underline="always" aria-label={`Open port ${port}`}>
      {port}
    </Anchor>
  );
}

const listeningPortsQuery = (agent: string) => ({
  queryKey: ['listening', agent],
  queryFn: () => api.get('/workspaceagents/{workspaceagent}/listening-ports', { path: { workspaceagent: agent } }),
  staleTime: 0, // agents do not report when a port opens
});

/** The listening ports of an agent. */
function ListeningPorts({ agent, alone, href }: { agent: Agent; alone: boolean; href: SharesProps['href'] }) {
  const { data, error, isFetching, refetch } = useQuery(listeningPortsQuery(agent.id));
  return (
    <Paper withBorder p="md">
      <Group justify="space-between">
        <Title order={2} size="h3">
          Listening ports{!alone && ` on ${agent.name}`}
        </Title>
        <Button
          size="compact-sm"
          variant="subtle"
          leftSection={<IconRefresh size={14} />}
          loading={isFetching}
          onClick={() => refetch()}
          aria-label={`Refresh ports of ${agent.name}`}
        >
          Refresh
        </Button>
      </Group>
      <ErrorAlert error={error} />
      {data?.ports.length === 0 && (
        <Text size="sm" c="dimmed">
          No listening ports
        </Text>
      )}
      <Group gap="lg" mt="xs">
        {data?.ports.map((listeningPort) => (
          <Text size="sm" key={`${listeningPort.network} ${listeningPort.port}`}>
            <PortLink at={href(agent.name, listeningPort.port, 'http')} port={listeningPort.port} />{' '}
            {listeningPort.process_name}
          </Text>
        ))}
      </Group>
    </Paper>
  );
}

interface AddProps {
  agents: Agent[];
  most: Level;
  /** Whether to suggest the listening ports. */
  ask: boolean;
  error: Error | null;
  pending: boolean;
  onShare: (s: Omit<Share, 'workspace_id'>, done: () => void) => void;
}

function SharePortForm({ agents, most, ask, error, pending, onShare }: AddProps) {
  const [name, setName] = useState<string>();
  const agent = agents.find((a) => a.name === name) ?? agents[0];
  const offered = useQuery({ ...listeningPortsQuery(agent?.id ?? ''), enabled: ask && agent?.status === 'connected' });
  const [port, setPort] = useState('');
  const [protocol, setProtocol] = useState<string>('http');
  const [level, setLevel] = useState<Level>(most);
  const [tried, setTried] = useState(false);
  const number = parsePort(port);
  const submit = () => {
    setTried(true);
    if (!agent || number === undefined) return false;
    onShare(
      { agent_name: agent.name, port: number, protocol: protocol as Protocol, share_level: limitLevel(level, most) },
      () => {
        setTried(false);
        setPort('');
      },
    );
  };
  return (
    <Form error={error} onSubmit={submit} noValidate>
      <Stack gap="xs">
        <ErrorAlert error={error} />
        <Group align="flex-start">
          {agents.length > 1 && (
            <Select
              w={150}
              label="Agent"
              allowDeselect={false}
              data={agents.map((a) => a.name)}
              value={agent?.name ?? null}
              onChange={(a) => setName(a ?? undefined)}
            />
          )}
          <Autocomplete
            w={150}
            label="Port"
            inputMode="numeric"
            data={[...new Set(offered.data?.ports.map((listeningPort) => String(listeningPort.port)))]}
            value={port}
            onChange={setPort}
            error={
              getFieldError(error, 'port') ??
              (tried && number === undefined ? 'Enter a port from 9 to 65535.' : undefined)
            }
          />
          <Select
            w={110}
            label="Protocol"
            allowDeselect={false}
            data={protocols}
            value={protocol}
            onChange={(p) => setProtocol(p ?? 'http')}
          />
          <Select
            flex={1}
            miw={230}
            label="Sharing level"
            allowDeselect={false}
            data={listLevels(most).slice(1)}
            value={limitLevel(level, most)}
            onChange={(l) => setLevel(l as Level)}
          />
        </Group>
        <Group>
          <Button type="submit" loading={pending}>
            Share
          </Button>
        </Group>
      </Stack>
    </Form>
  );
}
