import { expect, test } from 'vitest';
import { axisTicks } from './chart';
import { linesOf, timeTicks } from './TimeChart';

test.each([
  [0, [0, 1]],
  [3, [0, 1, 2, 3]],
  [10, [0, 5, 10]],
  [37, [0, 10, 20, 30, 40]],
  [1200, [0, 500, 1000, 1500]],
])('an axis up to %d', (max, want) => expect(axisTicks(max)).toEqual(want));

test.each([
  [0.7, [0, 0.2, 0.4, 0.6, 0.8]],
  [2.5, [0, 1, 2, 3]],
  [0, [0, 0.5, 1]],
])('an axis of fractions up to %d', (max, want) => expect(axisTicks(max, false)).toEqual(want));

test('a day has a tick every four hours', () => {
  const since = new Date(2026, 10, 1, 9, 30).getTime();
  const ticks = timeTicks(since, since + 24 * 3_600_000).map((at) => new Date(at));
  expect(ticks.map((at) => at.getHours())).toEqual([12, 16, 20, 0, 4, 8]);
  expect(ticks.every((at) => at.getMinutes() === 0)).toBe(true);
});

test('a line ends where nothing was measured', () => {
  const at = (minute: number, value?: number) => ({ time: `0${minute}`, value, state: 'ok' as const, series: 'a' });
  const lines = linesOf([at(0, 1), at(1, 2), at(2), at(3, 3), at(4), at(5, 4), at(6, 5)]);
  expect(lines.map((line) => line.map((p) => p.value))).toEqual([
    [1, 2],
    [4, 5],
  ]);
});
