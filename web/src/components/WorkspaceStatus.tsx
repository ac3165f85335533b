import { Suspense, useEffect } from 'react';
import type { Schema } from '../api/client';
import { formatCount } from '../lib/text';
import { lazyComponent } from './lazyComponent';
import plain from './plain.module.css';

const Why = lazyComponent(() => import('./Why'));

type Workspace = Schema<'Workspace'>;

/** The status of a workspace as users see it: a running workspace whose agent failed is unhealthy. */
export type VisibleStatus = Schema<'WorkspaceStatus'> | 'unhealthy';

type Favicon = 'running' | 'busy' | 'unhealthy' | 'failed' | 'stopped';

const looks: Record<VisibleStatus, { color: string; label: string; icon: Favicon }> = {
  pending: { color: 'yellow', label: 'Pending', icon: 'busy' },
  starting: { color: 'blue', label: 'Starting', icon: 'busy' },
  running: { color: 'green', label: 'Running', icon: 'running' },
  unhealthy: { color: 'orange', label: 'Unhealthy', icon: 'unhealthy' },
  stopping: { color: 'blue', label: 'Stopping', icon: 'busy' },
  stopped: { color: 'gray', label: 'Stopped', icon: 'stopped' },
  failed: { color: 'red', label: 'Failed', icon: 'failed' },
  canceling: { color: 'orange', label: 'Canceling', icon: 'busy' },
  canceled: { color: 'orange', label: 'Canceled', icon: 'failed' },
  deleting: { color: 'red', label: 'Deleting', icon: 'busy' },
  deleted: { color: 'gray', label: 'Deleted', icon: 'stopped' },
};

/** Returns the status of a workspace as users see it. */
export function getVisibleStatus(workspace: Workspace): VisibleStatus {
  const { status } = workspace.latest_build;
  return status === 'running' && !workspace.health.healthy ? 'unhealthy' : status;
}

/** Returns why a workspace is unhealthy: the problems of its agents. */
export function getHealthReasons(workspace: Workspace): string[] {
  return workspace.latest_build.resources
    .flatMap((resource) => resource.agents ?? [])
    .filter((agent) => !agent.health.healthy && !agent.parent_id)
    .map((agent) => `${agent.name}: ${agent.health.reason || 'unhealthy'}`);
}

/** The status of a workspace as a badge. Its tooltip states why the workspace is unhealthy. */
export function WorkspaceStatusBadge({ workspace }: { workspace: Workspace }) {
  const status = getVisibleStatus(workspace);
  const { color, label, icon } = looks[status];
  const unhealthy = status === 'unhealthy';
  const badge = (
    <span
      className={plain.badge}
      style={{ background: `var(--mantine-color-${color}-light)`, color: `var(--mantine-color-${color}-light-color)` }}
      tabIndex={unhealthy ? 0 : undefined}
    >
      {icon === 'busy' && <span className={plain.spinner} />}
      {label}
    </span>
  );
  if (!unhealthy) return badge;
  const reasons = getHealthReasons(workspace);
  const why =
    reasons.length > 0
      ? reasons.join('; ')
      : `${formatCount(workspace.health.failing_agents.length, 'agent')} unhealthy`;
  return (
    <Suspense fallback={badge}>
      <Why label={why}>{badge}</Why>
    </Suspense>
  );
}

/** Shows the status of a workspace in the icon of the browser tab. */
export function StatusFavicon({ workspace }: { workspace: Workspace }) {
  const { icon } = looks[getVisibleStatus(workspace)];
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
    if (!link) return;
    const before = link.href;
    link.href = `${import.meta.env.BASE_URL}favicon-${icon}.svg`;
    return () => {
      link.href = before;
    };
  }, [icon]);
  return null;
}
