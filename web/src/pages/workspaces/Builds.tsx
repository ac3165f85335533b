import { Anchor, Badge, Group, Table, Text } from '@mantine/core';
import { Link, useSearch } from '@tanstack/react-router';
import { api } from '../../api/client';
import { Empty } from '../../parts/Empty';
import { Listing, useList } from '../../parts/Listing';
import { Sheet } from '../../parts/Sheet';
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
  const list = useList({
    key: ['builds', w.id],
    page,
    size,
    topics: [], // the page that it is part of listens
    read: (part, signal) => api.get('/workspaces/{workspace}/builds', { path: { workspace: w.id }, query: part, signal }),
  });
  return (
    <Listing list={list} rows={list.data?.length} page={page} size={size} of="builds" empty={<Empty title="It was never built" />}>
      <Sheet heads={['Build', 'What', 'Who', 'Version', 'When', 'Took']} minWidth={560}>
        {list.data?.map((b) => (
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
      </Sheet>
    </Listing>
  );
}
