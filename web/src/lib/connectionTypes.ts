import type { Schema } from '../api/client';

/** The types of connections to workspaces, as the dashboard names them. */
export const connectionTypes: Record<Schema<'ConnectionType'>, string> = {
  ssh: 'SSH',
  vscode: 'VS Code',
  jetbrains: 'JetBrains',
  reconnecting_pty: 'Web terminal',
  workspace_app: 'App',
  port_forwarding: 'Port',
};
