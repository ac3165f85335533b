import { expect, test } from 'vitest';
import type { Schema } from '../api/client';
import { describePrebuilds, explainPrebuilds, maxPrebuilds } from './preset';

const preset = (desired: number, ...scheduled: number[]): Schema<'Preset'> => ({
  ID: '',
  Name: '',
  Description: '',
  Icon: '',
  Default: false,
  Parameters: [],
  DesiredPrebuildInstances: desired,
  prebuilds: { instances: desired, schedules: scheduled.map((instances) => ({ cron: '* 8 * * *', instances })) },
});

test('describes the prebuilt workspaces of a preset', () => {
  expect(maxPrebuilds({ ...preset(2), prebuilds: undefined })).toBe(2);
  expect(describePrebuilds(preset(2))).toBe('2 prebuilt');
  expect(describePrebuilds(preset(1, 5, 3))).toBe('1 to 5 prebuilt');
  expect(describePrebuilds(preset(3, 0))).toBe('3 prebuilt');
  expect(maxPrebuilds(preset(0, 0))).toBe(0);
});

test('explains how many prebuilt workspaces a preset has', () => {
  const explain = (demand: number, desired: number, failures = 0, suspended = false) =>
    explainPrebuilds(preset(2), {
      preset_id: '',
      preset_name: '',
      defined_instances: 2,
      demand_instances: demand,
      desired_instances: desired,
      running: 0,
      eligible: 0,
      failures_in_a_row: failures,
      suspended,
    });
  expect(explain(0, 2)).toBe('2 prebuilt');
  expect(explain(5, 5)).toBe('2 by the preset, 5 by the demand of past weeks');
  expect(explain(5, 3)).toBe('2 by the preset, 5 by the demand of past weeks, limited by the budget');
  expect(explain(0, 2, 1)).toBe('Waiting before the next attempt after 1 failed build in a row');
  expect(explain(0, 2, 3, true)).toMatch(/^Suspended after 3 failed builds in a row: /);
});
