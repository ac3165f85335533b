import { Group, Paper, Progress, SegmentedControl, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client';
import { BarChart } from '../../components/BarChart';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { parseList } from '../../lib/parameter';
import { formatDuration } from '../../components/time';
import type { Template } from './queries';
import { day, hour } from './settingsForm';
import { formatCount } from '../../lib/text';

/** Returns a parameter value for display: a list by its items. */
const formatValue = (value: string): string =>
  parseList(value)?.join(', ') || (value === '[]' ? '' : value) || '(empty)';

/** Usage of the template: active users, apps, latency and parameters. */
export default function Insights({ template }: { template: Template }) {
  const [span, setSpan] = useState('7');
  const [now] = useState(() => Date.now());
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const end = Math.floor(now / hour) * hour + hour;
  const query = {
    start_time: new Date(midnight - (Number(span) - 1) * day).toISOString(),
    end_time: new Date(end).toISOString(),
    template_ids: template.id,
  };
  const options = { staleTime: 5 * 60_000 };
  const use = useQuery({
    queryKey: ['insights', 'templates', query],
    queryFn: () => api.get('/insights/templates', { query: { ...query, interval: 'day' } }),
    ...options,
  });
  const activity = useQuery({
    queryKey: ['insights', 'activity', query],
    queryFn: () => api.get('/insights/user-activity', { query }),
    ...options,
  });
  const latency = useQuery({
    queryKey: ['insights', 'latency', query],
    queryFn: () => api.get('/insights/user-latency', { query }),
    ...options,
  });
  const error = use.error ?? activity.error ?? latency.error;
  if (error) return <ErrorAlert error={error} />;
  if (!use.data || !activity.data || !latency.data) return <Loading />;
  const away = new Map(latency.data.report.users.map((u) => [u.user_id, u.latency_ms]));
  const apps = use.data.report.apps_usage.filter((a) => a.seconds > 0);
  return (
    <Stack>
      <Group>
        <SegmentedControl
          aria-label="Days"
          value={span}
          onChange={setSpan}
          data={[
            { value: '7', label: 'Last 7 days' },
            { value: '30', label: 'Last 30 days' },
          ]}
        />
        <Text size="sm">{formatCount(use.data.report.active_users, 'active user')}</Text>
      </Group>
      <DailyActiveUsers
        days={use.data.interval_reports.map((r) => ({
          date: new Date(r.start_time).toLocaleDateString(undefined, { month: 'short', day: 'numeric' }),
          users: r.active_users,
        }))}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <InsightCard title="App usage" none={apps.length === 0}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>App</Table.Th>
                <Table.Th>Time</Table.Th>
                <Table.Th>Sessions</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {apps.map((a) => (
                <Table.Tr key={`${a.type} ${a.slug}`}>
                  <Table.Td>{a.display_name || a.slug}</Table.Td>
                  <Table.Td>{formatDuration(a.seconds * 1000)}</Table.Td>
                  <Table.Td>{a.times_used || '–'}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </InsightCard>
        <InsightCard title="User activity" none={activity.data.report.users.length === 0}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>User</Table.Th>
                <Table.Th>Active time</Table.Th>
                <Table.Th>Latency</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {activity.data.report.users.map((u) => (
                <Table.Tr key={u.user_id}>
                  <Table.Td>{u.username}</Table.Td>
                  <Table.Td>{formatDuration(u.seconds * 1000)}</Table.Td>
                  <Table.Td>{away.has(u.user_id) ? `${away.get(u.user_id)?.p50.toFixed(1)} ms` : '–'}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </InsightCard>
        {use.data.report.parameters_usage.map((p) => {
          const all = Math.max(
            1,
            p.values.reduce((n, v) => n + v.count, 0),
          );
          return (
            <InsightCard key={p.name} title={p.display_name || p.name} none={p.values.length === 0}>
              <Stack gap="xs">
                {p.values.slice(0, 10).map((v) => (
                  <div key={v.value}>
                    <Group justify="space-between" wrap="nowrap">
                      <Text size="sm" lineClamp={1} style={{ overflowWrap: 'anywhere' }}>
                        {p.options.find((o) => o.value === v.value)?.name || formatValue(v.value)}
                      </Text>
                      <Text size="sm">{v.count}</Text>
                    </Group>
                    <Progress value={(100 * v.count) / all} aria-label={`${v.count} of ${all} builds`} />
                  </div>
                ))}
              </Stack>
            </InsightCard>
          );
        })}
      </SimpleGrid>
    </Stack>
  );
}

function InsightCard({ title, none, children }: { title: string; none: boolean; children: React.ReactNode }) {
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        {title}
      </Title>
      {none ? (
        <Text size="sm" c="dimmed">
          No data for this period
        </Text>
      ) : (
        children
      )}
    </Paper>
  );
}

function DailyActiveUsers({ days }: { days: { date: string; users: number }[] }) {
  return (
    <InsightCard title="Daily active users" none={days.length === 0}>
      <BarChart
        title="Active users"
        unit="Date"
        measure="users"
        bars={days.map((d) => ({ label: d.date, value: d.users }))}
      />
    </InsightCard>
  );
}
