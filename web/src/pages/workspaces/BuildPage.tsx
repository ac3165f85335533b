import { Anchor, Grid, Group, Paper, Select, Stack, Table, Text, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { DownloadLink } from '../../components/DownloadLink';
import { JobBadge } from '../../components/JobBadge';
import { Loading } from '../../components/Loading';
import { JobLog } from '../../components/Log';
import { Page } from '../../components/Page';
import { PendingJob } from '../../components/PendingJob';
import { ErrorAlert } from '../../components/ErrorAlert';
import { capitalize } from '../../lib/text';
import { RelativeTime } from '../../components/time';
import { buildDuration } from './BuildList';
import { BuildTimeline } from './BuildTimeline';
import { FailedBuild } from './FailedBuild';
import { type Build as B, buildParametersQuery, useWorkspaceRights, workspaceQuery } from './queries';

const buildQuery = (owner: string, workspace: string, number: number) => ({
  queryKey: ['build', owner, workspace, number],
  queryFn: () =>
    api.get('/users/{user}/workspace/{workspacename}/builds/{buildnumber}', {
      path: { user: owner, workspacename: workspace, buildnumber: String(number) },
    }),
});

/** A workspace build: its log, timeline and changes. */
export default function BuildPage() {
  const { owner, workspace, number } = useParams({ from: '/shell/@{$owner}/$workspace/builds/$number' });
  const { data: build, error } = useQuery(buildQuery(owner, workspace, Number(number)));
  const found = useQuery(workspaceQuery(owner, workspace));
  const may = useWorkspaceRights(found.data);
  useLiveUpdates(
    build ? [`workspace/${build.workspace_id}`, `job/${build.job.id}`] : [],
    ['build', owner, workspace, Number(number)],
    ['workspace', owner, workspace],
  );
  const title = `${workspace} #${number}`;
  if (error) {
    return (
      <Page title={title}>
        <ErrorAlert error={error} />
      </Page>
    );
  }
  if (!build) return <Loading />;
  return (
    <Page
      title={title}
      hint={
        <Group gap="xs">
          <Anchor component={Link} to={`/@${owner}/${workspace}`} size="sm">
            Back to workspace
          </Anchor>
          <JobBadge status={build.job.status} />
          <span>
            {capitalize(build.transition)} by {build.initiator_name}, <RelativeTime at={build.created_at} />{' '}
            {buildDuration(build) && `· took ${buildDuration(build)}`}
          </span>
        </Group>
      }
    >
      <Stack>
        <PendingJob job={build.job} />
        {build.job.error && found.data && <FailedBuild workspace={found.data} build={build} may={may} />}
        <Grid>
          <Grid.Col span={{ base: 12, md: 8 }}>
            <Paper withBorder>
              {build.job.completed_at && (
                <Group justify="flex-end" p={4}>
                  <DownloadLink
                    href={`/api/v2/workspacebuilds/${build.id}/logs?format=text`}
                    name={`${workspace}-${number}.log`}
                    label="Download log"
                  />
                </Group>
              )}
              <JobLog url={`/api/v2/workspacebuilds/${build.id}/logs`} failed={build.job.status === 'failed'} />
            </Paper>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 4 }}>
            <Stack>
              <BuildChanges key={build.id} owner={owner} workspace={workspace} build={build} />
              {build.job.completed_at && <BuildTimeline build={build.id} />}
            </Stack>
          </Grid.Col>
        </Grid>
      </Stack>
    </Page>
  );
}

/** The changes of version and parameter values since another build, by default the previous one. */
function BuildChanges({ owner, workspace, build }: { owner: string; workspace: string; build: B }) {
  const [since, setSince] = useState<number>();
  const base = since ?? build.build_number - 1;
  const former = useQuery({
    ...buildQuery(owner, workspace, base),
    enabled: base > 0,
    placeholderData: keepPreviousData,
  });
  const now = useQuery(buildParametersQuery(build.id));
  const then = useQuery({
    ...buildParametersQuery(former.data?.id ?? ''),
    enabled: former.data !== undefined,
    placeholderData: keepPreviousData,
  });
  if (former.error) return <ErrorAlert error={former.error} />;
  if (base < 1 || !former.data || !now.data || !then.data) return null;
  const old = new Map(then.data.map((parameter) => [parameter.name, parameter.value]));
  const rows: [string, string | undefined, string | undefined][] = [];
  if (former.data.template_version_name !== build.template_version_name)
    rows.push(['Template version', former.data.template_version_name, build.template_version_name]);
  for (const parameter of now.data) {
    if (old.get(parameter.name) !== parameter.value)
      rows.push([parameter.name, old.get(parameter.name), parameter.value]);
    old.delete(parameter.name);
  }
  for (const [name, value] of old) rows.push([name, value, undefined]);
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h3">
          Changes
        </Title>
        <Select
          w={150}
          size="xs"
          aria-label="Compare with"
          searchable
          allowDeselect={false}
          data={Array.from({ length: Math.min(build.build_number - 1, 200) }, (_, i) => build.build_number - 1 - i).map(
            (n) => ({ value: String(n), label: `Build #${n}` }),
          )}
          value={String(base)}
          onChange={(n) => setSince(Number(n))}
        />
      </Group>
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          No changes
        </Text>
      ) : (
        <Table>
          <Table.Tbody>
            {rows.map(([name, from, to]) => (
              <Table.Tr key={name}>
                <Table.Td>{name}</Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  <del>{from ?? '—'}</del> <ins>{to ?? '—'}</ins>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Paper>
  );
}
