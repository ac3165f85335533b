import { Alert, Button, Group, Paper, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Form } from '../../components/Form';
import { Loading } from '../../components/Loading';
import { ParameterFields } from '../../components/ParameterFields';
import { ErrorAlert } from '../../components/ErrorAlert';
import { useParameterForm } from '../../components/useParameterForm';
import { type Parameter, parametersQuery } from '../../lib/parameter';
import { type Workspace, buildParametersQuery, isBuilding, useCreateBuild } from './queries';

/** Edits the parameters of a workspace and rebuilds it, with the active template version when outdated. */
export function WorkspaceParameters({ workspace, onDone }: { workspace: Workspace; onDone: () => void }) {
  const version = workspace.outdated
    ? workspace.template_active_version_id
    : workspace.latest_build.template_version_id;
  const parameters = useQuery({ ...parametersQuery(version), placeholderData: keepPreviousData });
  // Previous data keeps the unsaved input when another build starts.
  const values = useQuery({ ...buildParametersQuery(workspace.latest_build.id), placeholderData: keepPreviousData });
  if (parameters.error ?? values.error) return <ErrorAlert error={parameters.error ?? values.error} />;
  if (!parameters.data || !values.data) return <Loading />;
  const before = Object.fromEntries(values.data.map((parameter) => [parameter.name, parameter.value]));
  return (
    <ParametersForm
      workspace={workspace}
      version={version}
      parameters={parameters.data}
      before={before}
      onDone={onDone}
    />
  );
}

interface Props {
  workspace: Workspace;
  version: string;
  parameters: Parameter[];
  before: Record<string, string>;
  onDone: () => void;
}

function ParametersForm({ workspace, version, parameters, before, onDone }: Props) {
  const build = useCreateBuild(workspace);
  const form = useParameterForm({ version, owner: workspace.owner_id, plain: parameters, previous: before });
  const running = workspace.latest_build.transition === 'start' && workspace.latest_build.job.status === 'succeeded';
  const submit = async () => {
    const values = await form.check();
    if (!values) return false;
    build.mutate(
      { transition: 'start', restart: running, version: workspace.outdated ? version : undefined, values },
      { onSuccess: onDone },
    );
  };
  return (
    <Paper withBorder p="md" maw={720}>
      <Form error={build.error} onSubmit={submit} noValidate>
        <Stack>
          {workspace.outdated && (
            <Alert color="blue" title="Update available">
              These are the parameters of the active template version. Updating rebuilds the workspace with it.
            </Alert>
          )}
          <ErrorAlert error={build.error} />
          {form.parameters.length === 0 && <Text c="dimmed">This template has no parameters.</Text>}
          <ParameterFields form={form} />
          <Group>
            <Button type="submit" loading={form.checking || build.isPending} disabled={isBuilding(workspace)}>
              {workspace.outdated ? 'Update' : 'Save'} and {running ? 'restart' : 'start'}
            </Button>
            <Text size="sm" c="dimmed">
              {isBuilding(workspace)
                ? 'Wait for the current build to finish.'
                : running && 'The workspace restarts. Programs that run in it are stopped.'}
            </Text>
          </Group>
        </Stack>
      </Form>
    </Paper>
  );
}
