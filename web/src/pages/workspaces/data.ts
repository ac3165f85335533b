// What the pages of a workspace read and do.

import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';
import { useMay } from '../../api/permissions';
import { follow } from '../../api/stream';

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

export const templateQuery = (id: string) =>
  queryOptions({ queryKey: ['template', id], queryFn: () => api.get('/templates/{template}', { path: { template: id } }) });

/** The agents of a workspace as it was built last. */
export const agentsOf = (w: Workspace): Agent[] => w.latest_build.resources.flatMap((r) => r.agents ?? []);

/** What somebody may do with a workspace. */
export function useWorkspaceRights(w: Workspace | undefined) {
  const at = { on: 'workspace' as const, organization: w?.organization_id, id: w?.id };
  return useMay(
    w && {
      update: { ...at, action: 'update' },
      remove: { ...at, action: 'delete' },
      start: { ...at, action: 'start' },
      stop: { ...at, action: 'stop' },
      share: { ...at, action: 'share' },
      ssh: { ...at, action: 'ssh' },
      connect: { ...at, action: 'application_connect' },
    },
  );
}

export type Rights = ReturnType<typeof useWorkspaceRights>;

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
  /** Stops the workspace first, so that what runs in it begins anew. */
  restart?: boolean;
}

/** Waits until a build is over. */
const ended = (build: string): Promise<void> =>
  new Promise((resolve) => {
    follow<Schema<'ProvisionerJobLog'>>((after) => `/api/v2/workspacebuilds/${build}/logs?follow=true&after=${after}`, () => undefined, (line) => line.id, resolve);
  });

/** Begins a build and shows it at once. */
export function useBuild(w: Workspace) {
  const client = useQueryClient();
  const begin = async (r: BuildRequest): Promise<Build> => {
    const build = await api.post('/workspaces/{workspace}/builds', {
      path: { workspace: w.id },
      body: {
        transition: r.transition,
        template_version_id: r.version,
        rich_parameter_values: r.values,
        orphan: r.orphan ?? false,
        dry_run: false,
        reason: r.transition === 'delete' ? undefined : 'dashboard',
      },
    });
    client.setQueryData<Workspace>(['workspace', w.owner_name, w.name], (old) => old && { ...old, latest_build: build });
    void client.invalidateQueries({ queryKey: ['workspace', w.owner_name, w.name] });
    return build;
  };
  return useMutation({
    mutationFn: async ({ restart, ...r }: BuildRequest) => {
      if (restart) {
        const { id } = await begin({ transition: 'stop' });
        await ended(id);
        const { job } = await api.get('/workspacebuilds/{workspacebuild}', { path: { workspacebuild: id } });
        if (job.status !== 'succeeded') throw new Error(`The workspace was not stopped (${job.error || job.status}), so it was not started again.`);
      }
      return begin(r);
    },
  });
}
