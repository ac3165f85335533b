import { Anchor, Badge, Button, Code, Collapse, Group, Paper, Stack, Table, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { api } from '../../api/client';
import { usePermissions } from '../../api/permissions';
import { Empty } from '../../parts/Empty';
import { Find, Listing, useList } from '../../parts/Listing';
import { Page } from '../../parts/Page';
import { Moment } from '../../parts/time';
import { type Entry, changes } from './diff';

const size = 25;
const filters: [string, string][] = [
  ['Everything', ''],
  ['Logins', 'action:login'],
  ['Users', 'resource_type:user'],
  ['Workspaces', 'resource_type:workspace'],
  ['Builds', 'resource_type:workspace_build'],
  ['Templates', 'resource_type:template'],
  ['Tokens', 'resource_type:api_key'],
  ['Provisioner keys', 'resource_type:provisioner_key'],
];
const colors: Record<string, string> = { create: 'green', delete: 'red', write: 'blue', login: 'brand', logout: 'gray', register: 'green' };

/** Who changed what, and when. */
export default function List() {
  const { q = '', page = 1 } = useSearch({ from: '/shell/audit' });
  const navigate = useNavigate({ from: '/audit' });
  const list = useList({ key: ['audit'], filter: q, page, size, topics: ['audit_log'], read: (part, signal) => api.get('/audit', { query: { q, ...part }, signal }) });
  const may = usePermissions();
  const seek = (next: string) => navigate({ search: { q: next || undefined }, replace: true });
  return (
    <Page
      title="Audit log"
      hint="Every change, with who made it and from where. Secrets are never in it."
      actions={
        may.readConnections && (
          <Button component={Link} to="/audit/connections" variant="default">
            Connection log
          </Button>
        )
      }
    >
      <Find label="Search the audit log" placeholder="username:, action:, resource_type:, resource_target:, date_from: ..." value={q} onSeek={seek} choices={filters} />
      <Listing
        list={list}
        rows={list.data?.audit_logs.length}
        count={list.data?.count}
        page={page}
        size={size}
        of="entries"
        empty={<Empty title="Nothing matches" hint="Dates are written like date_from:2006-01-31; several terms are joined by blanks." />}
      >
        <Stack gap="xs">
          {list.data?.audit_logs.map((e) => (
            <Row key={e.id} e={e} />
          ))}
        </Stack>
      </Listing>
    </Page>
  );
}

function Row({ e }: { e: Entry }) {
  const [open, { toggle }] = useDisclosure();
  const diff = changes(e);
  const sentence = e.description.replace('{user}', e.user?.username ?? 'somebody').replace('{target}', e.resource_target);
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <UnstyledButton onClick={toggle} aria-expanded={open} style={{ flex: 1, minWidth: 0 }}>
          <Group gap="xs" wrap="nowrap" align="flex-start">
            {open ? <IconChevronDown size={16} aria-hidden /> : <IconChevronRight size={16} aria-hidden />}
            <div style={{ minWidth: 0 }}>
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {sentence}
              </Text>
              <Text size="xs" c="dimmed">
                <Moment at={e.time} />
                {e.organization && ` · ${e.organization.display_name || e.organization.name}`}
                {e.ip && ` · ${e.ip}`}
              </Text>
            </div>
          </Group>
        </UnstyledButton>
        <Group gap={4} wrap="nowrap">
          {e.is_deleted && (
            <Badge variant="light" color="gray">
              gone
            </Badge>
          )}
          <Badge variant="light" color={e.status_code >= 400 ? 'red' : (colors[e.action] ?? 'gray')}>
            {e.status_code >= 400 ? `refused (${e.status_code})` : e.action}
          </Badge>
        </Group>
      </Group>
      <Collapse expanded={open}>
        <Stack gap="xs" mt="sm" pl={24}>
          {diff.length > 0 && (
            <Table.ScrollContainer minWidth={420}>
              <Table withRowBorders={false} verticalSpacing={4}>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Field</Table.Th>
                    <Table.Th>Before</Table.Th>
                    <Table.Th>After</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {diff.map((c) => (
                    <Table.Tr key={c.field}>
                      <Table.Td>{c.field}</Table.Td>
                      <Table.Td style={{ overflowWrap: 'anywhere' }}>{c.secret ? 'secret' : c.old && <Code>{c.old}</Code>}</Table.Td>
                      <Table.Td style={{ overflowWrap: 'anywhere' }}>{c.secret ? 'changed' : c.new && <Code>{c.new}</Code>}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          )}
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            Request {e.request_id}
            {e.user_agent && `, ${e.user_agent}`}
          </Text>
          {e.resource_link && !e.is_deleted && (
            <Anchor size="sm" component={Link} to={e.resource_link}>
              Go to {e.resource_target}
            </Anchor>
          )}
        </Stack>
      </Collapse>
    </Paper>
  );
}
