import { Alert, Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { api } from '../../api/client';
import { JobLog } from '../../parts/Log';
import { Pending } from '../../parts/Pending';
import { complain } from '../../parts/confirm';
import { type Version, unfinished } from './data';

/** The import of a version: why it waits, its log as it comes, why it failed. */
export function Import({ v }: { v: Version }) {
  const cancel = useMutation({
    mutationFn: () => api.patch('/templateversions/{templateversion}/cancel', { path: { templateversion: v.id } }),
    onError: complain,
  });
  return (
    <Stack gap="sm">
      <Pending job={v.job} />
      {v.job.status === 'failed' && (
        <Alert color="red" title="The import failed" role="alert">
          <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {v.job.error}
          </Text>
        </Alert>
      )}
      {v.job.status === 'canceled' && <Alert color="orange" title="The import was canceled" />}
      {v.warnings?.includes('UNSUPPORTED_WORKSPACES') && (
        <Alert color="yellow" title="Some workspaces cannot be updated to this version">
          What they are made of is no longer in it.
        </Alert>
      )}
      <Paper withBorder>
        <JobLog key={v.id} url={`/api/v2/templateversions/${v.id}/logs`} failed={v.job.status === 'failed'} />
      </Paper>
      {unfinished(v.job) && (
        <Group>
          <Button variant="default" size="xs" onClick={() => cancel.mutate()} loading={cancel.isPending} disabled={v.job.status === 'canceling'}>
            Cancel the import
          </Button>
        </Group>
      )}
    </Stack>
  );
}
