import { expect, test } from 'vitest';
import { formatDuration, formatRelative } from './time';

const now = new Date('2026-05-01T12:00:00Z');

test.each([
  [-2, 'now'],
  [-40, '40 seconds ago'],
  [-3 * 3600, '3 hours ago'],
  [-86_400, 'yesterday'],
  [2 * 86_400, 'in 2 days'],
  [8 * 3600 - 20, 'in 8 hours'],
  [8 * 3600 - 1200, 'in 8 hours'],
  [3600 - 20, 'in 1 hour'],
  [-8 * 3600 + 20, '7 hours ago'],
])('%d seconds from now', (seconds, want) => {
  expect(formatRelative(new Date(now.getTime() + seconds * 1000), now)).toBe(want);
});

test.each([
  [350, '0.3 s'],
  [42_000, '42 s'],
  [63_000, '1 min 3 s'],
  [59_800, '1 min 0 s'],
  [119_700, '2 min 0 s'],
  [3_900_000, '1 h 5 min'],
])('%d ms', (ms, want) => {
  expect(formatDuration(ms)).toBe(want);
});
