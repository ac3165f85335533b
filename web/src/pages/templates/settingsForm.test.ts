// @vitest-environment jsdom
import { act, renderHook } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { Template } from './queries';
import { useTemplateFields } from './settingsForm';

const version = (description: string, second: number) =>
  ({ description, updated_at: `2026-01-01T00:00:0${second}Z` }) as Template;
const read = (template: Template) => ({ description: template.description });

test('a save is no change by another user, although the template is not loaded again yet', () => {
  const old = version('old', 1);
  const form = renderHook(({ template }) => useTemplateFields(template, read), { initialProps: { template: old } });
  act(() => form.result.current.setF({ description: 'mine' }));
  act(() => form.result.current.saved(version('mine', 2), { description: 'mine' }));
  act(() => form.result.current.setF({ description: 'typed next' }));
  expect(form.result.current.conflict).toBe(false);
  form.rerender({ template: version('mine', 2) });
  expect(form.result.current.conflict).toBe(false);
  expect(form.result.current.f.description).toBe('typed next');
});

test('what is typed during a save is kept', () => {
  const form = renderHook(() => useTemplateFields(version('old', 1), read));
  act(() => form.result.current.setF({ description: 'sent' }));
  act(() => form.result.current.setF({ description: 'sent and more' }));
  act(() => form.result.current.saved(version('sent', 2), { description: 'sent' }));
  expect(form.result.current.f.description).toBe('sent and more');
});

test('an edited form reports the change of another user, an unedited one follows it', () => {
  const old = version('old', 1);
  const form = renderHook(({ template }) => useTemplateFields(template, read), { initialProps: { template: old } });
  form.rerender({ template: version('theirs', 2) });
  expect(form.result.current.f.description).toBe('theirs');
  act(() => form.result.current.setF({ description: 'mine' }));
  form.rerender({ template: version('theirs again', 3) });
  expect(form.result.current.conflict).toBe(true);
  expect(form.result.current.f.description).toBe('mine');
});
