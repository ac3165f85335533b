import { Anchor, Badge, Button, Group, Table, Text } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { EmptyState } from '../../components/EmptyState';
import { ListToolbar, PagedList, usePagedQuery } from '../../components/PagedList';
import { Restricted } from '../../components/Refusal';
import { Page } from '../../components/Page';
import { DataTable } from '../../components/DataTable';
import { RelativeTime, formatDuration } from '../../components/time';
import { connectionTypes } from '../../lib/connectionTypes';

type Connection = Schema<'ConnectionLog'>;

const size = 25;
const filters: [string, string][] = [
  ['All connections', ''],
  ['Connected now', 'status:ongoing'],
  ...Object.entries(connectionTypes).map(([type, name]): [string, string] => [name, `type:${type}`]),
];

/** The log of connections to workspaces. */
export default function ConnectionLog() {
  return (
    <Restricted permission="readConnections" title="Connection log" needs="the role Auditor or Organization Auditor">
      <Connections />
    </Restricted>
  );
}

function Connections() {
  const { q = '', page = 1 } = useSearch({ from: '/shell/audit/connections' });
  const navigate = useNavigate({ from: '/audit/connections' });
  const list = usePagedQuery({
    key: ['connections'],
    filter: q,
    page,
    size,
    topics: ['connection_log'],
    read: (part, signal) => api.get('/connectionlog', { query: { q, ...part }, signal }),
  });
  const seek = (next: string) => navigate({ search: { q: next || undefined }, replace: true });
  return (
    <Page
      title="Connection log"
      hint="Connections to workspaces, as recorded by the server."
      actions={
        <Button component={Link} to="/audit" variant="default">
          Audit log
        </Button>
      }
    >
      <ListToolbar
        label="Search the connection log"
        placeholder="workspace_owner:, username:, type:, status:, connected_after: ..."
        value={q}
        onSearch={seek}
        choices={filters}
      />
      <PagedList
        list={list}
        rows={list.data?.connection_logs.length}
        count={list.data?.count}
        page={page}
        size={size}
        of="connections"
        empty={
          <EmptyState
            title={q ? 'No connections found' : 'No connections yet'}
            hint={
              q
                ? 'A single word matches the workspace owner. Separate terms with spaces and write dates as connected_after:2006-01-31.'
                : undefined
            }
          />
        }
      >
        <DataTable headers={['User', 'Workspace', 'Type', 'IP address', 'Connected', 'Disconnected']} minWidth={900}>
          {list.data?.connection_logs.map((connection) => (
            <ConnectionRow key={connection.id} connection={connection} />
          ))}
        </DataTable>
      </PagedList>
    </Page>
  );
}

function ConnectionRow({ connection }: { connection: Connection }) {
  const user = (connection.ssh_info ?? connection.web_info)?.user;
  const agent = (connection.ssh_info ?? connection.web_info)?.user_agent;
  return (
    <Table.Tr>
      <Table.Td>{user?.username ?? <Text c="dimmed">Anonymous</Text>}</Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        <Anchor
          component={Link}
          to={`/@${connection.workspace_owner_username}/${connection.workspace_name}`}
          inherit
          underline="always"
        >
          {connection.workspace_owner_username}/{connection.workspace_name}
        </Anchor>
        <Text size="xs" c="dimmed">
          {connection.agent_name} · {connection.organization.display_name || connection.organization.name}
        </Text>
      </Table.Td>
      <Table.Td>
        <Group gap={6}>
          {connectionTypes[connection.type]} {connection.web_info && <b>{connection.web_info.slug_or_port}</b>}
          {connection.web_info && connection.web_info.status_code >= 400 && (
            <Badge color="red">{connection.web_info.status_code}</Badge>
          )}
        </Group>
      </Table.Td>
      <Table.Td maw={260}>
        {connection.ip || '–'}
        {agent && (
          <Text size="xs" c="dimmed" lineClamp={1} title={agent} style={{ overflowWrap: 'anywhere' }}>
            {agent}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <RelativeTime at={connection.connect_time} />
      </Table.Td>
      <Table.Td>
        <Disconnection connection={connection} />
      </Table.Td>
    </Table.Tr>
  );
}

function Disconnection({ connection }: { connection: Connection }) {
  if (!connection.ssh_info) return <Text c="dimmed">–</Text>;
  const { disconnect_time: end, disconnect_reason: reason } = connection.ssh_info;
  if (!end) {
    return <Badge color="green">Connected</Badge>;
  }
  return (
    <>
      after {formatDuration(Date.parse(end) - Date.parse(connection.connect_time))}
      {reason && (
        <Text size="xs" c="dimmed">
          {reason}
        </Text>
      )}
    </>
  );
}
