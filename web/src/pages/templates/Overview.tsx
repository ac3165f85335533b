import { Badge, Grid, Group, Paper, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { api } from '../../api/client';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { RelativeTime, formatDuration } from '../../components/time';
import { Prebuilds } from './Prebuilds';
import { type Template, versionQuery } from './queries';
import { formatCount } from '../../lib/text';
import { lazyComponent } from '../../components/lazyComponent';

const Markdown = lazyComponent(() => import('../../components/Markdown'));

/** The README, facts and resources of a template. */
export function TemplateOverview({ template }: { template: Template }) {
  const version = useQuery(versionQuery(template.active_version_id));
  return (
    <Grid>
      <Grid.Col span={{ base: 12, md: 8 }}>
        <Paper withBorder p="md">
          <ErrorAlert error={version.error} />
          {version.isPending && <Loading />}
          {version.data?.readme.trim() && (
            <Suspense fallback={<Loading />}>
              <Markdown text={version.data.readme} />
            </Suspense>
          )}
          {version.data && !version.data.readme.trim() && (
            <Text c="dimmed" size="sm">
              This template has no README.md.
            </Text>
          )}
        </Paper>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <Stack>
          <TemplateFacts template={template} version={version.data?.name} />
          <Prebuilds template={template} />
          <VersionResources version={template.active_version_id} />
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

function TemplateFacts({ template, version }: { template: Template; version?: string }) {
  const start = template.build_time_stats.start;
  const rows: [string, React.ReactNode][] = [
    ['Active version', version],
    ['Used by', formatCount(template.active_user_count, 'developer')],
    [
      'Start time',
      start?.P50 ? `${formatDuration(start.P50)} (p95 ${formatDuration(start.P95 ?? start.P50)})` : undefined,
    ],
    ['Created by', template.created_by_name],
    ['Updated', <RelativeTime key="updated" at={template.updated_at} />],
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

/** The resources of a running workspace of the version. */
export function VersionResources({ version }: { version: string }) {
  const { data, error } = useQuery({
    queryKey: ['version', version, 'resources'],
    queryFn: () => api.get('/templateversions/{templateversion}/resources', { path: { templateversion: version } }),
  });
  const seen = (data ?? []).filter((resource) => !resource.hide && resource.workspace_transition === 'start');
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        Resources
      </Title>
      <ErrorAlert error={error} />
      {data && seen.length === 0 && (
        <Text size="sm" c="dimmed">
          No resources
        </Text>
      )}
      <Stack gap="xs">
        {seen.map((resource) => (
          <div key={resource.id}>
            <Group gap="xs" justify="space-between">
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                <b>{resource.name}</b> {resource.type}
              </Text>
              {resource.daily_cost > 0 && <Badge>{formatCount(resource.daily_cost, 'credit')} per day</Badge>}
            </Group>
            {resource.agents?.map((agent) => (
              <Text key={agent.id} size="sm" c="dimmed" pl="md">
                Agent {agent.name}
                {agent.apps.length > 0 && `: ${agent.apps.map((app) => app.display_name || app.slug).join(', ')}`}
              </Text>
            ))}
          </div>
        ))}
      </Stack>
    </Paper>
  );
}
