import { expect, test } from 'vitest';
import type { Schema } from '../../api/client';
import { type MetadataHistory, appendMetadata, parseMeasurement } from './metadataHistory';

test.each([
  ['42%', 42],
  ['42 %', 42],
  [' 1.5/8 GiB (19%)', 1.5],
  ['0.3 (15%)', 0.3],
  ['-4', -4],
  ['120 MiB', 120],
  ['3 ms', 3],
  ['12 cores', 12],
  ['11.02, 12.51, 12.27', 11.02],
  ['16K', 16],
  ['1,234', undefined],
  ['2026-11-23', undefined],
  ['10.0.0.1', undefined],
  ['main', undefined],
  ['v1.2', undefined],
  ['', undefined],
])('the measurement of %j is %s', (value, number) => {
  expect(parseMeasurement(value)).toBe(number);
});

const row = (second: number, value: string, error = '') =>
  ({
    description: { key: 'cpu' },
    result: { collected_at: new Date(second * 1000).toISOString(), value, error },
  }) as Schema<'WorkspaceAgentMetadata'>;

test('each collected value counts once, and the last 60 are kept', () => {
  let history: MetadataHistory = {};
  for (let i = 0; i < 70; i++) {
    history = appendMetadata(history, [row(i, `${i}%`)]);
    history = appendMetadata(history, [row(i, `${i}%`)]);
  }
  expect(history.cpu?.numbers).toEqual(Array.from({ length: 60 }, (_, i) => i + 10));
  expect(appendMetadata(history, [row(71, '', 'exit status 1')])).toEqual({});
});
