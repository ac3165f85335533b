import { expect, test } from 'vitest';
import { complaint, fromPreview } from './form';

const text = (value: string) => ({ valid: true, value });
const preview = {
  name: 'size', display_name: 'Size', description: 'How big', type: 'number', form_type: 'slider', icon: '', mutable: true, ephemeral: false, required: false, order: 1,
  default_value: text('2'), value: text('3'), options: [{ name: 'Two', description: '', icon: '', value: text('2') }], diagnostics: [],
  styling: { disabled: false, label: '', mask_input: false, placeholder: '' },
  validations: [{ validation_min: 1, validation_max: 8, validation_error: '', validation_monotonic: 'increasing', validation_regex: '' }],
};

test('what the server worked out', () => {
  const p = fromPreview(preview as never);
  expect(p).toMatchObject({ name: 'size', default_value: '2', validation_min: 1, validation_max: 8, validation_monotonic: 'increasing' });
  expect(p.options).toEqual([{ name: 'Two', description: '', icon: '', value: '2' }]);
  expect(fromPreview({ ...preview, validations: [], default_value: { valid: false, value: 'x' } } as never)).toMatchObject({ default_value: '', validation_regex: '' });
});

test('errors and no warnings', () => {
  const said = (severity: string, summary: string, detail = '') => ({ severity, summary, detail, extra: { code: '' } }) as never;
  expect(complaint([said('warning', 'old')])).toBeUndefined();
  expect(complaint([said('error', 'No zone', 'pick one'), said('error', 'No size')])).toBe('No zone: pick one; No size');
});
