import { expect, test } from 'vitest';
import { type Parameter, parseList, problem } from './parameter';

const base: Parameter = {
  default_value: '', description: '', description_plaintext: '', display_name: '', ephemeral: false, form_type: 'input', icon: '', mutable: true,
  name: 'p', options: [], required: true, type: 'string', validation_error: '', validation_monotonic: '' as never, validation_regex: '',
};

const number = { ...base, type: 'number', validation_min: 2, validation_max: 8 };
const option = { name: 'A', value: 'a', description: '', icon: '' };

test.each<[string, Parameter, string, string | undefined, string | undefined]>([
  ['required', base, '', undefined, 'This needs a value.'],
  ['not required', { ...base, required: false }, '', undefined, undefined],
  ['least', number, '1', undefined, 'The least is 2.'],
  ['most', number, '9', undefined, 'The most is 8.'],
  ['in between', number, '5', undefined, undefined],
  ['no number', number, 'five', undefined, 'This is not a number.'],
  ['own words', { ...number, validation_error: '{value} is not in {min}..{max}' }, '9', undefined, '9 is not in 2..8'],
  ['may only grow', { ...number, validation_monotonic: 'increasing' }, '3', '4', 'It may only grow: it was 4.'],
  ['grows', { ...number, validation_monotonic: 'increasing' }, '5', '4', undefined],
  ['no option', { ...base, options: [option] }, 'b', undefined, 'This is none of the options.'],
  ['an option', { ...base, options: [option] }, 'a', undefined, undefined],
  ['pattern', { ...base, validation_regex: '^[a-z]+$' }, 'A1', undefined, 'This does not match ^[a-z]+$.'],
  ['a pattern that browsers do not know', { ...base, validation_regex: '(?P<x>a)' }, 'b', undefined, undefined],
  ['no list', { ...base, type: 'list(string)' }, 'a,b', undefined, 'This is not a list.'],
])('%s', (_, p, value, previous, want) => expect(problem(p, value, previous)).toBe(want));

test('lists', () => {
  expect(parseList('["a","b"]')).toEqual(['a', 'b']);
  expect(parseList('[1]')).toBeUndefined();
  expect(parseList('x')).toBeUndefined();
});
