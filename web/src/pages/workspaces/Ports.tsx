import { Alert, Anchor, Autocomplete, Button, Group, Paper, Select, Stack, Table, Text, Title } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { useRegions } from '../../api/region';
import { Copy } from '../../parts/Copy';
import { Loading } from '../../parts/Loading';
import { Refusal, fieldError } from '../../parts/Refusal';
import { Sheet } from '../../parts/Sheet';
import { complain, praise } from '../../parts/confirm';
import { type Agent, type Rights, type Workspace, agentsOf, templateQuery } from './data';
import { type Level, type Protocol, atMost, levelName, levelsUpTo, portHref, readPort } from './ports';

type Share = Schema<'WorkspaceAgentPortShare'>;

const protocols = [
  { value: 'http', label: 'HTTP' },
  { value: 'https', label: 'HTTPS' },
];

/** The ports of a workspace: what listens, and who else may open it. */
export function Ports({ w, may }: { w: Workspace; may: Rights }) {
  const client = useQueryClient();
  const path = { workspace: w.id };
  const list = useQuery({ queryKey: ['ports', w.id], queryFn: () => api.get('/workspaces/{workspace}/port-share', { path }) });
  const template = useQuery(templateQuery(w.template_id));
  const regions = useRegions();
  useLive([`workspace/${w.id}`, 'template'], ['ports', w.id], ['template', w.template_id]);
  const again = () => client.invalidateQueries({ queryKey: ['ports', w.id] });
  const share = useMutation({
    mutationFn: (body: Omit<Share, 'workspace_id'>) => api.post('/workspaces/{workspace}/port-share', { path, body }),
    onSuccess: again,
  });
  const unshare = useMutation({
    mutationFn: ({ agent_name, port }: Share) => api.delete('/workspaces/{workspace}/port-share', { path, body: { agent_name, port } }),
    onSuccess: async (_, s) => {
      await again();
      praise(`Port ${s.port} is shared no longer; what was open is closed`);
    },
    onError: complain,
  });
  const error = list.error ?? template.error ?? regions.error;
  if (error) return <Refusal error={error} />;
  if (!list.data || !template.data || !regions.ready) return <Loading />;
  const agents = agentsOf(w);
  const most = template.data.max_port_share_level;
  const href = (agent: string, port: number, protocol: Protocol) =>
    portHref(regions.place.host, port, protocol, { owner: w.owner_name, workspace: w.name, agent, only: agents.length === 1 }, regions.place.protocol);
  return (
    <Stack maw={860}>
      {regions.place.host === '' && (
        <Alert color="gray" title="Ports cannot be opened in a browser on this deployment">
          It has no host names for them; its administrator can give it some with --wildcard-access-url. From a terminal, coder port-forward opens them.
        </Alert>
      )}
      {may.ssh && agents.filter((a) => a.status === 'connected').map((a) => <Listening key={a.id} agent={a} alone={agents.length === 1} href={href} />)}
      <Paper withBorder p="md">
        <Stack>
          <Title order={2} size="h3">
            Shared
          </Title>
          <Text size="sm">
            {most === 'owner'
              ? 'The template lets nobody else open ports. Its administrators can raise that in its settings.'
              : 'Whoever may open a port uses what answers there, with all that it may do in the workspace.'}
          </Text>
          {list.data.shares.length === 0 && <Text c="dimmed">No port is shared.</Text>}
          {list.data.shares.length > 0 && (
            <Shares
              shares={list.data.shares}
              most={most}
              change={may.update}
              href={href}
              onLevel={(s, share_level) => share.mutate({ ...s, share_level }, { onError: complain })}
              onRemove={(s) => unshare.mutate(s)}
            />
          )}
          {may.update && most !== 'owner' && agents.length > 0 && (
            <Add agents={agents} most={most} ask={may.ssh} error={share.error} pending={share.isPending} onShare={(s, done) => share.mutate(s, { onSuccess: done })} />
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
  onLevel: (s: Share, level: Level) => void;
  onRemove: (s: Share) => void;
}

function Shares({ shares, most, change, href, onLevel, onRemove }: SharesProps) {
  return (
    <Sheet heads={['Port', 'Agent', 'Who may open it']} actions={150} minWidth={560}>
          {shares.map((s) => {
            const at = href(s.agent_name, s.port, s.protocol);
            const counts = atMost(s.share_level, most);
            return (
              <Table.Tr key={`${s.agent_name} ${s.port}`}>
                <Table.Td>
                  <Address at={at} port={s.port} />{' '}
                  {s.protocol === 'https' && (
                    <Text span size="xs" c="dimmed">
                      HTTPS
                    </Text>
                  )}
                </Table.Td>
                <Table.Td>{s.agent_name}</Table.Td>
                <Table.Td>
                  {change && most !== 'owner' ? (
                    <Select size="xs" allowDeselect={false} aria-label={`Who may open port ${s.port}`} data={levelsUpTo(most)} value={counts} onChange={(l) => onLevel(s, l as Level)} />
                  ) : (
                    levelName(counts)
                  )}
                  {counts !== s.share_level && (
                    <Text size="xs" c="dimmed">
                      It was shared more widely; the template does not let it be any more.
                    </Text>
                  )}
                </Table.Td>
                <Table.Td>
                  <Group gap={4} wrap="nowrap" justify="flex-end">
                    {at && <Copy text={at} label={`Copy the address of port ${s.port}`} />}
                    {change && (
                      <Button size="compact-sm" variant="subtle" color="red" aria-label={`Stop sharing port ${s.port}`} onClick={() => onRemove(s)}>
                        Stop
                      </Button>
                    )}
                  </Group>
                </Table.Td>
              </Table.Tr>
            );
          })}
    </Sheet>
  );
}

function Address({ at, port }: { at: string | undefined; port: number }) {
  if (!at) return <b>{port}</b>;
  return (
    <Anchor href={at} target="_blank" rel="noreferrer" fw={600} underline="always" aria-label={`Open port ${port}`}>
      {port}
    </Anchor>
  );
}

const listening = (agent: string) => ({
  queryKey: ['listening', agent],
  queryFn: () => api.get('/workspaceagents/{workspaceagent}/listening-ports', { path: { workspaceagent: agent } }),
  staleTime: 0, // nobody says when a program begins to listen
});

/** What listens in the workspace now. */
function Listening({ agent, alone, href }: { agent: Agent; alone: boolean; href: SharesProps['href'] }) {
  const { data, error, isFetching, refetch } = useQuery(listening(agent.id));
  return (
    <Paper withBorder p="md">
      <Group justify="space-between">
        <Title order={2} size="h3">
          Listening{!alone && ` on ${agent.name}`}
        </Title>
        <Button size="compact-sm" variant="subtle" leftSection={<IconRefresh size={14} />} loading={isFetching} onClick={() => refetch()} aria-label={`Look again what listens on ${agent.name}`}>
          Look again
        </Button>
      </Group>
      <Refusal error={error} />
      {data?.ports.length === 0 && (
        <Text size="sm" c="dimmed">
          Nothing listens. Start a program that does, and look again.
        </Text>
      )}
      <Group gap="lg" mt="xs">
        {data?.ports.map((p) => (
          <Text size="sm" key={`${p.network} ${p.port}`}>
            <Address at={href(agent.name, p.port, 'http')} port={p.port} /> {p.process_name}
          </Text>
        ))}
      </Group>
    </Paper>
  );
}

interface AddProps {
  agents: Agent[];
  most: Level;
  /** Whether to ask the agents what listens. */
  ask: boolean;
  error: Error | null;
  pending: boolean;
  onShare: (s: Omit<Share, 'workspace_id'>, done: () => void) => void;
}

function Add({ agents, most, ask, error, pending, onShare }: AddProps) {
  const [name, setName] = useState<string>();
  const agent = agents.find((a) => a.name === name) ?? agents[0];
  const offered = useQuery({ ...listening(agent?.id ?? ''), enabled: ask && agent?.status === 'connected' });
  const [port, setPort] = useState('');
  const [protocol, setProtocol] = useState<string>('http');
  const [level, setLevel] = useState<Level>(most);
  const [tried, setTried] = useState(false);
  const number = readPort(port);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setTried(true);
    if (!agent || number === undefined) return;
    onShare({ agent_name: agent.name, port: number, protocol: protocol as Protocol, share_level: atMost(level, most) }, () => {
      setTried(false);
      setPort('');
    });
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="xs">
        <Refusal error={error} />
        <Group align="flex-start">
          {agents.length > 1 && <Select w={150} label="Agent" allowDeselect={false} data={agents.map((a) => a.name)} value={agent?.name ?? null} onChange={(a) => setName(a ?? undefined)} />}
          <Autocomplete
            w={150}
            label="Port"
            inputMode="numeric"
            data={[...new Set(offered.data?.ports.map((p) => String(p.port)))]}
            value={port}
            onChange={setPort}
            error={fieldError(error, 'port') ?? (tried && number === undefined ? 'Give a port from 9 to 65535.' : undefined)}
          />
          <Select w={110} label="Speaks" allowDeselect={false} data={protocols} value={protocol} onChange={(p) => setProtocol(p ?? 'http')} />
          <Select flex={1} miw={230} label="Who may open it" allowDeselect={false} data={levelsUpTo(most).slice(1)} value={atMost(level, most)} onChange={(l) => setLevel(l as Level)} />
        </Group>
        <Group>
          <Button type="submit" loading={pending}>
            Share
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
