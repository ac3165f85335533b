import { Badge } from '@mantine/core';
import type { Schema } from '../api/client';
import { capitalize } from '../lib/text';

/** The status of a provisioner job. */
type JobStatus = Schema<'ProvisionerJobStatus'>;

const colors: Record<JobStatus, string> = {
  succeeded: 'green',
  failed: 'red',
  canceled: 'orange',
  canceling: 'orange',
  running: 'blue',
  pending: 'yellow',
  unknown: 'gray',
};

/** The status of a job as a badge: of a build, an import or another job. */
export function JobBadge({ status, label = capitalize(status) }: { status: JobStatus; label?: string }) {
  return <Badge color={colors[status]}>{label}</Badge>;
}
