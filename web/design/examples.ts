// Example data of the page.

import { ago, id } from '../demo/fixtures';
import { create } from '../demo/openapi';
import { ApiError } from '../src/api/client';
import type { Schema } from '../src/api/client';
import type { Point } from '../src/components/TimeChart';
import type { VisibleStatus } from '../src/components/WorkspaceStatus';

const minute = 60_000;
const hour = 60 * minute;

/** Every status of a job. */
export const jobStatuses: Schema<'ProvisionerJobStatus'>[] = [
  'pending',
  'running',
  'succeeded',
  'canceling',
  'canceled',
  'failed',
  'unknown',
];

/** Every status of a workspace that users see. */
export const workspaceStatuses: VisibleStatus[] = [
  'pending',
  'starting',
  'running',
  'unhealthy',
  'stopping',
  'stopped',
  'failed',
  'canceling',
  'canceled',
  'deleting',
  'deleted',
];

/** Returns a workspace with a status. */
export function createWorkspace(status: VisibleStatus): Schema<'Workspace'> {
  const healthy = status !== 'unhealthy';
  return create('Workspace', {
    name: status,
    health: { healthy, failing_agents: healthy ? [] : [id(6, 1)] },
    latest_build: create('WorkspaceBuild', { status: status === 'unhealthy' ? 'running' : status, resources: [] }),
  });
}

/** A job that no provisioner takes. */
export const pendingJob = create('ProvisionerJob', { id: id(90, 1), status: 'pending' });

/** Why that job is pending. */
export const pendingReason = create('ProvisionerJobExplanation', {
  summary: 'Waiting for a free provisioner',
  queue_position: 2,
  queue_size: 3,
});

/** A job that failed. */
export const failedJob = create('ProvisionerJob', {
  id: id(90, 2),
  status: 'failed',
  error: 'Error: the quota of the cluster is used up\n  on main.tf line 12',
});

/** The error of a request with two invalid fields. */
export const invalidRequest = new ApiError(400, 'The request is invalid.', '', {
  name: 'A template with this name exists. Choose another name.',
});

/** The error of a server that cannot be reached. */
export const serverError = new ApiError(502, 'The server cannot be reached.', 'Check your connection, then retry.');

/** The users of each day. */
export const dailyUsers = [12, 18, 17, 21, 20, 4, 3, 15, 19, 22, 24, 23, 6, 5].map((value, i) => ({
  label: `Mar ${i + 1}`,
  value,
}));

/** The last values of the CPU usage of a workspace. */
export const cpu = [12, 14, 13, 40, 62, 58, 31, 22, 20, 24, 18, 12];

/** The period of the measurements. */
export const period = { since: ago(24 * hour), until: ago(0) };

/** The latency of two servers; one of them had no value for an hour. */
export const latencies: Point[] = ['server-1', 'server-2'].flatMap((series, server) =>
  Array.from({ length: 48 }, (_, i): Point => {
    const missing = server === 1 && (i === 20 || i === 21);
    const value = Math.round(18 + 12 * server + 6 * Math.sin(i / 4 + server) + (i === 33 && server === 0 ? 70 : 0));
    return {
      time: ago(24 * hour - i * 30 * minute),
      series,
      value: missing ? undefined : value,
      state: missing ? 'error' : value > 80 ? 'warning' : 'ok',
      note: missing ? 'No response' : undefined,
    };
  }),
);

/** Rows of a table. */
export const rows = (['running', 'starting', 'stopped', 'failed'] as const).map((status, i) => ({
  name: ['dev', 'review', 'notebook', 'build'][i] ?? status,
  template: ['Kubernetes', 'Docker', 'Jupyter', 'Kubernetes'][i] ?? '',
  workspace: createWorkspace(status),
  used: ago((i * 5 + 1) * hour),
}));
