// @vitest-environment jsdom
import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { expectFocus, fieldError, getRequests, mockResponse, renderPage } from '../../testing/renderPage';

const createToken = 'POST /users/me/keys/tokens';

async function openTokenForm() {
  const user = await renderPage('/settings/tokens');
  await user.click(await screen.findByRole('button', { name: 'Create token' }));
  const dialog = await screen.findByRole('dialog');
  return { user, dialog, name: await within(dialog).findByRole('textbox', { name: 'Name' }) };
}

test('create token sends the displayed values and displays the secret once', async () => {
  const { user, dialog, name } = await openTokenForm();
  await user.click(within(dialog).getByRole('button', { name: 'Create token' }));
  expect((name as HTMLInputElement).validity.valueMissing).toBe(true);
  await user.type(name, 'deploy');
  await user.click(within(dialog).getByRole('button', { name: 'Create token' }));
  const secret = await screen.findByRole('textbox', { name: 'Secret' });
  expect((secret as HTMLInputElement).value).toBe('demo-token-without-access');
  expect(getRequests(createToken)).toEqual([
    { token_name: 'deploy', scopes: ['coder:all'], allow_list: [], lifetime: 30 * 86_400_000_000_000 },
  ]);
});

test('create token focuses the field that the server rejects', async () => {
  const { user, dialog, name } = await openTokenForm();
  mockResponse(createToken, 400, fieldError('token_name', 'The name is already taken.'));
  await user.type(name, 'ci');
  await user.click(within(dialog).getByRole('button', { name: 'Create token' }));
  await waitFor(() => expect(name.getAttribute('aria-invalid')).toBe('true'));
  await expectFocus(name);
});

test('quiet hours are sent as a cron schedule', async () => {
  const user = await renderPage('/settings/schedule');
  const start = await screen.findByLabelText(/^Start time/);
  fireEvent.change(start, { target: { value: '22:30' } });
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(getRequests('PUT /users/me/quiet-hours')).toHaveLength(1));
  expect(getRequests('PUT /users/me/quiet-hours')[0]).toMatchObject({
    schedule: expect.stringMatching(/ 30 22 \* \* \*$/),
  });
});

test('a new password must be confirmed', async () => {
  const user = await renderPage('/settings/security');
  await user.type(await screen.findByLabelText(/^New password/), 'correct horse battery');
  await user.type(screen.getByLabelText(/^Confirm new password/), 'another');
  expect(await screen.findByText('The passwords do not match.')).toBeTruthy();
  expect(screen.getByRole('button', { name: 'Change password' })).toHaveProperty('disabled', true);
});
