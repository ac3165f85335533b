import { Anchor, Badge, Button, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { complain } from '../../parts/confirm';
import type { Organization } from './data';

export type Job = Schema<'ProvisionerJob'>;

const colors: Record<string, string> = { succeeded: 'green', failed: 'red', canceled: 'orange', canceling: 'orange', running: 'blue', pending: 'yellow' };

/** The state of a job, in a word and a colour. */
export function JobStatus({ job }: { job: Job }) {
  return (
    <Badge variant="light" color={colors[job.status] ?? 'gray'}>
      {job.status}
    </Badge>
  );
}

const kinds: Record<Schema<'ProvisionerJobType'>, string> = {
  workspace_build: 'Build of',
  template_version_import: 'Import of',
  template_version_dry_run: 'Trial of',
};

/** What a job is for. */
export function JobSubject({ o, job }: { o: Organization; job: Job }) {
  const m = job.metadata;
  return (
    <Text size="sm" component="span" style={{ overflowWrap: 'anywhere' }}>
      {kinds[job.type]}{' '}
      {m.workspace_name && (
        <>
          <Anchor component={Link} to={`/workspaces?q=${encodeURIComponent(`name:${m.workspace_name}`)}`} inherit underline="always">
            {m.workspace_name}
          </Anchor>
          , of{' '}
        </>
      )}
      {m.template_name ? (
        <Anchor component={Link} to={`/templates/${o.name}/${m.template_name}`} inherit underline="always">
          {m.template_display_name || m.template_name}
        </Anchor>
      ) : (
        'a new template'
      )}{' '}
      <Text span c="dimmed" inherit>
        {m.template_version_name}
      </Text>
    </Text>
  );
}

function cancel(job: Job): Promise<unknown> {
  const { workspace_build_id: build, template_version_id: version } = job.input;
  if (build) return api.patch('/workspacebuilds/{workspacebuild}/cancel', { path: { workspacebuild: build } });
  if (job.type === 'template_version_dry_run') {
    return api.patch('/templateversions/{templateversion}/dry-run/{jobID}/cancel', { path: { templateversion: version ?? '', jobID: job.id } });
  }
  return api.patch('/templateversions/{templateversion}/cancel', { path: { templateversion: version ?? '' } });
}

/** Ends a job that waits or runs. */
export function Cancel({ job }: { job: Job }) {
  const client = useQueryClient();
  const end = useMutation({
    mutationFn: () => cancel(job),
    onSuccess: () => Promise.all(['jobs', 'queue'].map((k) => client.invalidateQueries({ queryKey: [k, job.organization_id] }))),
    onError: complain,
  });
  if (!['pending', 'running'].includes(job.status)) return null;
  const name = job.metadata.workspace_name || job.metadata.template_version_name;
  return (
    <Button size="compact-sm" variant="subtle" color="red" loading={end.isPending} onClick={() => end.mutate()} aria-label={`Cancel the job of ${name}`}>
      Cancel
    </Button>
  );
}
