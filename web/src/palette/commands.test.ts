import { expect, test } from 'vitest';
import { matchesWords, pageCommands } from './commands';

test('words match in any order and case', () => {
  expect(matchesWords('Settings: SSH key', 'key ssh')).toBe(true);
  expect(matchesWords('Settings: SSH key', '')).toBe(true);
  expect(matchesWords('Settings: SSH key', 'ssh keys')).toBe(false);
});

test('the labels of commands are unique', () => {
  const labels = pageCommands.map((c) => c.label);
  expect(labels).toEqual([...new Set(labels)]);
  expect(labels).toContain('Settings: SSH key');
});
