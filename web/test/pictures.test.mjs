import { expect, test } from 'vitest';
import { Pictures } from './pictures.mjs';

const names = ['/users 1440 light', '/users 360 dark', undefined];

test('a picture of a page that no longer exists is reported', () => {
  const pictures = new Pictures({ '/users 1440 light': 'a', '/people 1440 light': 'b' });
  expect(pictures.checkUnused(names)).toEqual(['/people 1440 light']);
  expect(Object.keys(pictures.all)).toHaveLength(2);
});

test('an update removes pictures of pages that no longer exist', () => {
  const pictures = new Pictures({ '/users 1440 light': 'a', '/people 1440 light': 'b' }, undefined, true);
  expect(pictures.checkUnused(names)).toEqual([]);
  expect(pictures.all).toEqual({ '/users 1440 light': 'a' });
});
