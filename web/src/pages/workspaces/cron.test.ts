import { expect, test } from 'vitest';
import { formatSchedule, formatConfiguredDuration, parseSchedule } from './cron';

test.each([
  ['CRON_TZ=Europe/Berlin 30 9 * * 1-5', { zone: 'Europe/Berlin', minute: 30, hour: 9, days: [1, 2, 3, 4, 5] }],
  ['0 8 * * *', { zone: 'UTC', minute: 0, hour: 8, days: [0, 1, 2, 3, 4, 5, 6] }],
  ['TZ=UTC 5 23 * * MON,WED', { zone: 'UTC', minute: 5, hour: 23, days: [1, 3] }],
])('%s', (text, want) => expect(parseSchedule(text)).toEqual(want));

test.each(['0 8 1 * *', '*/5 * * * *', '', '0 8 * * 9'])('%j is not weekly', (text) =>
  expect(parseSchedule(text)).toBeUndefined(),
);

test('reads what it writes', () => {
  const w = { zone: 'Asia/Tokyo', minute: 5, hour: 0, days: [0, 6] };
  expect(parseSchedule(formatSchedule(w))).toEqual(w);
});

test.each([
  [3_600_000, '1 hour'],
  [30 * 86_400_000, '30 days'],
  [90 * 60_000, '90 minutes'],
  [1_500, '1.5 s'],
])('%d', (ms, want) => expect(formatConfiguredDuration(ms)).toBe(want));
