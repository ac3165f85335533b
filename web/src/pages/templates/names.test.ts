import { describe, expect, it } from 'vitest';
import { nameOf, nameProblem } from './names';

describe('names', () => {
  it.each(['a', 'docker-2', 'A1', 'x'.repeat(32)])('takes %j', (n) => expect(nameProblem(n)).toBeUndefined());
  it.each(['', '-a', 'a-', 'a--b', 'a b', 'größe', '😀', '<b>', 'x'.repeat(33)])('refuses %j', (n) => expect(nameProblem(n)).toBeTypeOf('string'));
  it.each([
    ['My Template.zip', 'my-template'],
    ['größe 😀', 'gro-e'],
    ['😀', ''],
    [`${'a'.repeat(31)} b`, 'a'.repeat(31)],
  ])('makes of %j %j', (text, name) => expect(nameOf(text)).toBe(name));
});
