// @vitest-environment jsdom
import { screen } from '@testing-library/react';
import { beforeEach, expect, test } from 'vitest';
import { mockResponse, renderPage, unmockResponse } from '../testing/renderPage';

beforeEach(() => mockResponse('POST /authcheck', 500, { message: 'The database is down.' }));

test.each([
  ['a workspace', '/@owner/dev?tab=settings', 'Settings'],
  ['a template', '/templates/platform/kubernetes?tab=settings', 'Settings'],
  ['a version', '/templates/platform/kubernetes/versions/v2', 'Changes'],
  ['an organization', '/organizations/platform/settings', 'Settings'],
  ['the deployment', '/deployment/sync', 'IdP sync'],
])('a restricted tab of %s shows why the permissions could not be loaded, and opens on retry', async (_, path, tab) => {
  const user = await renderPage(path);
  expect((await screen.findByRole('alert')).textContent).toContain('The database is down.');
  expect(screen.queryByRole('tab', { name: tab })).toBeNull();
  unmockResponse('POST /authcheck');
  await user.click(screen.getByRole('button', { name: 'Retry' }));
  expect(await screen.findByRole('tab', { name: tab, selected: true })).toBeTruthy();
  expect(screen.queryByRole('alert')).toBeNull();
});

test('the other tabs stay usable', async () => {
  await renderPage('/templates/platform/kubernetes');
  expect((await screen.findByRole('alert')).textContent).toContain('The database is down.');
  expect(screen.getByRole('tab', { name: 'Overview', selected: true })).toBeTruthy();
});
