import { Alert, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Navigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { ApiError, type Schema, api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { me } from '../../api/queries';
import { Icon } from '../../components/Icon';
import { Loading } from '../../components/Loading';
import { Page } from '../../components/Page';
import { formatCount } from '../../lib/text';
import { ErrorAlert } from '../../components/ErrorAlert';
import { parametersQuery } from '../../lib/parameter';
import { CreateWorkspaceForm, type InitialValues } from './CreateWorkspaceForm';
import { buildParametersQuery, workspaceQuery } from './queries';
import { randomName, copyName, getFixedParameters, getLinkValues } from '../../lib/createLink';

const routeID = '/shell/templates/$organization/$template/workspace';

/** Returns the initial values of the form, from the link or the workspace to duplicate; undefined while loading. */
function useInitialValues(template: string) {
  const link = useSearch({ from: routeID });
  const model = useQuery({
    queryKey: ['workspace-model', link.from],
    queryFn: () => api.get('/workspaces/{workspace}', { path: { workspace: link.from ?? '' } }),
    enabled: link.from !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const values = useQuery({
    ...buildParametersQuery(model.data?.latest_build.id ?? ''),
    enabled: model.data !== undefined,
  });
  const start = useMemo((): InitialValues | undefined => {
    const said = { values: getLinkValues(link), fixed: getFixedParameters(link), auto: link.mode === 'auto' };
    if (!link.from) return { ...said, name: link.name ?? (said.auto ? randomName(template) : '') };
    if (!model.data || !values.data) return undefined;
    const before = Object.fromEntries(values.data.map((parameter) => [parameter.name, parameter.value]));
    return { ...said, values: { ...before, ...said.values }, name: link.name ?? copyName(model.data.name) };
  }, [link, model.data, values.data, template]);
  return { start, model: model.data, error: model.error ?? values.error };
}

/** Finds the workspace that an automatic link would create. */
function useExistingWorkspace(start: InitialValues | undefined, self: string | undefined) {
  const there = useQuery({
    ...workspaceQuery(self ?? '', start?.name ?? ''),
    enabled: Boolean(start?.auto && self),
    retry: false,
  });
  const found = start?.auto && there.data;
  return { found, checking: start?.auto ? !(there.error instanceof ApiError) : false };
}

/** Creates a workspace from a template. */
export default function CreateWorkspace() {
  const { organization, template: name } = useParams({ from: routeID });
  const { data: self } = useQuery(me);
  const template = useQuery({
    queryKey: ['template', organization, name],
    queryFn: () =>
      api.get('/organizations/{organization}/templates/{templatename}', { path: { organization, templatename: name } }),
  });
  const version = template.data?.active_version_id ?? '';
  const parameters = useQuery(parametersQuery(version));
  const presets = useQuery({
    queryKey: ['version', version, 'presets'],
    queryFn: () => api.get('/templateversions/{templateversion}/presets', { path: { templateversion: version } }),
    enabled: version !== '',
  });
  const details = useQuery({
    queryKey: ['version', version],
    queryFn: () => api.get('/templateversions/{templateversion}', { path: { templateversion: version } }),
    enabled: version !== '',
  });
  useLiveUpdates(['provisioner_daemon'], ['version', version]);
  const { start, model, error: startError } = useInitialValues(name);
  const { found, checking } = useExistingWorkspace(start, self?.username);
  const error = template.error ?? parameters.error ?? presets.error ?? startError;
  const ready = !error && !checking && self && start && template.data && parameters.data && presets.data;
  if (found) {
    const params = { owner: found.owner_name, workspace: found.name };
    return <Navigate to="/@{$owner}/$workspace" params={params} search={{}} replace />;
  }
  return (
    <Page title={model ? `Duplicate ${model.name}` : 'Create workspace'} wide={false}>
      <ErrorAlert error={error} />
      {!error && !ready && <Loading />}
      {ready && (
        <Stack>
          <Group wrap="nowrap">
            <Icon src={template.data.icon} name={template.data.name} />
            <div>
              <Text fw={600}>{template.data.display_name || template.data.name}</Text>
              <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {template.data.description}
              </Text>
            </div>
          </Group>
          {template.data.deprecated && (
            <Alert color="orange" title="This template is deprecated">
              {template.data.deprecation_message} New workspaces cannot be created from it.
            </Alert>
          )}
          <ProvisionerWarning matched={details.data?.matched_provisioners} />
          <CreateWorkspaceForm
            key={template.data.id}
            self={self}
            template={template.data}
            parameters={parameters.data}
            presets={presets.data}
            start={start}
          />
        </Stack>
      )}
    </Page>
  );
}

/** Warns that no provisioner can build the workspace now. */
function ProvisionerWarning({ matched }: { matched?: Schema<'MatchedProvisioners'> | null }) {
  if (!matched || matched.available > 0) return null;
  return (
    <Alert color="yellow" title="No matching provisioner is available">
      {matched.count === 0
        ? 'No provisioner matches the tags of this template. The workspace stays pending until one is started.'
        : `${formatCount(matched.count, 'matching provisioner')} offline. The workspace stays pending until one connects.`}
    </Alert>
  );
}
