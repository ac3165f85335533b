// @vitest-environment jsdom
import { screen, waitFor, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { getRequests, mockResponse, renderPage } from '../../testing/renderPage';

const dev = 'POST /workspaces/00000011-0000-4000-8000-000000000001/builds';
const review = 'POST /workspaces/00000011-0000-4000-8000-000000000002/builds';
const windows = 'POST /workspaces/00000011-0000-4000-8000-000000000003/builds';
const failed = 'POST /workspaces/00000011-0000-4000-8000-000000000004/builds';

test('a failed build names the line of the template, and can be retried', async () => {
  mockResponse('GET /workspacebuilds/00000010-0000-4000-8000-000000000403/logs', 200, [
    { id: 1, log_level: 'error', output: '  on main.tf line 7, in resource "kubernetes_pod" "main":' },
  ]);
  const user = await renderPage('/@owner/gpu-test');
  const link = await screen.findByRole('link', { name: 'main.tf, line 7' });
  expect(link.getAttribute('href')).toBe('/templates/platform/kubernetes/versions/v2?tab=files&file=main.tf&line=7');
  expect(screen.getByRole('button', { name: 'Copy error' })).toBeTruthy();
  await user.click(await screen.findByRole('button', { name: 'Retry with debug logging' }));
  await waitFor(() => expect(getRequests(failed)).toMatchObject([{ transition: 'start', log_level: 'debug' }]));
});

test('a restart asks first, and the server starts the workspace after the stop', async () => {
  const user = await renderPage('/@owner/dev');
  await user.click(await screen.findByRole('button', { name: 'More actions' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Restart…' }));
  expect(getRequests(dev)).toEqual([]);
  await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Restart' }));
  await waitFor(() =>
    expect(getRequests(dev)).toMatchObject([{ transition: 'stop', on_success: { transition: 'start' } }]),
  );
});

test('a stopped workspace shows whether its next start is planned', async () => {
  const route = 'GET /workspaces/00000011-0000-4000-8000-000000000006/plan-ahead';
  mockResponse(route, 200, { enabled: true, planned_at: new Date().toISOString(), reason: '' });
  await renderPage('/@developer/forecast');
  expect(await screen.findByText(/^The next start is planned/)).toBeTruthy();
});

test('a stopped workspace shows why its next start is not planned to those who can update the template', async () => {
  const route = 'GET /workspaces/00000011-0000-4000-8000-000000000006/plan-ahead';
  const reason = 'main.tf:3: the template reads the date';
  mockResponse(route, 200, { enabled: true, planned_at: null, reason });
  await renderPage('/@developer/forecast');
  expect(await screen.findByText(`The next start is not planned ahead: ${reason}`)).toBeTruthy();
});

test('a stopped workspace does not show why to others', async () => {
  const route = 'GET /workspaces/00000011-0000-4000-8000-000000000006/plan-ahead';
  mockResponse(route, 200, { enabled: true, planned_at: null, reason: 'the template reads the date' });
  mockResponse('POST /authcheck', 200, {});
  await renderPage('/@developer/forecast');
  await waitFor(() => expect(getRequests(route)).toHaveLength(1));
  expect(await screen.findByRole('rowheader', { name: 'Home directory (GiB)' })).toBeTruthy();
  expect(screen.queryByText(/not planned ahead/)).toBeNull();
});

test('a stopped workspace shows its last build and parameters, and one button starts it', async () => {
  const user = await renderPage('/@developer/forecast');
  expect(await screen.findByRole('rowheader', { name: 'Home directory (GiB)' })).toBeTruthy();
  expect(screen.getByRole('link', { name: '#3' })).toBeTruthy();
  await user.click(screen.getByRole('button', { name: 'Start forecast' }));
  await waitFor(() =>
    expect(getRequests('POST /workspaces/00000011-0000-4000-8000-000000000006/builds')).toMatchObject([
      { transition: 'start' },
    ]),
  );
});

test('a bulk stop asks first and can be undone', async () => {
  const user = await renderPage('/workspaces');
  await user.click(await screen.findByRole('checkbox', { name: 'Select review-api' }));
  await user.click(await screen.findByRole('button', { name: 'Stop…' }));
  const dialog = await screen.findByRole('dialog');
  expect(within(dialog).getByText('owner/review-api')).toBeTruthy();
  expect(getRequests(review)).toEqual([]);
  await user.click(within(dialog).getByRole('button', { name: 'Stop' }));
  await user.click(await screen.findByRole('button', { name: 'Undo' }));
  await waitFor(() => expect(getRequests(review)).toMatchObject([{ transition: 'stop' }, { transition: 'start' }]));
});

test('a bulk delete asks to type', async () => {
  const user = await renderPage('/workspaces');
  await user.click(await screen.findByRole('checkbox', { name: 'Select windows-build' }));
  await user.click(await screen.findByRole('button', { name: 'Delete…' }));
  const dialog = await screen.findByRole('dialog');
  const confirm = within(dialog).getByRole('button', { name: 'Delete' });
  expect(confirm).toHaveProperty('disabled', true);
  await user.type(within(dialog).getByRole('textbox', { name: 'Type delete to confirm' }), 'delete');
  await user.click(confirm);
  await waitFor(() => expect(getRequests(windows)).toMatchObject([{ transition: 'delete' }]));
});
