import { Alert, Anchor, Grid, Group, Paper, Select, Stack, Table, Text, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { useLive } from '../../api/live';
import { Download } from '../../parts/Download';
import { Loading } from '../../parts/Loading';
import { JobLog } from '../../parts/Log';
import { Page } from '../../parts/Page';
import { Pending } from '../../parts/Pending';
import { Refusal } from '../../parts/Refusal';
import { Moment } from '../../parts/time';
import { JobBadge, took } from './Builds';
import { Timings } from './Timings';
import { type Build as B, buildValues } from './data';

const at = (owner: string, workspace: string, number: number) => ({
  queryKey: ['build', owner, workspace, number],
  queryFn: () =>
    api.get('/users/{user}/workspace/{workspacename}/builds/{buildnumber}', { path: { user: owner, workspacename: workspace, buildnumber: String(number) } }),
});

/** One build: its log, how long what took, and what it changed. */
export default function Build() {
  const { owner, workspace, number } = useParams({ from: '/shell/@{$owner}/$workspace/builds/$number' });
  const { data: b, error } = useQuery(at(owner, workspace, Number(number)));
  useLive(b ? [`workspace/${b.workspace_id}`, `job/${b.job.id}`] : [], ['build', owner, workspace, Number(number)]);
  const title = `${workspace} #${number}`;
  if (error) {
    return (
      <Page title={title}>
        <Refusal error={error} />
      </Page>
    );
  }
  if (!b) return <Loading />;
  return (
    <Page
      title={title}
      hint={
        <Group gap="xs">
          <Anchor component={Link} to={`/@${owner}/${workspace}`} size="sm">
            Back to the workspace
          </Anchor>
          <JobBadge build={b} />
          <span>
            {b.transition} by {b.initiator_name}, <Moment at={b.created_at} /> {took(b) && `· took ${took(b)}`}
          </span>
        </Group>
      }
    >
      <Stack>
        <Pending job={b.job} />
        {b.job.error && (
          <Alert color="red" title="The build failed">
            <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
              {b.job.error}
            </Text>
          </Alert>
        )}
        <Grid>
          <Grid.Col span={{ base: 12, md: 8 }}>
            <Paper withBorder>
              {b.job.completed_at && (
                <Group justify="flex-end" p={4}>
                  <Download href={`/api/v2/workspacebuilds/${b.id}/logs?format=text`} name={`${workspace}-${number}.log`} label="Download the log" />
                </Group>
              )}
              <JobLog url={`/api/v2/workspacebuilds/${b.id}/logs`} failed={b.job.status === 'failed'} />
            </Paper>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 4 }}>
            <Stack>
              <Changes key={b.id} owner={owner} workspace={workspace} b={b} />
              {b.job.completed_at && <Timings build={b.id} />}
            </Stack>
          </Grid.Col>
        </Grid>
      </Stack>
    </Page>
  );
}

/** What is different from another build, by default the one before: version and parameter values. */
function Changes({ owner, workspace, b }: { owner: string; workspace: string; b: B }) {
  const [since, setSince] = useState<number>();
  const base = since ?? b.build_number - 1;
  const former = useQuery({ ...at(owner, workspace, base), enabled: base > 0, placeholderData: keepPreviousData });
  const now = useQuery(buildValues(b.id));
  const then = useQuery({ ...buildValues(former.data?.id ?? ''), enabled: former.data !== undefined, placeholderData: keepPreviousData });
  if (former.error) return <Refusal error={former.error} />;
  if (base < 1 || !former.data || !now.data || !then.data) return null;
  const old = new Map(then.data.map((v) => [v.name, v.value]));
  const rows: [string, string | undefined, string | undefined][] = [];
  if (former.data.template_version_name !== b.template_version_name) rows.push(['template version', former.data.template_version_name, b.template_version_name]);
  for (const v of now.data) {
    if (old.get(v.name) !== v.value) rows.push([v.name, old.get(v.name), v.value]);
    old.delete(v.name);
  }
  for (const [name, value] of old) rows.push([name, value, undefined]);
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h3">
          Changed
        </Title>
        <Select
          w={150}
          size="xs"
          aria-label="Compared with"
          searchable
          allowDeselect={false}
          data={Array.from({ length: Math.min(b.build_number - 1, 200) }, (_, i) => b.build_number - 1 - i).map((n) => ({ value: String(n), label: `since #${n}` }))}
          value={String(base)}
          onChange={(n) => setSince(Number(n))}
        />
      </Group>
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          Neither version nor parameters.
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
