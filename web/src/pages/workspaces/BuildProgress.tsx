import { Group, Paper, Progress, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { formatDuration, useNow } from '../../components/time';
import { type Workspace, templateQuery } from './queries';

/** Returns the percentage of a build that is done, from the usual duration. It never reaches 100 before the end. */
export function estimateProgress(elapsed: number, usual: number): number {
  if (usual <= 0) return 0;
  return Math.min(95, Math.max(2, (100 * elapsed) / usual));
}

/** The progress of a running build, estimated from the usual duration of the template's builds. */
export function BuildProgress({ workspace }: { workspace: Workspace }) {
  const { job, transition } = workspace.latest_build;
  const { data: template } = useQuery(templateQuery(workspace.template_id));
  const now = useNow(1_000);
  const usual = template?.build_time_stats[transition]?.P50 ?? 0;
  if (job.status !== 'running' || !job.started_at || usual <= 0) return null;
  const elapsed = Math.max(0, now.getTime() - Date.parse(job.started_at));
  return (
    <Paper withBorder p="md" mb="md">
      <Group justify="space-between" mb={6}>
        <Text size="sm" fw={600}>
          {{ start: 'Starting', stop: 'Stopping', delete: 'Deleting' }[transition]}
        </Text>
        <Text size="sm" c="dimmed">
          {formatDuration(elapsed)} of about {formatDuration(usual)}
        </Text>
      </Group>
      <Progress value={estimateProgress(elapsed, usual)} animated aria-label="Progress of the build" />
    </Paper>
  );
}
