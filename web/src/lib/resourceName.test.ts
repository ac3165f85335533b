import { describe, expect, it } from 'vitest';
import { suggestName, validateName } from './resourceName';

describe('names', () => {
  it.each(['a', 'docker-2', 'A1', 'x'.repeat(32)])('accepts %j', (n) => expect(validateName(n)).toBeUndefined());
  it.each(['', '-a', 'a-', 'a--b', 'a b', 'größe', '😀', '<b>', 'x'.repeat(33)])('rejects %j', (n) =>
    expect(validateName(n)).toBeTypeOf('string'),
  );
  it.each([
    ['My Template.zip', 'my-template'],
    ['größe 😀', 'gro-e'],
    ['😀', ''],
    [`${'a'.repeat(31)} b`, 'a'.repeat(31)],
  ])('turns %j into %j', (text, name) => expect(suggestName(text)).toBe(name));
});
