import { expect, test } from 'vitest';
import type { Schema } from '../api/client';
import { mostReady, readyWords } from './preset';

const preset = (desired: number, ...scheduled: number[]): Schema<'Preset'> => ({
  id: '', name: '', description: '', icon: '', default: false, parameters: [], desiredPrebuildInstances: desired,
  prebuilds: { instances: desired, schedules: scheduled.map((instances) => ({ cron: '* 8 * * *', instances })) },
});

test('how many workspaces of a preset are kept ready', () => {
  expect(mostReady({ ...preset(2), prebuilds: undefined })).toBe(2);
  expect(readyWords(preset(2))).toBe('2 kept ready');
  expect(readyWords(preset(1, 5, 3))).toBe('1 to 5 kept ready');
  expect(readyWords(preset(3, 0))).toBe('3 kept ready');
  expect(mostReady(preset(0, 0))).toBe(0);
});
