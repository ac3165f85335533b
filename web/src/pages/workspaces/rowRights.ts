import type { Schema } from '../../api/client';
import type { Workspace } from './queries';

/** A workspace of a list, with what the user can do with it. */
export type ListedWorkspace = Workspace & { rights: Schema<'RBACAction'>[] };

/** Adds to each workspace what the user can do with it. The answer has it if the request asked for it. */
export const withRights = ({ workspaces, rights }: Schema<'WorkspacesResponse'>): ListedWorkspace[] =>
  workspaces.map((workspace) => ({ ...workspace, rights: rights?.[workspace.id] ?? [] }));
