import { Anchor, Badge, Group, Paper, Stack, Table, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { api } from '../../api/client';
import { Loading } from '../../parts/Loading';
import { Pages } from '../../parts/Pages';
import { Refusal } from '../../parts/Refusal';
import { Moment, duration } from '../../parts/time';
import type { Build, Workspace } from './data';

const size = 25;
const colors: Record<string, string> = { succeeded: 'green', failed: 'red', canceled: 'orange', canceling: 'orange', running: 'blue', pending: 'yellow' };

/** The state of a build's job, in words and colour. */
export function JobBadge({ build }: { build: Build }) {
  return (
    <Badge variant="light" color={colors[build.job.status] ?? 'gray'}>
      {build.job.status}
    </Badge>
  );
}

/** How long a build took, "" while it runs. */
export function took({ job }: Build): string {
  return job.started_at && job.completed_at ? duration(Date.parse(job.completed_at) - Date.parse(job.started_at)) : '';
}

/** The history of a workspace. */
export function Builds({ w }: { w: Workspace }) {
  const { page = 1 } = useSearch({ from: '/shell/@{$owner}/$workspace' });
  const navigate = useNavigate({ from: '/@{$owner}/$workspace' });
  const { data, error } = useQuery({
    queryKey: ['builds', w.id, page],
    queryFn: () => api.get('/workspaces/{workspace}/builds', { path: { workspace: w.id }, query: { limit: size, offset: (page - 1) * size } }),
    placeholderData: keepPreviousData,
  });
  if (error) return <Refusal error={error} />;
  if (!data) return <Loading />;
  return (
    <Stack gap="xs">
      <Paper withBorder>
        <Table.ScrollContainer minWidth={560}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Build</Table.Th>
                <Table.Th>What</Table.Th>
                <Table.Th>Who</Table.Th>
                <Table.Th>Version</Table.Th>
                <Table.Th>When</Table.Th>
                <Table.Th>Took</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.map((b) => (
                <Table.Tr key={b.id}>
                  <Table.Td>
                    <Anchor component={Link} to={`/@${w.owner_name}/${w.name}/builds/${b.build_number}`}>
                      #{b.build_number}
                    </Anchor>
                  </Table.Td>
                  <Table.Td>
                    <Group gap="xs" wrap="nowrap">
                      {b.transition} <JobBadge build={b} />
                    </Group>
                  </Table.Td>
                  <Table.Td>
                    {b.initiator_name}
                    {b.reason !== 'initiator' && (
                      <Text span size="xs" c="dimmed">
                        {' '}
                        ({b.reason})
                      </Text>
                    )}
                  </Table.Td>
                  <Table.Td>{b.template_version_name}</Table.Td>
                  <Table.Td>
                    <Moment at={b.created_at} />
                  </Table.Td>
                  <Table.Td>{took(b)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Paper>
      <Pages rows={data.length} size={size} page={page} of="builds" onPage={(n) => navigate({ search: (s) => ({ ...s, page: n }) })} />
    </Stack>
  );
}
