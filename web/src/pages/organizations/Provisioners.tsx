import { Alert, Anchor, Badge, Group, SegmentedControl, Stack, Table, Text } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { EmptyState } from '../../components/EmptyState';
import { PagedList, usePagedQuery } from '../../components/PagedList';
import { DataTable } from '../../components/DataTable';
import { capitalize } from '../../lib/text';
import { RelativeTime } from '../../components/time';
import { TagBadges } from './tags';
import type { Organization, TabProps } from './queries';

const colors: Record<Schema<'ProvisionerDaemonStatus'>, string> = { busy: 'blue', idle: 'green', offline: 'gray' };
const size = 50;

/** The provisioner daemons of the organization and their current jobs. */
export default function Provisioners({ organization }: TabProps) {
  const { status = '', page = 1 } = useSearch({ from: '/shell/organizations/$organization/$tab' });
  const navigate = useNavigate({ from: '/organizations/$organization/$tab' });
  const list = usePagedQuery({
    key: ['daemons', organization.id],
    filter: status,
    page,
    size,
    topics: ['provisioner_daemon', `jobs/${organization.id}`],
    read: (part, signal) =>
      api.get('/organizations/{organization}/provisionerdaemons', {
        path: { organization: organization.id },
        query: { status, ...part },
        signal,
      }),
  });
  const slots =
    list.data
      ?.filter((provisioner) => provisioner.status !== 'offline')
      .reduce((n, provisioner) => n + provisioner.slots, 0) ?? 0;
  const busy = list.data?.reduce((n, provisioner) => n + provisioner.busy_slots, 0) ?? 0;
  return (
    <Stack>
      <Group justify="space-between">
        <SegmentedControl
          aria-label="Status"
          value={status}
          onChange={(s) =>
            navigate({ search: (old) => ({ ...old, page: undefined, status: s || undefined }), replace: true })
          }
          data={[
            { value: '', label: 'All' },
            { value: 'idle', label: 'Idle' },
            { value: 'busy', label: 'Busy' },
            { value: 'offline', label: 'Offline' },
          ]}
        />
        {list.data && (
          <Text size="sm">
            {busy} of {slots} slots busy{(page > 1 || list.data.length === size) && ' on this page'}
          </Text>
        )}
      </Group>
      <PagedList
        list={list}
        rows={list.data?.length}
        page={page}
        size={size}
        of="provisioners"
        empty={
          <EmptyState
            title="No provisioners"
            hint="Create a provisioner key, then run coder provisioner start with it."
          />
        }
      >
        <DataTable headers={['Provisioner', 'Status', 'Slots', 'Job', 'Tags', 'Last seen']} minWidth={820}>
          {list.data?.map((provisioner) => (
            <ProvisionerRow key={provisioner.id} organization={organization} provisioner={provisioner} />
          ))}
        </DataTable>
      </PagedList>
    </Stack>
  );
}

function ProvisionerRow({
  organization,
  provisioner,
}: {
  organization: Organization;
  provisioner: Schema<'ProvisionerDaemon'>;
}) {
  const job = provisioner.current_job ?? provisioner.previous_job;
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {provisioner.name}
        </Text>
        <Text size="xs" c="dimmed">
          {provisioner.version} · {provisioner.key_name}
        </Text>
        {provisioner.warnings?.map((w) => (
          <Alert key={w.message} color="yellow" p="xs" mt={4}>
            {w.message}
          </Alert>
        ))}
      </Table.Td>
      <Table.Td>
        <Badge color={colors[provisioner.status]}>{capitalize(provisioner.status)}</Badge>
      </Table.Td>
      <Table.Td>
        {provisioner.busy_slots} / {provisioner.slots}
      </Table.Td>
      <Table.Td>
        {job ? (
          <Text size="sm">
            {provisioner.current_job ? '' : 'Previous: '}
            {job.template_name ? (
              <Anchor
                component={Link}
                to={`/templates/${organization.name}/${job.template_name}`}
                inherit
                underline="always"
              >
                {job.template_display_name || job.template_name}
              </Anchor>
            ) : (
              'Template import'
            )}{' '}
            {job.status}
          </Text>
        ) : (
          <Text size="sm" c="dimmed">
            No jobs yet
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <TagBadges tags={provisioner.tags} />
      </Table.Td>
      <Table.Td>{provisioner.last_seen_at ? <RelativeTime at={provisioner.last_seen_at} /> : 'Never'}</Table.Td>
    </Table.Tr>
  );
}
