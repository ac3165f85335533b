import { expect, test } from 'vitest';
import { parseSearch, stringifySearch } from './searchParams';

test.each([
  ['?q=007', { q: '007' }],
  ['?q=1e3', { q: '1e3' }],
  ['?q=12345678901234567890', { q: '12345678901234567890' }],
  ['?q=4', { q: 4 }],
  ['?q=true&page=2', { q: true, page: 2 }],
  ['?q=%224%22', { q: '4' }],
  ['?q=owner%3Ame%20x', { q: 'owner:me x' }],
  ['?q=%5B%22a%22%5D', { q: ['a'] }],
  ['?q=%5B%22a%22%2C%20%22b%22%5D', { q: '["a", "b"]' }],
])('%s', (text, want) => {
  const read = parseSearch(text);
  expect(read).toEqual(want);
  expect(parseSearch(stringifySearch(read))).toEqual(want); // stable
});
