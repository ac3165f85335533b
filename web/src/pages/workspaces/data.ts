// What the pages of a workspace read and do.

import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';

export type Workspace = Schema<'Workspace'>;
export type Build = Schema<'WorkspaceBuild'>;
export type Agent = Schema<'WorkspaceAgent'>;
export type Parameter = Schema<'TemplateVersionParameter'>;
export type Value = Schema<'WorkspaceBuildParameter'>;

export const workspaceQuery = (owner: string, name: string) =>
  queryOptions({
    queryKey: ['workspace', owner, name],
    queryFn: () => api.get('/users/{user}/workspace/{workspacename}', { path: { user: owner, workspacename: name } }),
  });

export const versionParameters = (version: string) =>
  queryOptions({
    queryKey: ['version', version, 'parameters'],
    queryFn: () => api.get('/templateversions/{templateversion}/rich-parameters', { path: { templateversion: version } }),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const buildValues = (build: string) =>
  queryOptions({
    queryKey: ['build', build, 'values'],
    queryFn: () => api.get('/workspacebuilds/{workspacebuild}/parameters', { path: { workspacebuild: build } }),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Whether a build of the workspace is on its way. */
export const busy = (w: Workspace): boolean => ['pending', 'running', 'canceling'].includes(w.latest_build.job.status);

export interface BuildRequest {
  transition: Schema<'WorkspaceTransition'>;
  version?: string;
  values?: Value[];
  orphan?: boolean;
}

/** Begins a build and shows it at once. */
export function useBuild(w: Workspace) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ transition, version, values, orphan }: BuildRequest) =>
      api.post('/workspaces/{workspace}/builds', {
        path: { workspace: w.id },
        body: {
          transition,
          template_version_id: version,
          rich_parameter_values: values,
          orphan: orphan ?? false,
          dry_run: false,
          reason: transition === 'delete' ? undefined : 'dashboard',
        },
      }),
    onSuccess: (build) => {
      client.setQueryData<Workspace>(['workspace', w.owner_name, w.name], (old) => old && { ...old, latest_build: build });
      client.invalidateQueries({ queryKey: ['workspace', w.owner_name, w.name] });
    },
  });
}
