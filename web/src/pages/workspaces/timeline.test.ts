import { expect, test } from 'vitest';
import type { Schema } from '../../api/client';
import { getPhases, durationTicks } from './timeline';

const at = (seconds: number) => new Date(seconds * 1000).toISOString();

test('steps are grouped by phase, in order', () => {
  const provisioner = (stage: string, resource: string, from: number, to: number) => ({
    stage,
    resource,
    action: 'create',
    started_at: at(from),
    ended_at: at(to),
  });
  const timings = {
    provisioner_timings: [
      provisioner('apply', 'docker_container.main', 5, 9),
      provisioner('init', '', 0, 1),
      provisioner('apply', 'docker_volume.home', 3, 4),
    ],
    agent_connection_timings: [{ stage: 'connect', workspace_agent_name: 'main', started_at: at(9), ended_at: at(10) }],
    agent_script_timings: [{ stage: 'start', display_name: 'Clone', started_at: at(10), ended_at: at(12) }],
  } as unknown as Schema<'WorkspaceBuildTimings'>;
  expect(getPhases(timings).map((p) => [p.name, p.from / 1000, p.to / 1000, p.steps.map((s) => s.name)])).toEqual([
    ['Initialize', 0, 1, ['create']],
    ['Apply', 3, 9, ['docker_volume.home', 'docker_container.main']],
    ['Connect agents', 9, 10, ['main']],
    ['Startup scripts', 10, 12, ['Clone']],
  ]);
});

test.each([
  [0, [0]],
  [40, [0]],
  [950, [0, 200, 400, 600, 800]],
  [7_000, [0, 2_000, 4_000, 6_000]],
  [80_000, [0, 15_000, 30_000, 45_000, 60_000, 75_000]],
  [600_000, [0, 120_000, 240_000, 360_000, 480_000, 600_000]],
])('an axis of %d ms has round ticks', (length, ticks) => {
  expect(durationTicks(length)).toEqual(ticks);
});
