import { expect, test } from 'vitest';
import { listChanges, formatValue } from './diff';

test.each([
  [null, ''],
  [undefined, ''],
  ['<b>', '<b>'],
  [false, 'false'],
  [0, '0'],
  [['a'], '["a"]'],
])('%j', (value, want) => expect(formatValue(value)).toBe(want));

test('sorts changes and hides secrets', () => {
  const diff = { name: { old: 'a', new: 'b', secret: false }, hash: { old: '', new: '', secret: true } };
  expect(listChanges({ diff } as never)).toEqual([
    { field: 'hash', old: '', new: '', secret: true },
    { field: 'name', old: 'a', new: 'b', secret: false },
  ]);
});
