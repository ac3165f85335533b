import { expect, test } from 'vitest';
import { addView, parseViews } from './savedViews';

test('stored views of an unknown form are ignored', () => {
  expect(parseViews(undefined)).toEqual([]);
  expect(parseViews('not JSON')).toEqual([]);
  expect(parseViews('{"name":"mine"}')).toEqual([]);
  expect(parseViews('[{"name":"mine","q":"owner:me"},{"name":"broken"},null]')).toEqual([
    { name: 'mine', q: 'owner:me' },
  ]);
});

test('a view replaces the view of the same name', () => {
  const views = [{ name: 'mine', q: 'owner:me' }];
  expect(addView(views, { name: 'all', q: '' })).toEqual([
    { name: 'all', q: '' },
    { name: 'mine', q: 'owner:me' },
  ]);
  expect(addView(views, { name: 'mine', q: 'status:failed', sort: '-name' })).toEqual([
    { name: 'mine', q: 'status:failed', sort: '-name' },
  ]);
});
