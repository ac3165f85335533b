import { Alert, Button, Group, Paper, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { api } from '../../api/client';
import { FailedJob } from '../../components/FailedJob';
import { JobLog } from '../../components/Log';
import { PendingJob } from '../../components/PendingJob';
import { notifyError } from '../../components/confirm';
import { type Version, isUnfinished } from './queries';

interface Props {
  version: Version;
  /** The template; absent while it is created. */
  template?: { organization: string; template: string };
}

/** The import of a version: its queue position, log and error. */
export function VersionImport({ version, template }: Props) {
  const cancel = useMutation({
    mutationFn: () =>
      api.patch('/templateversions/{templateversion}/cancel', { path: { templateversion: version.id } }),
    onError: notifyError,
  });
  return (
    <Stack gap="sm">
      <PendingJob job={version.job} />
      {version.job.status === 'failed' && (
        <FailedJob
          title="Import failed"
          job={version.job}
          log={`/api/v2/templateversions/${version.id}/logs`}
          source={template && { ...template, version: version.name }}
        />
      )}
      {version.job.status === 'canceled' && <Alert color="orange" title="Import canceled" />}
      {version.warnings?.includes('UNSUPPORTED_WORKSPACES') && (
        <Alert color="yellow" title="Some workspaces cannot be updated to this version">
          The new version no longer contains their resources.
        </Alert>
      )}
      <Paper withBorder>
        <JobLog
          key={version.id}
          url={`/api/v2/templateversions/${version.id}/logs`}
          failed={version.job.status === 'failed'}
        />
      </Paper>
      {isUnfinished(version.job) && (
        <Group>
          <Button
            variant="default"
            size="xs"
            onClick={() => cancel.mutate()}
            loading={cancel.isPending}
            disabled={version.job.status === 'canceling'}
          >
            Cancel import
          </Button>
        </Group>
      )}
    </Stack>
  );
}
