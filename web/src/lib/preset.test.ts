import { expect, test } from 'vitest';
import type { Schema } from '../api/client';
import { maxPrebuilds, describePrebuilds } from './preset';

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
