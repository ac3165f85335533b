// @vitest-environment jsdom
import { screen, waitFor, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { expectFocus, fieldError, getRequests, mockResponse, renderPage } from '../../testing/renderPage';

async function openForm() {
  const user = await renderPage('/users');
  await user.click(await screen.findByRole('button', { name: 'Create user' }));
  const dialog = await screen.findByRole('dialog');
  return {
    user,
    dialog,
    field: (name: string) => within(dialog).findByLabelText(new RegExp(`^${name}`), { selector: 'input' }),
  };
}

test('create user requires its fields', async () => {
  const { user, dialog, field } = await openForm();
  const username = await field('Username');
  await user.click(within(dialog).getByRole('button', { name: 'Create user' }));
  expect((username as HTMLInputElement).validity.valueMissing).toBe(true);
  expect(getRequests('POST /users')).toEqual([]);
});

test('create user sends the displayed values', async () => {
  const { user, dialog, field } = await openForm();
  await user.type(await field('Username'), 'operator');
  await user.type(await field('Email'), 'operator@example.com');
  await user.type(await field('Password'), 'correct horse battery');
  await user.click(within(dialog).getByRole('button', { name: 'Create user' }));
  await waitFor(() => expect(getRequests('POST /users')).toHaveLength(1));
  expect(getRequests('POST /users')[0]).toMatchObject({
    username: 'operator',
    email: 'operator@example.com',
    login_type: 'password',
    organization_ids: ['00000001-0000-4000-8000-000000000001'],
  });
});

test('create user keeps the input and focuses the field that the server rejects', async () => {
  const { user, dialog, field } = await openForm();
  mockResponse('POST /users', 409, fieldError('email', 'The email is already taken.'));
  const email = await field('Email');
  await user.type(await field('Username'), 'operator');
  await user.type(email, 'owner@example.com');
  await user.type(await field('Password'), 'correct horse battery');
  await user.click(within(dialog).getByRole('button', { name: 'Create user' }));
  await waitFor(() => expect(email.getAttribute('aria-invalid')).toBe('true'));
  expect((email as HTMLInputElement).value).toBe('owner@example.com');
  await expectFocus(email);
});

test('create service account asks for no email', async () => {
  const { user, dialog, field } = await openForm();
  await user.type(await field('Username'), 'deploy');
  await user.click(await field('Login type'));
  await user.click(await screen.findByRole('option', { name: /^Service account/ }));
  expect(within(dialog).queryByLabelText(/^Email/)).toBeNull();
  await user.click(within(dialog).getByRole('button', { name: 'Create user' }));
  await waitFor(() => expect(getRequests('POST /users')).toHaveLength(1));
  expect(getRequests('POST /users')[0]).toMatchObject({
    username: 'deploy',
    login_type: 'none',
    service_account: true,
  });
});
