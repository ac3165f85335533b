// @vitest-environment jsdom
import { screen, waitFor, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { getRequests, mockResponse, renderPage } from '../testing/renderPage';
import { ApiError } from '../api/client';
import { isPending } from './DeviceLink';
import { linkAddress } from './LinkedAccounts';

const provider = {
  id: 'github',
  type: 'github',
  display_name: 'GitHub',
  display_icon: '',
  device: false,
  allow_refresh: true,
  allow_validate: true,
  supports_revocation: true,
};
const link = {
  provider_id: 'github',
  authenticated: true,
  created_at: '2026-11-01T10:00:00Z',
  updated_at: '2026-11-01T10:00:00Z',
  expires: '0001-01-01T00:00:00Z',
  has_refresh_token: true,
  validate_error: 'GitHub refused the token.',
};

test('a linked account shows why it does not work, and can be unlinked', async () => {
  mockResponse('GET /external-auth', 200, { providers: [provider], links: [link] });
  mockResponse('DELETE /external-auth/github', 200, { token_revoked: true });
  const user = await renderPage('/settings/external-auth');
  const card = await screen.findByRole('region', { name: 'GitHub' });
  expect(within(card).getByText('GitHub refused the token.')).toBeTruthy();
  await user.click(within(card).getByRole('button', { name: 'Unlink GitHub' }));
  await user.click(await screen.findByRole('button', { name: 'Unlink' }));
  await waitFor(() => expect(getRequests('DELETE /external-auth/github')).toHaveLength(1));
});

test('an account without a link goes to the provider and comes back', async () => {
  mockResponse('GET /external-auth', 200, { providers: [provider], links: [] });
  await renderPage('/settings/external-auth');
  const start = await screen.findByRole('link', { name: 'Link GitHub' });
  expect(start.getAttribute('href')).toBe(linkAddress('github'));
  expect(screen.getByText('Not linked')).toBeTruthy();
});

test('the page states why an account was not linked', async () => {
  mockResponse('GET /external-auth', 200, { providers: [provider], links: [] });
  await renderPage('/settings/external-auth?message=GitHub+did+not+grant+access.');
  expect((await screen.findByRole('alert')).textContent).toContain('GitHub did not grant access.');
});

test('only a code that is not entered yet is polled again', () => {
  expect(isPending(new ApiError(400, 'Wait', 'authorization_pending'))).toBe(true);
  expect(isPending(new ApiError(400, 'Wait', 'slow_down'))).toBe(true);
  expect(isPending(new ApiError(400, 'The code has expired', 'expired_token'))).toBe(false);
  expect(isPending(new Error('offline'))).toBe(false);
});
