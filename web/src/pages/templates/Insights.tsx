import { Box, Group, Paper, Progress, SegmentedControl, SimpleGrid, Stack, Table, Text, Title, Tooltip } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { duration } from '../../parts/time';
import type { Template } from './data';
import { day, hour } from './form';
import { plural } from '../../parts/plural';

/** Who uses the template, with what, and how far away they are. */
export default function Insights({ t }: { t: Template }) {
  const [span, setSpan] = useState('7');
  const [now] = useState(() => Date.now());
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const end = Math.floor(now / hour) * hour + hour;
  const query = { start_time: new Date(midnight - (Number(span) - 1) * day).toISOString(), end_time: new Date(end).toISOString(), template_ids: t.id };
  const options = { staleTime: 5 * 60_000 };
  const use = useQuery({ queryKey: ['insights', 'templates', query], queryFn: () => api.get('/insights/templates', { query: { ...query, interval: 'day' } }), ...options });
  const activity = useQuery({ queryKey: ['insights', 'activity', query], queryFn: () => api.get('/insights/user-activity', { query }), ...options });
  const latency = useQuery({ queryKey: ['insights', 'latency', query], queryFn: () => api.get('/insights/user-latency', { query }), ...options });
  const error = use.error ?? activity.error ?? latency.error;
  if (error) return <Refusal error={error} />;
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
        <Text size="sm">
          {plural(use.data.report.active_users, 'person', 'people')} worked with it.
        </Text>
      </Group>
      <Days days={use.data.interval_reports.map((r) => ({ date: new Date(r.start_time).toLocaleDateString(), users: r.active_users }))} />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Part title="Time in apps" none={apps.length === 0}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>App</Table.Th>
                <Table.Th>Time</Table.Th>
                <Table.Th>Times</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {apps.map((a) => (
                <Table.Tr key={`${a.type} ${a.slug}`}>
                  <Table.Td>{a.display_name || a.slug}</Table.Td>
                  <Table.Td>{duration(a.seconds * 1000)}</Table.Td>
                  <Table.Td>{a.times_used || '–'}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Part>
        <Part title="People" none={activity.data.report.users.length === 0}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>User</Table.Th>
                <Table.Th>Worked</Table.Th>
                <Table.Th>Latency</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {activity.data.report.users.map((u) => (
                <Table.Tr key={u.user_id}>
                  <Table.Td>{u.username}</Table.Td>
                  <Table.Td>{duration(u.seconds * 1000)}</Table.Td>
                  <Table.Td>{away.has(u.user_id) ? `${away.get(u.user_id)?.p50.toFixed(1)} ms` : '–'}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Part>
        {use.data.report.parameters_usage.map((p) => {
          const all = Math.max(1, p.values.reduce((n, v) => n + v.count, 0));
          return (
            <Part key={p.name} title={p.display_name || p.name} none={p.values.length === 0}>
              <Stack gap="xs">
                {p.values.slice(0, 10).map((v) => (
                  <div key={v.value}>
                    <Group justify="space-between" wrap="nowrap">
                      <Text size="sm" lineClamp={1} style={{ overflowWrap: 'anywhere' }}>
                        {p.options.find((o) => o.value === v.value)?.name || v.value || '(empty)'}
                      </Text>
                      <Text size="sm">{v.count}</Text>
                    </Group>
                    <Progress value={(100 * v.count) / all} aria-label={`${v.count} of ${all} builds`} />
                  </div>
                ))}
              </Stack>
            </Part>
          );
        })}
      </SimpleGrid>
    </Stack>
  );
}

function Part({ title, none, children }: { title: string; none: boolean; children: React.ReactNode }) {
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        {title}
      </Title>
      {none ? (
        <Text size="sm" c="dimmed">
          Nothing in this time.
        </Text>
      ) : (
        children
      )}
    </Paper>
  );
}

function Days({ days }: { days: { date: string; users: number }[] }) {
  const most = Math.max(1, ...days.map((d) => d.users));
  return (
    <Part title="People a day" none={days.length === 0}>
      <Group h={110} gap={3} align="flex-end" wrap="nowrap" role="img" aria-label={days.map((d) => `${d.date}: ${d.users}`).join(', ')}>
        {days.map((d) => (
          <Tooltip key={d.date} label={`${d.date}: ${d.users}`}>
            <Box flex={1} maw={36} h={`${Math.max(2, (100 * d.users) / most)}%`} bg="brand" style={{ borderRadius: 2 }} />
          </Tooltip>
        ))}
      </Group>
    </Part>
  );
}
