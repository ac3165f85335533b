// @vitest-environment jsdom
import { fireEvent, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, expect, test, vi } from 'vitest';
import { expectFocus, renderPage } from '../testing/renderPage';

const name = /^Account menu of/;

afterEach(() => {
  vi.doUnmock('../layout/UserMenu');
  vi.restoreAllMocks();
});

test('a menu opens with the keyboard, and Escape returns the focus to its button', async () => {
  await renderPage('/workspaces');
  const user = userEvent.setup({ delay: null });
  const button = screen.getByRole('button', { name });
  expect(button.getAttribute('aria-haspopup')).toBe('menu');
  expect(button.getAttribute('aria-expanded')).toBe('false');
  button.focus();
  await user.keyboard('{Enter}');
  const menu = await screen.findByRole('menu');
  expect(button.getAttribute('aria-expanded')).toBe('true');
  expect(button.getAttribute('aria-controls')).toBe(menu.id);
  await waitFor(() => expect(menu.contains(document.activeElement)).toBe(true));
  await user.keyboard('{Escape}');
  await waitFor(() => expect(screen.queryByRole('menu')).toBeNull());
  await expectFocus(button);
  expect(button.getAttribute('aria-expanded')).toBe('false');
});

test('a click on the button of an open menu closes it, and one outside does', async () => {
  const user = await renderPage('/workspaces');
  const button = screen.getByRole('button', { name });
  await user.click(button);
  await screen.findByRole('menu');
  await user.click(button);
  await waitFor(() => expect(screen.queryByRole('menu')).toBeNull());
  await user.click(button);
  await screen.findByRole('menu');
  fireEvent.mouseDown(document.body);
  await waitFor(() => expect(screen.queryByRole('menu')).toBeNull());
});

test('a menu whose code cannot be loaded says so, and opens when its button is used again', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined); // React logs what a boundary catches
  let offline = true;
  vi.doMock('../layout/UserMenu', async (original) => {
    if (offline) throw new TypeError('Failed to fetch dynamically imported module');
    return original();
  });
  await renderPage('/workspaces');
  const user = userEvent.setup({ delay: null });
  const button = screen.getByRole('button', { name });
  button.focus();
  await user.keyboard('{Enter}');
  expect(await screen.findByText('Part of the dashboard could not be loaded.')).toBeTruthy();
  expect(screen.getByRole('heading', { level: 1, name: 'Workspaces' })).toBeTruthy();
  await waitFor(() => expect(button.getAttribute('aria-expanded')).toBe('false'));
  offline = false;
  await user.keyboard('{Enter}');
  expect(await screen.findByRole('menu')).toBeTruthy();
});
