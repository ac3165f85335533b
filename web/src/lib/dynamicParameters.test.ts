import { expect, test } from 'vitest';
import { findError, formatDiagnostics, parameterFromPreview } from './dynamicParameters';

const text = (value: string) => ({ valid: true, value });
const preview = {
  name: 'size',
  display_name: 'Size',
  description: 'How big',
  type: 'number',
  form_type: 'slider',
  icon: '',
  mutable: true,
  ephemeral: false,
  required: false,
  order: 1,
  default_value: text('2'),
  value: text('3'),
  options: [{ name: 'Two', description: '', icon: '', value: text('2') }],
  diagnostics: [],
  styling: { disabled: false, label: '', mask_input: false, placeholder: '' },
  validations: [
    {
      validation_min: 1,
      validation_max: 8,
      validation_error: '',
      validation_monotonic: 'increasing',
      validation_regex: '',
    },
  ],
};

test('converts an evaluated parameter', () => {
  const parameter = parameterFromPreview(preview as never);
  expect(parameter).toMatchObject({
    name: 'size',
    default_value: '2',
    validation_min: 1,
    validation_max: 8,
    validation_monotonic: 'increasing',
  });
  expect(parameter.options).toEqual([{ name: 'Two', description: '', icon: '', value: '2' }]);
  expect(
    parameterFromPreview({ ...preview, validations: [], default_value: { valid: false, value: 'x' } } as never),
  ).toMatchObject({ default_value: '', validation_regex: '' });
});

test('returns errors and ignores warnings', () => {
  const said = (severity: string, summary: string, detail = '') =>
    ({ severity, summary, detail, extra: { code: '' } }) as never;
  expect(formatDiagnostics([said('warning', 'old')], 'error')).toBeUndefined();
  expect(formatDiagnostics([said('error', 'No zone', 'pick one'), said('error', 'No size')], 'error')).toBe(
    'No zone: pick one; No size',
  );
});

test('the server decides once it has evaluated a value', () => {
  const parameter = parameterFromPreview({ ...preview, options: [] } as never);
  expect(findError(parameter, '9', undefined, false)).toBe('The maximum is 8.');
  expect(findError(parameter, '9', undefined, true)).toBeUndefined();
  expect(findError({ ...parameter, error: 'Too large here' }, '7', undefined, true)).toBe('Too large here');
  expect(findError(parameter, '3', '5', true)).toBe('The value can only increase. It is 5 now.');
  expect(findError({ ...parameter, required: true }, '', undefined, true)).toBe('Enter a value.');
});

test('keeps the style of a field', () => {
  const styling = { disabled: true, label: 'Agree', mask_input: true, placeholder: 'ghp_...' };
  expect(parameterFromPreview({ ...preview, styling } as never)).toMatchObject({
    locked: true,
    label: 'Agree',
    masked: true,
    placeholder: 'ghp_...',
    evaluated: '3',
  });
});
