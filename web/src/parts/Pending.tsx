import { Alert, Anchor, Code, Collapse, List, Stack, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconClock } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type Schema, api } from '../api/client';
import { useLive } from '../api/live';
import { Moment } from './time';

/** Why a job waits: where it stands, what every provisioner says to it, and what would help. */
export function Pending({ job }: { job: Schema<'ProvisionerJob'> }) {
  const { data } = useQuery({
    queryKey: ['explain', job.id],
    queryFn: () =>
      api.get('/organizations/{organization}/provisionerjobs/{job}/explain', { path: { organization: job.organization_id, job: job.id } }),
    enabled: job.status === 'pending',
  });
  useLive([`jobs/${job.organization_id}`, `job/${job.id}`, 'provisioner_daemon'], ['explain', job.id]);
  const [open, { toggle }] = useDisclosure();
  if (job.status !== 'pending' || !data) return null;
  const stuck = Boolean(data.warning) || Boolean(data.held);
  return (
    <Alert color={stuck ? 'yellow' : 'blue'} icon={<IconClock />} title={data.summary} role="status">
      <Stack gap={6}>
        {data.queue_size > 0 && (
          <Text size="sm">
            Number {data.queue_position} of {data.queue_size} that wait for the same tags
            {data.estimated_start && (
              <>
                , about to start <Moment at={data.estimated_start} />
              </>
            )}
            .
          </Text>
        )}
        {data.warning && <Text size="sm">{data.warning}</Text>}
        {data.held_fix && (
          <Text size="sm">
            To let the template have one build more at once: <Code>{data.held_fix}</Code>
          </Text>
        )}
        {data.nearest_miss && <Fix miss={data.nearest_miss} />}
        {data.daemons.length > 0 && (
          <Anchor component="button" size="sm" ta="left" onClick={toggle} aria-expanded={open}>
            {open ? 'Hide' : 'What each provisioner says'} ({data.daemons.length})
          </Anchor>
        )}
        <Collapse expanded={open}>
          <Table.ScrollContainer minWidth={420}>
            <Table>
              <Table.Tbody>
                {data.daemons.map((d) => (
                  <Table.Tr key={d.daemon_id}>
                    <Table.Td>{d.name || 'A provisioner you may not see'}</Table.Td>
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

function Fix({ miss }: { miss: Schema<'ProvisionerNearMiss'> }) {
  return (
    <>
      <Text size="sm">Nearest is {miss.daemon_name}. Either of these would help:</Text>
      <List size="sm">
        {miss.fix && (
          <List.Item>
            start a provisioner: <Code>{miss.fix}</Code>
          </List.Item>
        )}
        {miss.template_fix && (
          <List.Item>
            in the template: <Code>{miss.template_fix}</Code>
          </List.Item>
        )}
      </List>
    </>
  );
}
