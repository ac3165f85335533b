import { expect, test } from 'vitest';
import { formatCSV } from './csv';
import { formatDay, periodOf } from './days';

test('comma-separated values', () => {
  const csv = formatCSV(
    ['Name', 'Credits'],
    [
      ['a "b", c', 1.23456],
      ['=1+1', -2],
      ['two\nlines', 0],
    ],
  );
  expect(csv).toBe('Name,Credits\r\n"a ""b"", c",1.235\r\n\'=1+1,-2\r\n"two\nlines",0\r\n');
});

test('a period ends today', () => {
  expect(periodOf(7, new Date(2026, 2, 3, 0, 30))).toEqual({ start_date: '2026-02-25', end_date: '2026-03-03' });
  expect(periodOf(1, new Date(2026, 10, 1, 23, 59))).toEqual({ start_date: '2026-11-01', end_date: '2026-11-01' });
  expect(formatDay('2026-11-01')).toMatch(/1/);
});
