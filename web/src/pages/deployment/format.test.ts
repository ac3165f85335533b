import { expect, test } from 'vitest';
import { formatBytes, formatSetting } from './format';

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [12_345_678, '12.3 MB'],
])('%d', (n, want) => expect(formatBytes(n)).toBe(want));

test.each([
  [null, ''],
  ['', ''],
  [false, 'false'],
  [['a', 'b'], 'a, b'],
  [{ a: 1 }, '{"a":1}'],
])('%j', (v, want) => expect(formatSetting(v)).toBe(want));
