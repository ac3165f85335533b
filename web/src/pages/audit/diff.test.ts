import { expect, test } from 'vitest';
import { changes, shown } from './diff';

test.each([
  [null, ''],
  [undefined, ''],
  ['<b>', '<b>'],
  [false, 'false'],
  [0, '0'],
  [['a'], '["a"]'],
])('%j', (value, want) => expect(shown(value)).toBe(want));

test('changes are in order and keep secrets out', () => {
  const diff = { name: { old: 'a', new: 'b', secret: false }, hash: { old: '', new: '', secret: true } };
  expect(changes({ diff } as never)).toEqual([
    { field: 'hash', old: '', new: '', secret: true },
    { field: 'name', old: 'a', new: 'b', secret: false },
  ]);
});
