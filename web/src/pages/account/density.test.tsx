// @vitest-environment jsdom
import { screen } from '@testing-library/react';
import { expect, test } from 'vitest';
import { renderPage } from '../../testing/renderPage';

test('the density of tables is applied and kept in the browser', async () => {
  const { click } = await renderPage('/settings/appearance');
  expect(document.documentElement.dataset.density).toBe('comfortable');
  expect(localStorage).toHaveLength(0); // nothing is stored before the user chooses
  const control = await screen.findByRole('radiogroup', { name: 'Density of tables' });
  await click(screen.getByRole('radio', { name: 'Compact' }));
  expect(control.contains(screen.getByRole('radio', { name: 'Compact', checked: true }))).toBe(true);
  expect(document.documentElement.dataset.density).toBe('compact');
  expect(localStorage.getItem('density')).toContain('compact');
});
