import { expect, test } from 'vitest';
import { nextSort } from './sort';

test('clicks on a column sort up, down, then not', () => {
  expect(nextSort(undefined, 'name')).toBe('name');
  expect(nextSort('name', 'name')).toBe('-name');
  expect(nextSort('-name', 'name')).toBeUndefined();
  expect(nextSort('-name', 'status')).toBe('status');
  expect(nextSort('name', 'last_used')).toBe('-last_used');
});
