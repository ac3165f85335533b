import { describe, expect, it } from 'vitest';
import { parseTags, tagList } from './tags';

describe('tags', () => {
  it('are read as they are typed', () => {
    expect(parseTags(['zone=mars', ' a = b=c ', 'empty='])).toEqual({ zone: 'mars', a: 'b=c', empty: '' });
    expect(parseTags([])).toEqual({});
  });
  it.each(['zone', '=mars', ' =x', ''])('are refused: %j', (t) => expect(parseTags([t])).toBeUndefined());
  it('are shown sorted', () => expect(tagList({ zone: 'mars', owner: '' })).toEqual(['owner=', 'zone=mars']));
});
