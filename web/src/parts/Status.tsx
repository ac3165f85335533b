import { Badge, Loader } from '@mantine/core';
import type { Schema } from '../api/client';

const looks: Record<Schema<'WorkspaceStatus'>, { color: string; label: string; busy?: boolean }> = {
  pending: { color: 'yellow', label: 'Pending', busy: true },
  starting: { color: 'blue', label: 'Starting', busy: true },
  running: { color: 'green', label: 'Running' },
  stopping: { color: 'blue', label: 'Stopping', busy: true },
  stopped: { color: 'gray', label: 'Stopped' },
  failed: { color: 'red', label: 'Failed' },
  canceling: { color: 'orange', label: 'Canceling', busy: true },
  canceled: { color: 'orange', label: 'Canceled' },
  deleting: { color: 'red', label: 'Deleting', busy: true },
  deleted: { color: 'gray', label: 'Deleted' },
};

/** What a workspace is doing. */
export function WorkspaceStatusBadge({ status }: { status: Schema<'WorkspaceStatus'> }) {
  const look = looks[status];
  return (
    <Badge variant="light" color={look.color} autoContrast leftSection={look.busy && <Loader size={10} color={look.color} />}>
      {look.label}
    </Badge>
  );
}
