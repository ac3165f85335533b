import { describe, expect, it } from 'vitest';
import { parseTags, formatTags } from './tags';

describe('tags', () => {
  it('are parsed from name=value pairs', () => {
    expect(parseTags(['zone=mars', ' a = b=c ', 'empty='])).toEqual({ zone: 'mars', a: 'b=c', empty: '' });
    expect(parseTags([])).toEqual({});
  });
  it.each(['zone', '=mars', ' =x', ''])('are rejected: %j', (t) => expect(parseTags([t])).toBeUndefined());
  it('are sorted', () => expect(formatTags({ zone: 'mars', owner: '' })).toEqual(['owner=', 'zone=mars']));
});
