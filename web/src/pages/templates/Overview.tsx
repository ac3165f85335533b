import { Badge, Grid, Group, Paper, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense, lazy } from 'react';
import { api } from '../../api/client';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { Moment, duration } from '../../parts/time';
import { Prebuilds } from './Prebuilds';
import { type Template, versionQuery } from './data';
import { plural } from '../../parts/plural';

const Readme = lazy(() => import('./Markdown'));

/** What the template says of itself, what it makes, and how it does. */
export function Overview({ t }: { t: Template }) {
  const version = useQuery(versionQuery(t.active_version_id));
  return (
    <Grid>
      <Grid.Col span={{ base: 12, md: 8 }}>
        <Paper withBorder p="md">
          <Refusal error={version.error} />
          {version.isPending && <Loading />}
          {version.data?.readme.trim() && (
            <Suspense fallback={<Loading />}>
              <Readme text={version.data.readme} />
            </Suspense>
          )}
          {version.data && !version.data.readme.trim() && (
            <Text c="dimmed" size="sm">
              This template has no README. A file README.md beside its main.tf is shown here.
            </Text>
          )}
        </Paper>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <Stack>
          <Facts t={t} version={version.data?.name} />
          <Prebuilds t={t} />
          <Resources version={t.active_version_id} />
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

function Facts({ t, version }: { t: Template; version?: string }) {
  const start = t.build_time_stats.start;
  const rows: [string, React.ReactNode][] = [
    ['Active version', version],
    ['Used by', plural(t.active_user_count, 'developer')],
    ['A start takes', start?.p50 ? `${duration(start.p50)}, ${duration(start.p95 ?? start.p50)} at the 95th percentile` : undefined],
    ['Made by', t.created_by_name],
    ['Updated', <Moment key="updated" at={t.updated_at} />],
  ];
  return (
    <Paper withBorder p="md">
      <Table withRowBorders={false} verticalSpacing={4} highlightOnHover={false}>
        <Table.Tbody>
          {rows
            .filter(([, value]) => value)
            .map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Th w={130}>{name}</Table.Th>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
              </Table.Tr>
            ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

/** What a workspace of the version is made of. */
export function Resources({ version }: { version: string }) {
  const { data, error } = useQuery({
    queryKey: ['version', version, 'resources'],
    queryFn: () => api.get('/templateversions/{templateversion}/resources', { path: { templateversion: version } }),
  });
  const seen = (data ?? []).filter((r) => !r.hide && r.workspace_transition === 'start');
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        Resources
      </Title>
      <Refusal error={error} />
      {data && seen.length === 0 && (
        <Text size="sm" c="dimmed">
          A workspace of it has no resources.
        </Text>
      )}
      <Stack gap="xs">
        {seen.map((r) => (
          <div key={r.id}>
            <Group gap="xs" justify="space-between">
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                <b>{r.name}</b> {r.type}
              </Text>
              {r.daily_cost > 0 && <Badge variant="light">{r.daily_cost} a day</Badge>}
            </Group>
            {r.agents?.map((a) => (
              <Text key={a.id} size="sm" c="dimmed" pl="md">
                agent {a.name}
                {a.apps.length > 0 && `, with ${a.apps.map((p) => p.display_name || p.slug).join(', ')}`}
              </Text>
            ))}
          </div>
        ))}
      </Stack>
    </Paper>
  );
}
