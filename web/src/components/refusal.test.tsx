// @vitest-environment jsdom
import { screen } from '@testing-library/react';
import { expect, test } from 'vitest';
import { mockResponse, renderPage } from '../testing/renderPage';

test.each([
  ['/users', 'Users', /User Admin/],
  ['/audit', 'Audit log', /Auditor/],
  ['/deployment/overview', 'Deployment', /Owner/],
  ['/templates/new', 'Create template', /Template Admin/],
])('a page that the role may not see: %s', async (path, title, role) => {
  mockResponse('POST /authcheck', 200, {});
  await renderPage(path);
  const alert = await screen.findByRole('alert');
  expect(screen.getByRole('heading', { level: 1, name: title })).toBeTruthy();
  expect(alert.textContent).toMatch(role);
  expect(screen.getByRole('link', { name: 'Go to workspaces' })).toBeTruthy();
});

test('a tab that the role may not see', async () => {
  mockResponse('POST /authcheck', 200, {});
  await renderPage('/templates/platform/kubernetes?tab=settings');
  expect((await screen.findByRole('alert')).textContent).toContain('Template Admin');
  expect(screen.queryByRole('button', { name: 'Save' })).toBeNull();
});
