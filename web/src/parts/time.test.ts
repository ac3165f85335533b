import { expect, test } from 'vitest';
import { duration, relative } from './time';

const now = new Date('2026-05-01T12:00:00Z');

test.each([
  [-2, 'now'],
  [-40, '40 seconds ago'],
  [-3 * 3600, '3 hours ago'],
  [-86_400, 'yesterday'],
  [2 * 86_400, 'in 2 days'],
])('%d seconds from now', (seconds, want) => {
  expect(relative(new Date(now.getTime() + seconds * 1000), now)).toBe(want);
});

test.each([
  [350, '0.3 s'],
  [42_000, '42 s'],
  [63_000, '1 min 3 s'],
  [3_900_000, '1 h 5 min'],
])('%d ms', (ms, want) => {
  expect(duration(ms)).toBe(want);
});
