// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { renderPage } from '../testing/renderPage';

afterEach(() => {
  vi.doUnmock('./Overlays');
  vi.restoreAllMocks();
});

test('a notification whose code cannot be loaded keeps the page and is shown on retry', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined); // React logs what a boundary catches
  let offline = true;
  vi.doMock('./Overlays', async (original) => {
    if (offline) throw new TypeError('Failed to fetch dynamically imported module');
    return original();
  });
  const user = await renderPage('/workspaces');
  const { notifySuccess } = await import('./confirm');
  notifySuccess('Workspace stopped');
  expect(await screen.findByText('This part of the page could not be loaded')).toBeTruthy();
  expect(screen.getByRole('heading', { level: 1, name: 'Workspaces' })).toBeTruthy();
  offline = false;
  await user.click(screen.getByRole('button', { name: 'Retry' }));
  expect(await screen.findByText('Workspace stopped')).toBeTruthy();
});

test('a dialog closes when another page opens, and stays on another tab of its page', async () => {
  await renderPage('/workspaces');
  const { router } = await import('../router');
  const { confirm } = await import('./confirm');
  confirm({ title: 'Stop all workspaces', warning: 'Sessions end.', action: 'Stop', onConfirm: () => undefined });
  await screen.findByRole('dialog');
  await router.navigate({ href: '/workspaces?q=owner%3Ame' });
  expect(screen.getByRole('dialog')).toBeTruthy();
  await router.navigate({ href: '/templates' });
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
});
