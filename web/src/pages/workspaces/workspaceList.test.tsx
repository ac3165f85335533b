// @vitest-environment jsdom
import { screen, waitFor, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { getRequests, renderPage } from '../../testing/renderPage';

test('the row of a workspace postpones autostop', async () => {
  const user = await renderPage('/workspaces');
  await user.click(await screen.findByRole('button', { name: 'Postpone autostop of review-api by 1 hour' }));
  await waitFor(() =>
    expect(getRequests('PUT /workspaces/00000011-0000-4000-8000-000000000002/extend')).toHaveLength(1),
  );
  expect(screen.getByRole('link', { name: 'Terminal of review-api' })).toBeTruthy();
});

test('filters are terms of the search', async () => {
  const user = await renderPage('/workspaces');
  const filters = within(await screen.findByRole('group', { name: 'Filters' }));
  await user.click(filters.getByRole('button', { name: 'Status' }));
  await user.click(await screen.findByRole('menuitem', { name: /^Failed/ }));
  const search = screen.getByRole('searchbox', { name: 'Search workspaces' });
  await waitFor(() => expect((search as HTMLInputElement).value).toBe('owner:me status:failed'));
  expect(await screen.findByRole('link', { name: 'gpu-test' })).toBeTruthy();
  await user.click(screen.getByRole('button', { name: 'Remove filter Owner' }));
  await waitFor(() => expect((search as HTMLInputElement).value).toBe('status:failed'));
});

test('a column sorts the list, and filters have counts', async () => {
  const user = await renderPage('/workspaces?q=all');
  const names = () => screen.getAllByRole('link').filter((a) => a.hasAttribute('data-row-link'));
  await screen.findByRole('link', { name: 'gpu-test' });
  await user.click(screen.getByRole('button', { name: 'Name' }));
  await user.click(await screen.findByRole('button', { name: 'Name' }));
  await waitFor(() => expect(screen.getByRole('columnheader', { name: 'Name' }).ariaSort).toBe('descending'));
  await waitFor(() => {
    const shown = names().map((a) => a.textContent ?? '');
    expect(shown).toEqual(shown.toSorted().toReversed());
  });
  const filters = within(screen.getByRole('group', { name: 'Filters' }));
  await user.click(filters.getByRole('button', { name: 'Status' }));
  expect((await screen.findByRole('menuitem', { name: /^Failed/ })).textContent).toBe('Failed1');
});

test('a view is saved, opened and deleted', async () => {
  const user = await renderPage('/workspaces?q=status:failed');
  await user.click(await screen.findByRole('button', { name: 'Views' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Save this view…' }));
  const dialog = within(await screen.findByRole('dialog'));
  await user.type(await dialog.findByRole('textbox', { name: 'Name' }), 'Broken');
  await user.click(dialog.getByRole('button', { name: 'Save' }));
  await user.click(screen.getByRole('button', { name: 'Views' }));
  await user.click(await screen.findByRole('menuitem', { name: 'All workspaces' }));
  const search = screen.getByRole('searchbox', { name: 'Search workspaces' });
  await waitFor(() => expect((search as HTMLInputElement).value).toBe(''));
  await user.click(screen.getByRole('button', { name: 'Views' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Broken' }));
  await waitFor(() => expect((search as HTMLInputElement).value).toBe('status:failed'));
  await user.click(screen.getByRole('button', { name: 'Views' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Delete view Broken' }));
  await user.click(screen.getByRole('button', { name: 'Views' }));
  await screen.findByRole('menuitem', { name: 'All workspaces' });
  expect(screen.queryByRole('menuitem', { name: 'Broken' })).toBeNull();
});
