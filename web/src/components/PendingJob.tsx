import { Alert, Anchor, Code, Collapse, List, Stack, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconClock } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type Schema, api } from '../api/client';
import { useLiveUpdates } from '../api/live';
import { RelativeTime } from './time';

/** Explains why a job is pending: its queue position, why each provisioner does not take it, and how to fix that. */
export function PendingJob({ job }: { job: Schema<'ProvisionerJob'> }) {
  const { data } = useQuery({
    queryKey: ['explain', job.id],
    queryFn: () =>
      api.get('/organizations/{organization}/provisionerjobs/{job}/explain', {
        path: { organization: job.organization_id, job: job.id },
      }),
    enabled: job.status === 'pending',
  });
  useLiveUpdates([`jobs/${job.organization_id}`, `job/${job.id}`, 'provisioner_daemon'], ['explain', job.id]);
  const [open, { toggle }] = useDisclosure();
  if (job.status !== 'pending' || !data) return null;
  const stuck = Boolean(data.warning) || Boolean(data.held);
  return (
    <Alert color={stuck ? 'yellow' : 'blue'} icon={<IconClock />} title={data.summary} role="status">
      <Stack gap={6}>
        {data.queue_size > 0 && (
          <Text size="sm">
            Position {data.queue_position} of {data.queue_size} in the queue for these tags
            {data.estimated_start && (
              <>
                , expected to start <RelativeTime at={data.estimated_start} />
              </>
            )}
            .
          </Text>
        )}
        {data.warning && <Text size="sm">{data.warning}</Text>}
        {data.held_fix && (
          <Text size="sm">
            To raise the template's build limit by one, run <Code>{data.held_fix}</Code>
          </Text>
        )}
        {data.nearest_miss && <NearestMatch miss={data.nearest_miss} />}
        {data.daemons.length > 0 && (
          <Anchor component="button" size="sm" ta="left" onClick={toggle} aria-expanded={open}>
            {open ? 'Hide provisioners' : 'Show provisioners'} ({data.daemons.length})
          </Anchor>
        )}
        <Collapse expanded={open}>
          <Table.ScrollContainer minWidth={420}>
            <Table>
              <Table.Tbody>
                {data.daemons.map((d) => (
                  <Table.Tr key={d.daemon_id}>
                    <Table.Td>{d.name || 'Hidden provisioner'}</Table.Td>
                    <Table.Td>{d.message}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Collapse>
      </Stack>
    </Alert>
  );
}

function NearestMatch({ miss }: { miss: Schema<'ProvisionerNearMiss'> }) {
  return (
    <>
      <Text size="sm">Closest match: {miss.daemon_name}. To run this job, do one of the following:</Text>
      <List size="sm">
        {miss.fix && (
          <List.Item>
            Start a provisioner: <Code>{miss.fix}</Code>
          </List.Item>
        )}
        {miss.template_fix && (
          <List.Item>
            Change the template: <Code>{miss.template_fix}</Code>
          </List.Item>
        )}
      </List>
    </>
  );
}
