import { expect, test } from 'vitest';
import { create } from '../../demo/openapi';
import type { Schema } from '../api/client';
import { getHealthReasons, getVisibleStatus } from './WorkspaceStatus';

const agent = (name: string, reason: string): Schema<'WorkspaceAgent'> =>
  create('WorkspaceAgent', { name, health: { healthy: reason === '', reason } });

const workspace = (status: Schema<'WorkspaceStatus'>, ...agents: Schema<'WorkspaceAgent'>[]) =>
  create('Workspace', {
    health: { healthy: agents.every((a) => a.health.healthy), failing_agents: [] },
    latest_build: create('WorkspaceBuild', { status, resources: [create('WorkspaceResource', { agents })] }),
  });

test('a running workspace whose agent failed is unhealthy', () => {
  const failed = agent('main', 'a start script failed');
  expect(getVisibleStatus(workspace('running', agent('main', '')))).toBe('running');
  expect(getVisibleStatus(workspace('running', agent('other', ''), failed))).toBe('unhealthy');
  expect(getVisibleStatus(workspace('stopping', failed))).toBe('stopping');
  expect(getHealthReasons(workspace('running', agent('other', ''), failed))).toEqual(['main: a start script failed']);
});
