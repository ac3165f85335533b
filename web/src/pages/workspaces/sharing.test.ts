import { expect, test } from 'vitest';
import { candidates } from './sharing';

test('people and groups who do not have it yet', () => {
  const members = [
    { user_id: 'a', username: 'ann', name: 'Ann' },
    { user_id: 'b', username: 'bob', name: '' },
  ];
  const groups = [{ id: 'g', name: 'eng', display_name: 'Engineers' }];
  expect(candidates(members, groups, ['a'])).toEqual([
    { kind: 'user', id: 'b', label: 'bob' },
    { kind: 'group', id: 'g', label: 'Engineers (group)' },
  ]);
});
