import { Alert, Anchor, Badge, Group, Paper, SegmentedControl, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { Empty } from '../../parts/Empty';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { Moment } from '../../parts/time';
import { Tags } from './tags';
import type { Organization, TabProps } from './data';

const colors: Record<Schema<'ProvisionerDaemonStatus'>, string> = { busy: 'blue', idle: 'green', offline: 'gray' };

/** The provisioners that build for the organization, and what they do now. */
export default function Daemons({ o }: TabProps) {
  const { status = '' } = useSearch({ from: '/shell/organizations/$organization/$tab' });
  const navigate = useNavigate({ from: '/organizations/$organization/$tab' });
  const { data, error } = useQuery({
    queryKey: ['daemons', o.id, status],
    queryFn: () => api.get('/organizations/{organization}/provisionerdaemons', { path: { organization: o.id }, query: { status, limit: 200 } }),
  });
  useLive(['provisioner_daemon', `jobs/${o.id}`], ['daemons', o.id]);
  const slots = data?.filter((d) => d.status !== 'offline').reduce((n, d) => n + d.slots, 0) ?? 0;
  const busy = data?.reduce((n, d) => n + d.busy_slots, 0) ?? 0;
  return (
    <Stack>
      <Group justify="space-between">
        <SegmentedControl
          aria-label="Status"
          value={status}
          onChange={(s) => navigate({ search: (old) => ({ ...old, status: s || undefined }), replace: true })}
          data={[
            { value: '', label: 'All' },
            { value: 'idle', label: 'Idle' },
            { value: 'busy', label: 'Busy' },
            { value: 'offline', label: 'Offline' },
          ]}
        />
        {data && (
          <Text size="sm">
            {busy} of {slots} slots are busy.
          </Text>
        )}
      </Group>
      <Refusal error={error} />
      {!data && !error && <Loading />}
      {data?.length === 0 && <Empty title="No provisioner" hint="Make a key, then run coder provisioner start with it where builds should run." />}
      {data && data.length > 0 && (
        <Paper withBorder>
          <Table.ScrollContainer minWidth={820}>
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Provisioner</Table.Th>
                  <Table.Th>Status</Table.Th>
                  <Table.Th>Slots</Table.Th>
                  <Table.Th>Does</Table.Th>
                  <Table.Th>Tags</Table.Th>
                  <Table.Th>Seen</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {data.map((d) => (
                  <Row key={d.id} o={o} d={d} />
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
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
