// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react';
import { expect, test } from 'vitest';
import { expectFocus, fieldError, getRequests, mockResponse, renderPage } from '../testing/renderPage';

const id = '00000041-0000-4000-8000-000000000001';
const app = {
  id,
  name: 'Dashboards',
  icon: '',
  callback_url: 'https://app.example.com/callback',
  redirect_uris: ['https://app.example.com/callback', 'https://app.example.com/other'],
  scope: 'workspace:read',
  dynamic: false,
  public: false,
  endpoints: {
    authorization: 'https://coder.example.com/oauth2/authorize',
    device_authorization: '',
    token: 'https://coder.example.com/oauth2/tokens',
    token_revoke: 'https://coder.example.com/oauth2/revoke',
  },
};
const grant = {
  id: '00000042-0000-4000-8000-000000000001',
  app,
  created_at: '2026-11-01T10:00:00Z',
  last_used_at: '2026-11-02T10:00:00Z',
  expires_at: '2027-11-02T10:00:00Z',
  resource: '',
  scopes: ['coder:all'],
};

test('pages explain that the OAuth2 provider is off', async () => {
  mockResponse('GET /oauth2-provider/apps', 404, { message: 'Not found' });
  await renderPage('/deployment/oauth2');
  expect(await screen.findByText('The OAuth2 provider is off')).toBeTruthy();
  expect(screen.queryByRole('button', { name: 'Create application' })).toBeNull();
  expect(getRequests('GET /oauth2-provider/settings')).toHaveLength(0);
});

test('an application is created, and an error of the server is at its field', async () => {
  mockResponse('GET /oauth2-provider/apps', 200, []);
  mockResponse('POST /oauth2-provider/apps', 400, fieldError('redirect_uris', 'It has a scheme that is not allowed.'));
  const user = await renderPage('/deployment/oauth2');
  await user.click(await screen.findByRole('button', { name: 'Create application' }));
  const dialog = await screen.findByRole('dialog');
  await user.type(await screen.findByRole('textbox', { name: 'Name' }), 'Dashboards');
  await user.type(screen.getByRole('textbox', { name: 'Callback URLs' }), 'data:a\n\nhttps://app.example.com/b ');
  await user.click(dialog.querySelector('button[type=submit]') as HTMLElement);
  expect(await screen.findByText('It has a scheme that is not allowed.')).toBeTruthy();
  await expectFocus(screen.getByRole('textbox', { name: 'Callback URLs' }));
  expect(getRequests('POST /oauth2-provider/apps')).toEqual([
    {
      name: 'Dashboards',
      icon: '',
      callback_url: 'data:a',
      redirect_uris: ['data:a', 'https://app.example.com/b'],
      scope: '',
    },
  ]);
  mockResponse('POST /oauth2-provider/apps', 201, app);
  mockResponse(`GET /oauth2-provider/apps/${id}`, 200, app);
  await user.click(dialog.querySelector('button[type=submit]') as HTMLElement);
  expect(await screen.findByRole('heading', { name: 'Dashboards', level: 1 })).toBeTruthy();
});

test('an application shows its secrets and saves its settings', async () => {
  mockResponse(`GET /oauth2-provider/apps/${id}`, 200, app);
  mockResponse(`PUT /oauth2-provider/apps/${id}`, 200, { ...app, name: 'Boards' });
  mockResponse(`GET /oauth2-provider/apps/${id}/secrets`, 200, [
    { id: '00000043-0000-4000-8000-000000000001', client_secret_truncated: 'abc123', last_used_at: null },
  ]);
  mockResponse(`POST /oauth2-provider/apps/${id}/secrets`, 201, { id, client_secret_full: 'coder_full_secret' });
  const user = await renderPage(`/deployment/oauth2/${id}`);
  expect(await screen.findByText('abc123')).toBeTruthy();
  const name = screen.getByRole('textbox', { name: 'Name' });
  await user.clear(name);
  await user.type(name, 'Boards');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  expect(await screen.findByRole('heading', { name: 'Boards' })).toBeTruthy();
  expect(getRequests(`PUT /oauth2-provider/apps/${id}`)).toMatchObject([
    { name: 'Boards', redirect_uris: app.redirect_uris, scope: 'workspace:read' },
  ]);
  await user.click(screen.getByRole('button', { name: 'Create secret' }));
  expect(await screen.findByDisplayValue('coder_full_secret')).toBeTruthy();
});

test('an application that registered itself has no settings form', async () => {
  mockResponse(`GET /oauth2-provider/apps/${id}`, 200, { ...app, dynamic: true, public: true });
  await renderPage(`/deployment/oauth2/${id}`);
  expect(await screen.findByText('Self-registered')).toBeTruthy();
  expect(screen.queryByRole('button', { name: 'Save' })).toBeNull();
  expect(screen.queryByRole('button', { name: 'Create secret' })).toBeNull();
  expect(screen.getByRole('button', { name: 'Delete application…' })).toBeTruthy();
});

test('consents for one application are listed together and revoked together', async () => {
  const limited = { ...grant, id: '00000042-0000-4000-8000-000000000002', scopes: ['workspace:read'] };
  mockResponse('GET /oauth2-provider/grants', 200, [grant, limited]);
  const user = await renderPage('/settings/applications');
  expect(await screen.findAllByRole('region', { name: 'Dashboards' })).toHaveLength(1);
  expect(screen.getByText('Full access')).toBeTruthy();
  expect(screen.getByText('workspace:read')).toBeTruthy();
  await user.click(screen.getByRole('button', { name: 'Revoke Dashboards' }));
  mockResponse('GET /oauth2-provider/grants', 200, []);
  mockResponse('DELETE /oauth2/tokens', 200, {});
  await user.click(await screen.findByRole('button', { name: 'Revoke' }));
  expect(await screen.findByText('No authorized applications')).toBeTruthy();
  await waitFor(() => expect(getRequests('DELETE /oauth2/tokens')).toHaveLength(1));
});
