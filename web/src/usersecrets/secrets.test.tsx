// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react';
import { expect, test } from 'vitest';
import { expectFocus, fieldError, getRequests, mockResponse, renderPage } from '../testing/renderPage';

const secret = {
  id: '00000031-0000-4000-8000-000000000001',
  name: 'npm',
  description: 'Registry',
  env_name: 'NPM_TOKEN',
  file_path: '',
  enabled: false,
  created_at: '2026-11-01T10:00:00Z',
  updated_at: '2026-11-01T10:00:00Z',
};

test('a secret is created, and an error of the server is at its field', async () => {
  mockResponse('GET /users/me/secrets', 200, []);
  mockResponse('POST /users/me/secrets', 400, fieldError('env_name', 'PATH is reserved.'));
  const user = await renderPage('/settings/secrets');
  await user.click(await screen.findByRole('button', { name: 'Create secret' }));
  const dialog = await screen.findByRole('dialog');
  await user.type(await screen.findByRole('textbox', { name: 'Name' }), 'npm');
  await user.type(screen.getByRole('textbox', { name: 'Value' }), 'hush');
  await user.type(screen.getByRole('textbox', { name: 'Environment variable' }), 'PATH');
  const submit = dialog.querySelector('button[type=submit]') as HTMLElement;
  await user.click(submit);
  expect(await screen.findByText('PATH is reserved.')).toBeTruthy();
  await expectFocus(screen.getByRole('textbox', { name: 'Environment variable' }));
  expect(getRequests('POST /users/me/secrets')).toMatchObject([
    { name: 'npm', value: 'hush', env_name: 'PATH', enabled: true },
  ]);
});

test('an edit without a value keeps the value, and a secret can be deleted', async () => {
  mockResponse('GET /users/me/secrets', 200, [secret]);
  mockResponse('PATCH /users/me/secrets/npm', 200, secret);
  mockResponse('DELETE /users/me/secrets/npm', 200, {});
  const user = await renderPage('/settings/secrets');
  expect(await screen.findByText('Disabled')).toBeTruthy();
  await user.click(await screen.findByRole('button', { name: 'Edit npm' }));
  await user.click(await screen.findByRole('checkbox', { name: 'Enabled' }));
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(getRequests('PATCH /users/me/secrets/npm')).toHaveLength(1));
  expect(getRequests('PATCH /users/me/secrets/npm')[0]).toEqual({
    description: 'Registry',
    env_name: 'NPM_TOKEN',
    file_path: '',
    enabled: true,
  });
  await user.click(await screen.findByRole('button', { name: 'Delete npm' }));
  await user.click(await screen.findByRole('button', { name: 'Delete' }));
  await waitFor(() => expect(getRequests('DELETE /users/me/secrets/npm')).toHaveLength(1));
});
