// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, test } from 'vitest';
import { expectFocus, mockResponse, renderPage } from '../../testing/renderPage';

const version = '/templates/platform/kubernetes/versions/v2';

const getSelected = () => screen.getByRole('tab', { selected: true }).textContent;
const getSearch = async () => (await import('../../router')).router.state.location.search;

test('the tab of a version is in the URL, and the other tabs are not mounted', async () => {
  const user = await renderPage(`${version}?tab=files&file=main.tf&line=7`);
  expect(await screen.findByRole('navigation', { name: 'Files' })).toBeTruthy();
  expect(getSelected()).toBe('Files');
  await user.click(screen.getByRole('tab', { name: 'Import' }));
  await screen.findByRole('heading', { name: 'Resources' });
  expect(screen.queryByRole('navigation', { name: 'Files' })).toBeNull();
  expect(await getSearch()).toEqual({ tab: 'log', file: 'main.tf', line: 7 });
  await user.click(screen.getByRole('tab', { name: 'Changes' }));
  await screen.findByRole('combobox', { name: 'Compare' });
  expect(screen.queryByRole('heading', { name: 'Resources' })).toBeNull();
  expect(await getSearch()).toEqual({ file: 'main.tf', line: 7 });
});

test('arrow keys select the tabs of a version', async () => {
  const user = await renderPage(version);
  await user.click(await screen.findByRole('tab', { name: 'Changes' }));
  await userEvent.keyboard('{ArrowRight}');
  await expectFocus(screen.getByRole('tab', { name: 'Files' }));
  await waitFor(() => expect(getSelected()).toBe('Files'));
  expect(await screen.findByRole('navigation', { name: 'Files' })).toBeTruthy();
});

test('a user who cannot update the template sees the import of a version', async () => {
  mockResponse('POST /authcheck', 200, {});
  await renderPage(`${version}?tab=files`);
  expect(await screen.findByRole('heading', { name: 'Resources' })).toBeTruthy();
  expect(screen.getAllByRole('tab').map((t) => t.textContent)).toEqual(['Import']);
  expect(getSelected()).toBe('Import');
  expect(screen.queryByRole('alert')).toBeNull();
});
