import { Anchor, Box, Group, Paper, SimpleGrid, Stack, Table, Text, Title, Tooltip } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client';
import { useLive } from '../../api/live';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { Moment } from '../../parts/time';
import { Prebuilds } from './Prebuilds';
import { bytes } from './numbers';

/** A glance: workspaces, connections, who uses it, which servers there are. */
export function Overview() {
  const stats = useQuery({ queryKey: ['deployment-stats'], queryFn: () => api.get('/deployment/stats') });
  const replicas = useQuery({ queryKey: ['replicas'], queryFn: () => api.get('/replicas') });
  useLive(['workspace', 'agent'], ['deployment-stats']);
  if (stats.isPending) return <Loading />;
  const { workspaces: w, session_count: s, aggregated_from: since } = stats.data ?? {};
  return (
    <Stack>
      <Refusal error={stats.error ?? replicas.error} />
      {w && s && since && (
        <>
          <SimpleGrid cols={{ base: 2, sm: 5 }}>
            <Figure label="Running" value={w.running} q="status:running" />
            <Figure label="Building" value={w.building} q="status:starting" />
            <Figure label="Pending" value={w.pending} q="status:pending" />
            <Figure label="Failed" value={w.failed} q="status:failed" />
            <Figure label="Stopped" value={w.stopped} q="status:stopped" />
          </SimpleGrid>
          <SimpleGrid cols={{ base: 2, sm: 5 }}>
            <Figure label="SSH sessions" value={s.ssh} />
            <Figure label="VS Code" value={s.vscode} />
            <Figure label="JetBrains" value={s.jetbrains} />
            <Figure label="Web terminals" value={s.reconnecting_pty} />
            <Figure label="Latency p50 / p95" value={w.connection_latency_ms.p50 < 0 ? '–' : `${w.connection_latency_ms.p50.toFixed(1)} / ${w.connection_latency_ms.p95.toFixed(1)} ms`} />
          </SimpleGrid>
          <Text size="xs" c="dimmed">
            Received {bytes(w.rx_bytes)}, sent {bytes(w.tx_bytes)} since <Moment at={since} />. Everything is exported to Prometheus too.
          </Text>
        </>
      )}
      <Users />
      <Prebuilds />
      <Paper withBorder p="md">
        <Title order={2} mb="xs">
          Servers
        </Title>
        <Table.ScrollContainer minWidth={480}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Host</Table.Th>
                <Table.Th>Relay address</Table.Th>
                <Table.Th>Database</Table.Th>
                <Table.Th>Started</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {replicas.data?.map((r) => (
                <Table.Tr key={r.id}>
                  <Table.Td>{r.hostname}</Table.Td>
                  <Table.Td>{r.relay_address || '–'}</Table.Td>
                  <Table.Td>{r.error || (r.database_latency > 0 ? `${(r.database_latency / 1e6).toFixed(1)} ms` : '–')}</Table.Td>
                  <Table.Td>
                    <Moment at={r.created_at} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Paper>
    </Stack>
  );
}

function Figure({ label, value, q }: { label: string; value: number | string; q?: string }) {
  return (
    <Paper withBorder p="md">
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text size="xl" fw={600}>
        {q ? (
          <Anchor component={Link} to={`/workspaces?q=${encodeURIComponent(q)}`} inherit>
            {value}
          </Anchor>
        ) : (
          value
        )}
      </Text>
    </Paper>
  );
}

/** Who was here on each of the last days. */
function Users() {
  const offset = -new Date().getTimezoneOffset() / 60;
  const { data, error } = useQuery({ queryKey: ['daus', offset], queryFn: () => api.get('/insights/daus', { query: { tz_offset: Math.trunc(offset) } }) });
  const days = (data?.entries ?? []).slice(-60);
  const most = Math.max(1, ...days.map((d) => d.amount));
  return (
    <Paper withBorder p="md">
      <Title order={2} mb="xs">
        Users a day
      </Title>
      <Refusal error={error} />
      {data && days.length === 0 && (
        <Text size="sm" c="dimmed">
          Nobody has used a workspace yet.
        </Text>
      )}
      {days.length > 0 && (
        <>
          <Group h={120} gap={2} align="flex-end" wrap="nowrap" role="img" aria-label={`Users a day, ${days[0]?.date} to ${days.at(-1)?.date}: at most ${most}`}>
            {days.map((d) => (
              <Tooltip key={d.date} label={`${d.date}: ${d.amount}`}>
                <Box flex={1} maw={28} h={`${Math.max(2, (100 * d.amount) / most)}%`} bg="brand" style={{ borderRadius: 2 }} />
              </Tooltip>
            ))}
          </Group>
          <Group justify="space-between" mt={4}>
            <Text size="xs" c="dimmed">
              {days[0]?.date}
            </Text>
            <Text size="xs" c="dimmed">
              {days.at(-1)?.date}
            </Text>
          </Group>
        </>
      )}
    </Paper>
  );
}
