import { Alert, Anchor, Badge, Group, SegmentedControl, Stack, Table, Text } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { Empty } from '../../parts/Empty';
import { Listing, useList } from '../../parts/Listing';
import { Sheet } from '../../parts/Sheet';
import { Moment } from '../../parts/time';
import { Tags } from './tags';
import type { Organization, TabProps } from './data';

const colors: Record<Schema<'ProvisionerDaemonStatus'>, string> = { busy: 'blue', idle: 'green', offline: 'gray' };
const size = 50;

/** The provisioners that build for the organization, and what they do now. */
export default function Daemons({ o }: TabProps) {
  const { status = '', page = 1 } = useSearch({ from: '/shell/organizations/$organization/$tab' });
  const navigate = useNavigate({ from: '/organizations/$organization/$tab' });
  const list = useList({
    key: ['daemons', o.id],
    filter: status,
    page,
    size,
    topics: ['provisioner_daemon', `jobs/${o.id}`],
    read: (part, signal) => api.get('/organizations/{organization}/provisionerdaemons', { path: { organization: o.id }, query: { status, ...part }, signal }),
  });
  const slots = list.data?.filter((d) => d.status !== 'offline').reduce((n, d) => n + d.slots, 0) ?? 0;
  const busy = list.data?.reduce((n, d) => n + d.busy_slots, 0) ?? 0;
  return (
    <Stack>
      <Group justify="space-between">
        <SegmentedControl
          aria-label="Status"
          value={status}
          onChange={(s) => navigate({ search: (old) => ({ ...old, page: undefined, status: s || undefined }), replace: true })}
          data={[
            { value: '', label: 'All' },
            { value: 'idle', label: 'Idle' },
            { value: 'busy', label: 'Busy' },
            { value: 'offline', label: 'Offline' },
          ]}
        />
        {list.data && (
          <Text size="sm">
            {busy} of {slots} slots {page > 1 || list.data.length === size ? 'on this page are busy' : 'are busy'}.
          </Text>
        )}
      </Group>
      <Listing
        list={list}
        rows={list.data?.length}
        page={page}
        size={size}
        of="provisioners"
        empty={<Empty title="No provisioner" hint="Make a key, then run coder provisioner start with it where builds should run." />}
      >
        <Sheet heads={['Provisioner', 'Status', 'Slots', 'Does', 'Tags', 'Seen']} minWidth={820}>
          {list.data?.map((d) => (
            <Row key={d.id} o={o} d={d} />
          ))}
        </Sheet>
      </Listing>
    </Stack>
  );
}

function Row({ o, d }: { o: Organization; d: Schema<'ProvisionerDaemon'> }) {
  const job = d.current_job ?? d.previous_job;
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {d.name}
        </Text>
        <Text size="xs" c="dimmed">
          {d.version} · {d.key_name}
        </Text>
        {d.warnings?.map((w) => (
          <Alert key={w.message} color="yellow" p="xs" mt={4}>
            {w.message}
          </Alert>
        ))}
      </Table.Td>
      <Table.Td>
        <Badge variant="light" color={colors[d.status]}>
          {d.status}
        </Badge>
      </Table.Td>
      <Table.Td>
        {d.busy_slots} / {d.slots}
      </Table.Td>
      <Table.Td>
        {job ? (
          <Text size="sm">
            {d.current_job ? '' : 'last: '}
            {job.template_name ? (
              <Anchor component={Link} to={`/templates/${o.name}/${job.template_name}`} inherit underline="always">
                {job.template_display_name || job.template_name}
              </Anchor>
            ) : (
              'a template’s import'
            )}{' '}
            {job.status}
          </Text>
        ) : (
          <Text size="sm" c="dimmed">
            nothing yet
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Tags tags={d.tags} />
      </Table.Td>
      <Table.Td>{d.last_seen_at ? <Moment at={d.last_seen_at} /> : 'never'}</Table.Td>
    </Table.Tr>
  );
}
