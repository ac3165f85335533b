import { Button } from '@mantine/core';
import { IconBug, IconRefresh } from '@tabler/icons-react';
import { FailedJob } from '../../components/FailedJob';
import { notifyError } from '../../components/confirm';
import { type Build, type Rights, type Workspace, useCanUpdateTemplate, useCreateBuild } from './queries';

interface Props {
  workspace: Workspace;
  build: Build;
  may: Rights;
}

/** Explains a failed build, with buttons that build again while it is the latest build. */
export function FailedBuild({ workspace, build, may }: Props) {
  const create = useCreateBuild(workspace);
  const edit = useCanUpdateTemplate(workspace);
  const { transition } = build;
  const allowed = { start: may.start, stop: may.stop, delete: may.remove }[transition];
  const latest = workspace.latest_build.id === build.id;
  const retry = (debug: boolean) => create.mutate({ transition, debug }, { onError: notifyError });
  return (
    <FailedJob
      title={latest ? `The last build (${transition}) failed` : 'Build failed'}
      job={build.job}
      log={`/api/v2/workspacebuilds/${build.id}/logs`}
      source={
        edit
          ? {
              organization: workspace.organization_name,
              template: workspace.template_name,
              version: build.template_version_name,
            }
          : undefined
      }
      actions={
        latest &&
        allowed && (
          <>
            <Button
              size="xs"
              leftSection={<IconRefresh size={14} />}
              loading={create.isPending}
              onClick={() => retry(false)}
            >
              Retry
            </Button>
            {edit && (
              <Button
                size="xs"
                variant="default"
                leftSection={<IconBug size={14} />}
                disabled={create.isPending}
                onClick={() => retry(true)}
              >
                Retry with debug logging
              </Button>
            )}
          </>
        )
      }
    />
  );
}
