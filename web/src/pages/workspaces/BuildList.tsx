import { Anchor, Group, Table, Text } from '@mantine/core';
import { Link, useSearch } from '@tanstack/react-router';
import { api } from '../../api/client';
import { EmptyState } from '../../components/EmptyState';
import { JobBadge } from '../../components/JobBadge';
import { PagedList, usePagedQuery } from '../../components/PagedList';
import { DataTable } from '../../components/DataTable';
import { capitalize } from '../../lib/text';
import { RelativeTime, formatDuration } from '../../components/time';
import type { Build, Workspace } from './queries';

const size = 25;

/** Returns the duration of a build; "" until it ends. */
export function buildDuration({ job }: Build): string {
  return job.started_at && job.completed_at
    ? formatDuration(Date.parse(job.completed_at) - Date.parse(job.started_at))
    : '';
}

/** Labels of build reasons. */
const reasonLabels: Record<string, string> = {
  cli: 'CLI',
  jetbrains_connection: 'JetBrains connection',
  ssh_connection: 'SSH connection',
  vscode_connection: 'VS Code connection',
};

function formatReason(reason: string): string {
  return reasonLabels[reason] ?? reason.replaceAll('_', ' ');
}

/** The builds of a workspace, newest first. */
export function BuildList({ workspace }: { workspace: Workspace }) {
  const { page = 1 } = useSearch({ from: '/shell/@{$owner}/$workspace' });
  const list = usePagedQuery({
    key: ['builds', workspace.id],
    page,
    size,
    topics: [], // the surrounding page subscribes
    read: (part, signal) =>
      api.get('/workspaces/{workspace}/builds', { path: { workspace: workspace.id }, query: part, signal }),
  });
  return (
    <PagedList
      list={list}
      rows={list.data?.length}
      page={page}
      size={size}
      of="builds"
      empty={<EmptyState title="No builds" />}
    >
      <DataTable headers={['Build', 'Transition', 'Initiator', 'Version', 'Created', 'Duration']} minWidth={560}>
        {list.data?.map((build) => (
          <Table.Tr key={build.id}>
            <Table.Td>
              <Anchor component={Link} to={`/@${workspace.owner_name}/${workspace.name}/builds/${build.build_number}`}>
                #{build.build_number}
              </Anchor>
            </Table.Td>
            <Table.Td>
              <Group gap="xs" wrap="nowrap">
                {capitalize(build.transition)} <JobBadge status={build.job.status} />
              </Group>
            </Table.Td>
            <Table.Td>
              {build.initiator_name}
              {build.reason !== 'initiator' && (
                <Text span size="xs" c="dimmed">
                  {' '}
                  ({formatReason(build.reason)})
                </Text>
              )}
            </Table.Td>
            <Table.Td>{build.template_version_name}</Table.Td>
            <Table.Td>
              <RelativeTime at={build.created_at} />
            </Table.Td>
            <Table.Td>{buildDuration(build)}</Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
    </PagedList>
  );
}
