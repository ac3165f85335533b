import { expect, test } from 'vitest';
import { getTerm, setTerm } from './filterQuery';

test('reads the value of a key', () => {
  expect(getTerm('owner:me status:running dev', 'status')).toBe('running');
  expect(getTerm('organization:"data science" x', 'organization')).toBe('data science');
  expect(getTerm('mystatus:x', 'status')).toBeUndefined();
});

test('changes one term and keeps the others', () => {
  expect(setTerm('owner:me dev', 'status', 'running')).toBe('owner:me dev status:running');
  expect(setTerm('status:running "two words" dev', 'status', 'stopped')).toBe('"two words" dev status:stopped');
  expect(setTerm('owner:me status:running', 'owner', undefined)).toBe('status:running');
  expect(setTerm('', 'organization', 'data science')).toBe('organization:"data science"');
});
