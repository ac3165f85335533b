import { Alert, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { ApiError, type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { me } from '../../api/queries';
import { Icon } from '../../parts/Icon';
import { Loading } from '../../parts/Loading';
import { Page } from '../../parts/Page';
import { Refusal } from '../../parts/Refusal';
import { parametersQuery } from '../../parts/parameter';
import { CreateForm, type Start } from './CreateForm';
import { buildValues, workspaceQuery } from './data';
import { anyName, copyName, fixedBy, valuesOf } from '../../parts/link';

const from = '/shell/templates/$organization/$template/workspace';

/** What the form begins with: what the link says, or a workspace that it is to be like. Undefined until it is known. */
function useStart(template: string) {
  const link = useSearch({ from });
  const model = useQuery({
    queryKey: ['workspace-model', link.from],
    queryFn: () => api.get('/workspaces/{workspace}', { path: { workspace: link.from ?? '' } }),
    enabled: link.from !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const values = useQuery({ ...buildValues(model.data?.latest_build.id ?? ''), enabled: model.data !== undefined });
  const start = useMemo((): Start | undefined => {
    const said = { values: valuesOf(link), fixed: fixedBy(link), auto: link.mode === 'auto' };
    if (!link.from) return { ...said, name: link.name ?? (said.auto ? anyName(template) : '') };
    if (!model.data || !values.data) return undefined;
    const before = Object.fromEntries(values.data.map((v) => [v.name, v.value]));
    return { ...said, values: { ...before, ...said.values }, name: link.name ?? copyName(model.data.name) };
  }, [link, model.data, values.data, template]);
  return { start, model: model.data, error: model.error ?? values.error };
}

/** Whether the workspace that a link would make is there; then the link leads to it. */
function useThere(start: Start | undefined, self: string | undefined) {
  const navigate = useNavigate();
  const there = useQuery({ ...workspaceQuery(self ?? '', start?.name ?? ''), enabled: Boolean(start?.auto && self), retry: false });
  const found = start?.auto && there.data;
  useEffect(() => {
    if (found) void navigate({ to: '/@{$owner}/$workspace', params: { owner: found.owner_name, workspace: found.name }, search: {}, replace: true });
  }, [found, navigate]);
  return start?.auto ? !(there.error instanceof ApiError) : false;
}

/** Making a workspace of a template: its owner, its name, a preset, its parameters. */
export default function Create() {
  const { organization, template: name } = useParams({ from });
  const { data: self } = useQuery(me);
  const template = useQuery({
    queryKey: ['template', organization, name],
    queryFn: () => api.get('/organizations/{organization}/templates/{templatename}', { path: { organization, templatename: name } }),
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
  useLive(['provisioner_daemon'], ['version', version]);
  const { start, model, error: startError } = useStart(name);
  const looking = useThere(start, self?.username);
  const error = template.error ?? parameters.error ?? presets.error ?? startError;
  const ready = !error && !looking && self && start && template.data && parameters.data && presets.data;
  return (
    <Page title={model ? `Another like ${model.name}` : 'New workspace'} wide={false}>
      <Refusal error={error} />
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
              {template.data.deprecation_message} No new workspaces can be made of it.
            </Alert>
          )}
          <NoProvisioner matched={details.data?.matched_provisioners} />
          <CreateForm key={template.data.id} self={self} template={template.data} parameters={parameters.data} presets={presets.data} start={start} />
        </Stack>
      )}
    </Page>
  );
}

/** Says before the submit that nobody is there to build. */
function NoProvisioner({ matched }: { matched?: Schema<'MatchedProvisioners'> | null }) {
  if (!matched || matched.available > 0) return null;
  return (
    <Alert color="yellow" title="No provisioner could build this now">
      {matched.count === 0
        ? 'None was ever there with the tags of this template. The workspace will wait until somebody starts one.'
        : `The ${matched.count} that match are not connected. The workspace will wait for them.`}
    </Alert>
  );
}
