import { Anchor, Paper, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { BarChart } from '../../components/BarChart';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { RelativeTime } from '../../components/time';
import { formatDay } from '../../insights/days';
import { PrebuildSettings, prebuildSettings } from './Prebuilds';
import { formatBytes } from './format';

/** Usage at a glance: workspaces, sessions, daily active users and replicas. */
export function DeploymentOverview() {
  const stats = useQuery({ queryKey: ['deployment-stats'], queryFn: () => api.get('/deployment/stats') });
  const replicas = useQuery({ queryKey: ['replicas'], queryFn: () => api.get('/replicas') });
  const days = useQuery(dailyActiveUsers());
  const prebuilds = useQuery(prebuildSettings);
  useLiveUpdates(['workspace', 'agent'], ['deployment-stats']);
  // One after the other, they would move each other.
  if ([stats, replicas, days, prebuilds].some((query) => query.isPending)) return <Loading />;
  const { workspaces: w, session_count: s, aggregated_from: since } = stats.data ?? {};
  return (
    <Stack>
      <ErrorAlert error={stats.error ?? replicas.error} />
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
            <Figure
              label="Latency p50 / p95"
              value={
                w.connection_latency_ms.P50 < 0
                  ? '–'
                  : `${w.connection_latency_ms.P50.toFixed(1)} / ${w.connection_latency_ms.P95.toFixed(1)} ms`
              }
            />
          </SimpleGrid>
          <Text size="xs" c="dimmed">
            Received {formatBytes(w.rx_bytes)}, sent {formatBytes(w.tx_bytes)} since <RelativeTime at={since} />. These
            values are also exported as Prometheus metrics.
          </Text>
        </>
      )}
      <DailyActiveUsers />
      <PrebuildSettings />
      <Paper withBorder p="md">
        <Title order={2} mb="xs">
          Replicas
        </Title>
        <Table.ScrollContainer minWidth={480}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Host</Table.Th>
                <Table.Th>Relay address</Table.Th>
                <Table.Th>Database latency</Table.Th>
                <Table.Th>Started</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {replicas.data?.map((replica) => (
                <Table.Tr key={replica.id}>
                  <Table.Td>{replica.hostname}</Table.Td>
                  <Table.Td>{replica.relay_address || '–'}</Table.Td>
                  <Table.Td>
                    {replica.error ||
                      (replica.database_latency > 0 ? `${(replica.database_latency / 1e6).toFixed(1)} ms` : '–')}
                  </Table.Td>
                  <Table.Td>
                    <RelativeTime at={replica.created_at} />
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

function dailyActiveUsers() {
  const offset = Math.trunc(-new Date().getTimezoneOffset() / 60);
  return queryOptions({
    queryKey: ['daus', offset],
    queryFn: () => api.get('/insights/daus', { query: { tz_offset: offset } }),
  });
}

/** Daily active users of the last 60 days. */
function DailyActiveUsers() {
  const { data, error } = useQuery(dailyActiveUsers());
  const days = (data?.entries ?? []).slice(-60);
  return (
    <Paper withBorder p="md">
      <Title order={2} mb="xs">
        Daily active users
      </Title>
      <ErrorAlert error={error} />
      {data && days.length === 0 && (
        <Text size="sm" c="dimmed">
          No activity yet
        </Text>
      )}
      {days.length > 0 && (
        <BarChart
          title="Active users"
          unit="Date"
          measure="users"
          bars={days.map((day) => ({ label: formatDay(day.date), value: day.amount }))}
        />
      )}
    </Paper>
  );
}
