// @vitest-environment jsdom
import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { getRequests, renderPage } from '../testing/renderPage';

const press = (key: string, init = {}) => fireEvent.keyDown(document.activeElement ?? document.body, { key, ...init });

test('Ctrl+K finds objects and runs actions on them', async () => {
  const user = await renderPage('/templates');
  press('k', { ctrlKey: true });
  const search = await screen.findByRole('textbox', { name: 'Search for an object or an action' });
  expect(await screen.findByRole('button', { name: 'Go to Templates' })).toBeTruthy();
  await user.type(search, 'gpu');
  expect(await screen.findByRole('button', { name: /^gpu-test/ })).toBeTruthy();
  await user.click(await screen.findByRole('button', { name: 'Start gpu-test' }));
  await waitFor(() =>
    expect(getRequests('POST /workspaces/00000011-0000-4000-8000-000000000004/builds')).toMatchObject([
      { transition: 'start' },
    ]),
  );
});

test('the palette opens pages', async () => {
  const user = await renderPage('/templates');
  await user.click(screen.getByRole('button', { name: 'Search' }));
  await user.type(await screen.findByRole('textbox', { name: 'Search for an object or an action' }), 'ssh key');
  await user.click(await screen.findByRole('button', { name: 'Settings: SSH key' }));
  expect(await screen.findByRole('tab', { name: 'SSH key', selected: true })).toBeTruthy();
});

test('? shows the keyboard shortcuts, except while typing', async () => {
  await renderPage('/workspaces');
  const field = screen.getByRole('searchbox', { name: 'Search workspaces' });
  field.focus();
  press('?');
  expect(screen.queryByRole('dialog')).toBeNull();
  field.blur();
  press('?');
  const dialog = within(await screen.findByRole('dialog', { name: 'Keyboard shortcuts' }));
  expect(await dialog.findByText('Start or stop workspace')).toBeTruthy();
});
