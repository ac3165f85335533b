import { Anchor, Badge, Button, Group, Table, Text } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { Empty } from '../../parts/Empty';
import { Find, Listing, useList } from '../../parts/Listing';
import { Page } from '../../parts/Page';
import { Sheet } from '../../parts/Sheet';
import { Moment, duration } from '../../parts/time';

type Connection = Schema<'ConnectionLog'>;

const size = 25;
const names: Record<Schema<'ConnectionType'>, string> = {
  ssh: 'SSH',
  vscode: 'VS Code',
  jetbrains: 'JetBrains',
  reconnecting_pty: 'Web terminal',
  workspace_app: 'App',
  port_forwarding: 'Port',
};
const filters: [string, string][] = [
  ['Everything', ''],
  ['Connected now', 'status:ongoing'],
  ...Object.entries(names).map(([type, name]): [string, string] => [name, `type:${type}`]),
];

/** Who was connected to which workspace. */
export default function Connections() {
  const { q = '', page = 1 } = useSearch({ from: '/shell/audit/connections' });
  const navigate = useNavigate({ from: '/audit/connections' });
  const list = useList({ key: ['connections'], filter: q, page, size, topics: ['connection_log'], read: (part, signal) => api.get('/connectionlog', { query: { q, ...part }, signal }) });
  const seek = (next: string) => navigate({ search: { q: next || undefined }, replace: true });
  return (
    <Page
      title="Connection log"
      hint="Who was connected to which workspace, by which way and from where. The servers see it; workspaces are not asked."
      actions={
        <Button component={Link} to="/audit" variant="default">
          Audit log
        </Button>
      }
    >
      <Find label="Search the connection log" placeholder="workspace_owner:, username:, type:, status:, connected_after: ..." value={q} onSeek={seek} choices={filters} />
      <Listing
        list={list}
        rows={list.data?.connection_logs.length}
        count={list.data?.count}
        page={page}
        size={size}
        of="connections"
        empty={<Empty title={q ? 'Nothing matches' : 'Nobody was connected yet'} hint={q ? 'A word alone is the owner of a workspace. Dates are written like connected_after:2006-01-31; several terms are joined by blanks.' : undefined} />}
      >
        <Sheet heads={['Who', 'Workspace', 'How', 'From', 'When', 'Ended']} minWidth={900}>
          {list.data?.connection_logs.map((c) => (
            <Row key={c.id} c={c} />
          ))}
        </Sheet>
      </Listing>
    </Page>
  );
}

function Row({ c }: { c: Connection }) {
  const user = (c.ssh_info ?? c.web_info)?.user;
  const agent = (c.ssh_info ?? c.web_info)?.user_agent;
  return (
    <Table.Tr>
      <Table.Td>{user?.username ?? <Text c="dimmed">nobody known</Text>}</Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        <Anchor component={Link} to={`/@${c.workspace_owner_username}/${c.workspace_name}`} inherit underline="always">
          {c.workspace_owner_username}/{c.workspace_name}
        </Anchor>
        <Text size="xs" c="dimmed">
          {c.agent_name} · {c.organization.display_name || c.organization.name}
        </Text>
      </Table.Td>
      <Table.Td>
        <Group gap={6}>
          {names[c.type]} {c.web_info && <b>{c.web_info.slug_or_port}</b>}
          {c.web_info && c.web_info.status_code >= 400 && (
            <Badge variant="light" color="red">
              {c.web_info.status_code}
            </Badge>
          )}
        </Group>
      </Table.Td>
      <Table.Td maw={260}>
        {c.ip || '–'}
        {agent && (
          <Text size="xs" c="dimmed" lineClamp={1} title={agent} style={{ overflowWrap: 'anywhere' }}>
            {agent}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Moment at={c.connect_time} />
      </Table.Td>
      <Table.Td>
        <End c={c} />
      </Table.Td>
    </Table.Tr>
  );
}

function End({ c }: { c: Connection }) {
  if (!c.ssh_info) return <Text c="dimmed">–</Text>;
  const { disconnect_time: end, disconnect_reason: reason } = c.ssh_info;
  if (!end) {
    return (
      <Badge variant="light" color="green">
        connected
      </Badge>
    );
  }
  return (
    <>
      after {duration(Date.parse(end) - Date.parse(c.connect_time))}
      {reason && (
        <Text size="xs" c="dimmed">
          {reason}
        </Text>
      )}
    </>
  );
}
