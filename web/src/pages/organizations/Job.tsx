import { Anchor, Button, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { notifyError } from '../../components/confirm';
import type { Organization } from './queries';

export type Job = Schema<'ProvisionerJob'>;

const jobKinds: Record<Schema<'ProvisionerJobType'>, string> = {
  workspace_build: 'Build of',
  template_version_import: 'Import of',
  template_version_dry_run: 'Dry run of',
};

/** The workspace or template that a job works on. */
export function JobSubject({ organization, job }: { organization: Organization; job: Job }) {
  const m = job.metadata;
  return (
    <Text size="sm" component="span" style={{ overflowWrap: 'anywhere' }}>
      {jobKinds[job.type]}{' '}
      {m.workspace_name && (
        <>
          <Anchor
            component={Link}
            to={`/workspaces?q=${encodeURIComponent(`name:${m.workspace_name}`)}`}
            inherit
            underline="always"
          >
            {m.workspace_name}
          </Anchor>
          , template{' '}
        </>
      )}
      {m.template_name ? (
        <Anchor component={Link} to={`/templates/${organization.name}/${m.template_name}`} inherit underline="always">
          {m.template_display_name || m.template_name}
        </Anchor>
      ) : (
        'New template'
      )}{' '}
      <Text span c="dimmed" inherit>
        {m.template_version_name}
      </Text>
    </Text>
  );
}

function cancelJob(job: Job): Promise<unknown> {
  const { workspace_build_id: build, template_version_id: version } = job.input;
  if (build) return api.patch('/workspacebuilds/{workspacebuild}/cancel', { path: { workspacebuild: build } });
  if (job.type === 'template_version_dry_run') {
    return api.patch('/templateversions/{templateversion}/dry-run/{jobID}/cancel', {
      path: { templateversion: version ?? '', jobID: job.id },
    });
  }
  return api.patch('/templateversions/{templateversion}/cancel', { path: { templateversion: version ?? '' } });
}

/** Cancels a pending or running job. */
export function CancelJob({ job }: { job: Job }) {
  const client = useQueryClient();
  const end = useMutation({
    mutationFn: () => cancelJob(job),
    onSuccess: () =>
      Promise.all(['jobs', 'queue'].map((k) => client.invalidateQueries({ queryKey: [k, job.organization_id] }))),
    onError: notifyError,
  });
  if (!['pending', 'running'].includes(job.status)) return null;
  const name = job.metadata.workspace_name || job.metadata.template_version_name;
  return (
    <Button
      size="compact-sm"
      variant="subtle"
      color="red"
      loading={end.isPending}
      onClick={() => end.mutate()}
      aria-label={`Cancel job of ${name}`}
    >
      Cancel
    </Button>
  );
}
