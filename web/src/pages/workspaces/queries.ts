// Queries and mutations of the workspace pages.

import { useDebouncedValue } from '@mantine/hooks';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';
import { usePermissionChecks } from '../../api/permissions';
import { validateName } from '../../lib/resourceName';

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
  queryOptions({
    queryKey: ['template', id],
    queryFn: () => api.get('/templates/{template}', { path: { template: id } }),
  });

/** Reports whether a user already has a workspace with this name. False while it is checked. */
export function useNameTaken(owner: string, name: string): boolean {
  const [settled] = useDebouncedValue(name, 250);
  const { data } = useQuery({
    queryKey: ['workspaces', 'name', owner, settled],
    queryFn: ({ signal }) =>
      api.get('/workspaces', { query: { q: `owner:"${owner}" name_exact:"${settled}"`, limit: 1 }, signal }),
    enabled: validateName(settled) === undefined,
    retry: false,
  });
  return settled === name && (data?.count ?? 0) > 0;
}

/** Returns the agents of the latest build of a workspace. */
export const getAgents = (workspace: Workspace): Agent[] =>
  workspace.latest_build.resources.flatMap((resource) => resource.agents ?? []);

/** Returns what the user can do with a workspace. */
export function useWorkspaceRights(workspace: Workspace | undefined) {
  const at = { on: 'workspace' as const, organization: workspace?.organization_id, id: workspace?.id };
  return usePermissionChecks(
    workspace && {
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

/** Reports whether the user can update the template of a workspace. False while it loads, and without a workspace. */
export const useCanUpdateTemplate = (workspace: Workspace | undefined): boolean =>
  usePermissionChecks(
    workspace && {
      update: {
        on: 'template',
        action: 'update',
        organization: workspace.organization_id,
        id: workspace.template_id,
      },
    },
  ).update;

export type Rights = ReturnType<typeof useWorkspaceRights>;

export const buildParametersQuery = (build: string) =>
  queryOptions({
    queryKey: ['build', build, 'values'],
    queryFn: () => api.get('/workspacebuilds/{workspacebuild}/parameters', { path: { workspacebuild: build } }),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Whether the next start of a stopped workspace is planned. The server plans at any time, so it is polled,
 * also while the page shows nothing to users who do not see the reason. */
export const planAheadQuery = (workspace: Workspace) =>
  queryOptions({
    queryKey: ['workspace', workspace.owner_name, workspace.name, 'plan-ahead', workspace.latest_build.id],
    queryFn: () => api.get('/workspaces/{workspace}/plan-ahead', { path: { workspace: workspace.id } }),
    refetchInterval: ({ state }) => state.data?.enabled && 15_000,
  });

/** Reports whether a build of the workspace is pending or running. */
export const isBuilding = (workspace: Workspace): boolean =>
  ['pending', 'running', 'canceling'].includes(workspace.latest_build.job.status);

export interface BuildRequest {
  transition: Schema<'WorkspaceTransition'>;
  version?: string;
  values?: Value[];
  orphan?: boolean;
  /** Stops the workspace first. The server starts it once the stop succeeded. */
  restart?: boolean;
  /** Logs in detail. */
  debug?: boolean;
}

/** Returns the body of the request for a build. */
function toBody({ restart, ...request }: BuildRequest): Schema<'CreateWorkspaceBuildRequest'> {
  const build = {
    template_version_id: request.version,
    rich_parameter_values: request.values,
    log_level: request.debug ? ('debug' as const) : undefined,
    reason: request.transition === 'delete' ? undefined : ('dashboard' as const),
  };
  const body = { transition: request.transition, orphan: request.orphan ?? false, dry_run: false };
  if (!restart) return { ...body, ...build };
  return { ...body, transition: 'stop', reason: 'dashboard', on_success: { ...build, transition: 'start' } };
}

/** Creates a build and updates the cached workspace immediately. */
export function useCreateBuild(workspace: Workspace) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (request: BuildRequest): Promise<Build> =>
      api.post('/workspaces/{workspace}/builds', { path: { workspace: workspace.id }, body: toBody(request) }),
    onSuccess: (build) => {
      client.setQueryData<Workspace>(
        ['workspace', workspace.owner_name, workspace.name],
        (old) => old && { ...old, latest_build: build },
      );
      void client.invalidateQueries({ queryKey: ['workspace', workspace.owner_name, workspace.name] });
      void client.invalidateQueries({ queryKey: ['workspaces'] });
    },
  });
}
