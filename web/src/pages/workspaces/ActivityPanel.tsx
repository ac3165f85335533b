import { List, Paper, Table, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client';
import { ErrorAlert } from '../../components/ErrorAlert';
import { Loading } from '../../components/Loading';
import { RelativeTime } from '../../components/time';
import { connectionTypes } from '../../lib/connectionTypes';
import type { Workspace } from './queries';
import { formatNumber } from '../../lib/text';

/** Why a workspace stops, or stopped, and the connections that this follows from. */
export function ActivityPanel({ workspace }: { workspace: Workspace }) {
  const { data, error } = useQuery({
    queryKey: ['workspace', workspace.owner_name, workspace.name, 'activity'],
    queryFn: () => api.get('/workspaces/{workspace}/activity', { path: { workspace: workspace.id } }),
    refetchInterval: 60_000,
  });
  if (error) return <ErrorAlert error={error} />;
  if (!data) return <Loading />;
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        Why this schedule
      </Title>
      <List size="sm">
        {data.reasons.map((reason) => (
          <List.Item key={reason}>{reason}</List.Item>
        ))}
      </List>
      {data.evidence.length > 0 && (
        <Table.ScrollContainer minWidth={360} mt="sm">
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Connection</Table.Th>
                <Table.Th>Postpones autostop</Table.Th>
                <Table.Th ta="right">Open</Table.Th>
                <Table.Th>Last open</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.evidence.map((connection) => (
                <Table.Tr key={connection.type}>
                  <Table.Td>{connectionTypes[connection.type]}</Table.Td>
                  <Table.Td>{connection.counts ? 'Yes' : 'No'}</Table.Td>
                  <Table.Td ta="right">{formatNumber(connection.open)}</Table.Td>
                  <Table.Td>
                    {connection.last_at ? <RelativeTime at={connection.last_at} /> : 'Not within a week'}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Paper>
  );
}
