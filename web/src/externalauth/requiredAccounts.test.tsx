// @vitest-environment jsdom
import { screen } from '@testing-library/react';
import { expect, test } from 'vitest';
import { templates } from '../../demo/fixtures';
import { expectFocus, getRequests, mockResponse, renderPage } from '../testing/renderPage';
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
const requirement = {
  id: 'github',
  type: 'github',
  display_name: 'GitHub',
  display_icon: '',
  authenticate_url: 'https://coder.example.com/external-auth/github',
  authenticated: false,
  optional: false,
};

test('a missing account is asked for, a submit is refused, and a link is noticed', async () => {
  const version = templates.find((t) => t.name === 'kubernetes')?.active_version_id;
  const operation = `GET /templateversions/${version}/external-auth`;
  const optional = { ...requirement, id: 'jira', display_name: 'Jira', optional: true };
  mockResponse('GET /external-auth', 200, { providers: [provider], links: [] });
  mockResponse(operation, 200, [requirement, optional]);
  const user = await renderPage('/templates/platform/kubernetes/workspace');
  const start = await screen.findByRole('link', { name: 'Link GitHub' });
  expect(start.getAttribute('href')).toBe(linkAddress('github'));
  await user.type(screen.getByRole('textbox', { name: 'Name' }), 'api');
  await user.click(screen.getByRole('button', { name: 'Create workspace' }));
  const alert = await screen.findByText('Link GitHub to create a workspace from this template.');
  await expectFocus(alert.closest('[role=alert]') as HTMLElement);
  const create = 'POST /users/00000002-0000-4000-8000-000000000001/workspaces';
  expect(getRequests(create)).toEqual([]);

  mockResponse(operation, 200, [{ ...requirement, authenticated: true }, optional]);
  await user.click(start); // in another tab
  expect(await screen.findByText('Linked')).toBeTruthy();
  await user.click(screen.getByRole('button', { name: 'Create workspace' }));
  await screen.findByRole('heading', { level: 1, name: 'api' });
  expect(getRequests(create)).toHaveLength(1);
});
