import { Anchor, Badge, Button, Code, Collapse, Group, Paper, Stack, Table, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { api } from '../../api/client';
import { usePermissions } from '../../api/permissions';
import { EmptyState } from '../../components/EmptyState';
import { ListToolbar, PagedList, usePagedQuery } from '../../components/PagedList';
import { Restricted } from '../../components/Refusal';
import { Page } from '../../components/Page';
import { RelativeTime } from '../../components/time';
import { type Entry, listChanges } from './diff';

const size = 25;
const filters: [string, string][] = [
  ['All events', ''],
  ['Sign-ins', 'action:login'],
  ['Users', 'resource_type:user'],
  ['Workspaces', 'resource_type:workspace'],
  ['Builds', 'resource_type:workspace_build'],
  ['Templates', 'resource_type:template'],
  ['Tokens', 'resource_type:api_key'],
  ['Provisioner keys', 'resource_type:provisioner_key'],
];
const actionLabels: Partial<Record<string, string>> = {
  create: 'Create',
  write: 'Update',
  delete: 'Delete',
  start: 'Start',
  stop: 'Stop',
  login: 'Sign in',
  logout: 'Sign out',
  register: 'Register',
  open: 'Open',
  close: 'Close',
  connect: 'Connect',
  disconnect: 'Disconnect',
};
const colors: Record<string, string> = {
  create: 'green',
  delete: 'red',
  write: 'blue',
  login: 'brand',
  logout: 'gray',
  register: 'green',
};

/** The audit log. */
export default function AuditLog() {
  return (
    <Restricted permission="readAudit" title="Audit log" needs="the role Auditor or Organization Auditor">
      <AuditEvents />
    </Restricted>
  );
}

function AuditEvents() {
  const { q = '', page = 1 } = useSearch({ from: '/shell/audit' });
  const navigate = useNavigate({ from: '/audit' });
  const list = usePagedQuery({
    key: ['audit'],
    filter: q,
    page,
    size,
    topics: ['audit_log'],
    read: (part, signal) => api.get('/audit', { query: { q, ...part }, signal }),
  });
  const may = usePermissions();
  const seek = (next: string) => navigate({ search: { q: next || undefined }, replace: true });
  return (
    <Page
      title="Audit log"
      hint="Every change, its author and origin. Secrets are never recorded."
      actions={
        may.readConnections && (
          <Button component={Link} to="/audit/connections" variant="default">
            Connection log
          </Button>
        )
      }
    >
      <ListToolbar
        label="Search the audit log"
        placeholder="username:, action:, resource_type:, resource_target:, date_from: ..."
        value={q}
        onSearch={seek}
        choices={filters}
      />
      <PagedList
        list={list}
        rows={list.data?.audit_logs.length}
        count={list.data?.count}
        page={page}
        size={size}
        of="events"
        empty={
          <EmptyState
            title="No events found"
            hint="Separate terms with spaces and write dates as date_from:2006-01-31."
          />
        }
      >
        <Stack gap="xs">
          {list.data?.audit_logs.map((entry) => (
            <AuditLogRow key={entry.id} entry={entry} />
          ))}
        </Stack>
      </PagedList>
    </Page>
  );
}

function AuditLogRow({ entry }: { entry: Entry }) {
  const [open, { toggle }] = useDisclosure();
  const diff = listChanges(entry);
  const sentence = entry.description
    .replace('{user}', entry.user?.username ?? 'An unauthenticated user')
    .replace('{target}', entry.resource_target);
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
                <RelativeTime at={entry.time} />
                {entry.organization && ` · ${entry.organization.display_name || entry.organization.name}`}
                {entry.ip && ` · ${entry.ip}`}
              </Text>
            </div>
          </Group>
        </UnstyledButton>
        <Group gap={4} wrap="nowrap">
          {entry.is_deleted && <Badge color="gray">Deleted</Badge>}
          <Badge color={entry.status_code >= 400 ? 'red' : (colors[entry.action] ?? 'gray')}>
            {entry.status_code >= 400 ? `Failed (${entry.status_code})` : (actionLabels[entry.action] ?? entry.action)}
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
                  {diff.map((change) => (
                    <Table.Tr key={change.field}>
                      <Table.Td>{change.field}</Table.Td>
                      <Table.Td style={{ overflowWrap: 'anywhere' }}>
                        {change.secret ? 'Secret' : change.old && <Code>{change.old}</Code>}
                      </Table.Td>
                      <Table.Td style={{ overflowWrap: 'anywhere' }}>
                        {change.secret ? 'Changed' : change.new && <Code>{change.new}</Code>}
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          )}
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            Request ID {entry.request_id}
            {entry.user_agent && `, ${entry.user_agent}`}
          </Text>
          {entry.resource_link && !entry.is_deleted && (
            <Anchor size="sm" component={Link} to={entry.resource_link}>
              View {entry.resource_target}
            </Anchor>
          )}
        </Stack>
      </Collapse>
    </Paper>
  );
}
