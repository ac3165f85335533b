import { expect, test } from 'vitest';
import { type Parameter, parseList, validateParameter } from './parameter';

const base: Parameter = {
  default_value: '',
  description: '',
  description_plaintext: '',
  display_name: '',
  ephemeral: false,
  form_type: 'input',
  icon: '',
  mutable: true,
  name: 'p',
  options: [],
  required: true,
  type: 'string',
  validation_error: '',
  validation_monotonic: '' as never,
  validation_regex: '',
};

const number = { ...base, type: 'number', validation_min: 2, validation_max: 8 };
const option = { name: 'A', value: 'a', description: '', icon: '' };

test.each<[string, Parameter, string, string | undefined, string | undefined]>([
  ['required', base, '', undefined, 'Enter a value.'],
  ['not required', { ...base, required: false }, '', undefined, undefined],
  ['below the minimum', number, '1', undefined, 'The minimum is 2.'],
  ['above the maximum', number, '9', undefined, 'The maximum is 8.'],
  ['in between', number, '5', undefined, undefined],
  ['not a number', number, 'five', undefined, 'Enter a number.'],
  [
    'custom message',
    { ...number, validation_error: '{value} is not in {min}..{max}' },
    '9',
    undefined,
    '9 is not in 2..8',
  ],
  [
    'must increase',
    { ...number, validation_monotonic: 'increasing' },
    '3',
    '4',
    'The value can only increase. It is 4 now.',
  ],
  ['increases', { ...number, validation_monotonic: 'increasing' }, '5', '4', undefined],
  ['not an option', { ...base, options: [option] }, 'b', undefined, 'Select one of the options.'],
  ['an option', { ...base, options: [option] }, 'a', undefined, undefined],
  ['pattern', { ...base, validation_regex: '^[a-z]+$' }, 'A1', undefined, 'The value must match ^[a-z]+$.'],
  ['a pattern that browsers do not support', { ...base, validation_regex: '(?P<x>a)' }, 'b', undefined, undefined],
  ['not a list', { ...base, type: 'list(string)' }, 'a,b', undefined, 'Enter a list.'],
])('%s', (_, parameter, value, previous, want) => expect(validateParameter(parameter, value, previous)).toBe(want));

test('lists', () => {
  expect(parseList('["a","b"]')).toEqual(['a', 'b']);
  expect(parseList('[1]')).toBeUndefined();
  expect(parseList('x')).toBeUndefined();
});
