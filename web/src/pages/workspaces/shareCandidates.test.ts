import { expect, test } from 'vitest';
import { listCandidates } from './shareCandidates';

test('lists users and groups without a role', () => {
  const members = [
    { user_id: 'a', username: 'ann', name: 'Ann' },
    { user_id: 'b', username: 'bob', name: '' },
  ];
  const groups = [{ id: 'g', name: 'eng', display_name: 'Engineers' }];
  expect(listCandidates(members, groups, ['a'])).toEqual([
    { kind: 'user', id: 'b', label: 'bob' },
    { kind: 'group', id: 'g', label: 'Engineers (group)' },
  ]);
});
