import type { QueryClient } from '@tanstack/react-query';
import { permissionChecks } from '../../api/permissions';
import type { Workspace } from './queries';

const actions = ['start', 'stop', 'ssh', 'application_connect', 'update'] as const;

/** A workspace of a list, with what the user can do with it. */
export type ListedWorkspace = Workspace & { rights: (typeof actions)[number][] };

/** Adds what the user can do with each workspace. One request asks for all of them. */
export async function addRights(client: QueryClient, workspaces: Workspace[]): Promise<ListedWorkspace[]> {
  if (workspaces.length === 0) return [];
  const request = client.fetchQuery(
    permissionChecks(
      Object.fromEntries(
        workspaces.flatMap(({ id, organization_id: organization }) =>
          actions.map((action) => [`${id} ${action}`, { on: 'workspace' as const, action, organization, id }]),
        ),
      ),
    ),
  );
  const granted: Record<string, boolean> = await request.catch(() => ({})); // without an answer, rows have no buttons
  return workspaces.map((workspace) => ({
    ...workspace,
    rights: actions.filter((action) => granted[`${workspace.id} ${action}`]),
  }));
}
