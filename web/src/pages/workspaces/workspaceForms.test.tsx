// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react';
import { expect, test } from 'vitest';
import { expectFocus, fieldError, getRequests, mockResponse, renderPage } from '../../testing/renderPage';

const createPath = '/templates/platform/kubernetes/workspace';

test('create workspace validates, focuses the first error and sends the displayed values', async () => {
  const user = await renderPage(createPath);
  const name = await screen.findByRole('textbox', { name: 'Name' });
  await user.click(screen.getByRole('button', { name: 'Create workspace' }));
  expect(await screen.findByText('Enter a name.')).toBeTruthy();
  await expectFocus(name);
  expect(getRequests('POST /users/00000002-0000-4000-8000-000000000001/workspaces')).toEqual([]);

  await user.type(name, 'api');
  await user.click(screen.getByRole('radio', { name: 'Large' }));
  await user.click(screen.getByRole('button', { name: 'Create workspace' }));
  await screen.findByRole('heading', { level: 1, name: 'api' });
  expect(getRequests('POST /users/00000002-0000-4000-8000-000000000001/workspaces')).toMatchObject([
    {
      name: 'api',
      rich_parameter_values: [
        { name: 'size', value: 'large' },
        { name: 'region', value: 'us-east' },
        { name: 'disk', value: '20' },
      ],
    },
  ]);
});

test('the name is checked while typing, and a suggestion fills it', async () => {
  const user = await renderPage(createPath);
  const name = await screen.findByRole('textbox', { name: 'Name' });
  expect(name.getAttribute('aria-invalid')).not.toBe('true');
  await user.type(name, 'not valid');
  expect(await screen.findByText('Use letters, digits and single hyphens between them.')).toBeTruthy();
  await user.clear(name);
  await user.type(name, 'dev');
  expect(await screen.findByText('You already have a workspace with this name.')).toBeTruthy();
  await user.click(screen.getByRole('button', { name: 'Create workspace' }));
  await expectFocus(name);
  await user.click(screen.getByRole('button', { name: /^Use the name kubernetes-/ }));
  expect((name as HTMLInputElement).value).toMatch(/^kubernetes-[a-z0-9]{4}$/);
  await user.click(screen.getByRole('button', { name: 'Create workspace' }));
  await screen.findByRole('heading', { level: 1, name: /^kubernetes-/ });
});

test('create workspace displays the error of the server at its field', async () => {
  const user = await renderPage(createPath);
  const name = await screen.findByRole('textbox', { name: 'Name' });
  mockResponse(
    'POST /users/00000002-0000-4000-8000-000000000001/workspaces',
    400,
    fieldError('name', 'The name is already taken.'),
  );
  await user.type(name, 'other');
  await user.click(screen.getByRole('button', { name: 'Create workspace' }));
  expect((await screen.findByRole('alert')).textContent).toContain('The request is invalid.');
  expect(name.getAttribute('aria-invalid')).toBe('true');
  await expectFocus(name);
});

test('parameters are sent as displayed, and a server error is displayed', async () => {
  const user = await renderPage('/@owner/dev?tab=parameters');
  await user.click(await screen.findByRole('radio', { name: 'Small' }));
  mockResponse('POST /workspaces/00000011-0000-4000-8000-000000000001/builds', 409, {
    message: 'A build is already active.',
  });
  await user.click(screen.getByRole('button', { name: /restart$/ }));
  const alert = await screen.findByText('A build is already active.');
  await expectFocus(alert.closest('[role=alert]') as HTMLElement);
  expect(getRequests('POST /workspaces/00000011-0000-4000-8000-000000000001/builds')[0]).toMatchObject({
    transition: 'stop',
  });
});

test('the workspace schedule is validated and sent', async () => {
  const user = await renderPage('/@owner/dev?tab=schedule');
  const hours = await screen.findByRole('textbox', { name: 'Time until shutdown (hours)' });
  expect((hours as HTMLInputElement).value).toBe('8');
  for (const day of ['Mon', 'Tue', 'Wed', 'Thu', 'Fri']) await user.click(screen.getByRole('checkbox', { name: day }));
  const save = screen.getByRole('button', { name: 'Save' });
  expect(save).toHaveProperty('disabled', true); // autostart needs a day
  await user.click(screen.getByRole('checkbox', { name: 'Fri' }));
  await user.clear(hours);
  await user.type(hours, '4');
  await user.click(save);
  await waitFor(() =>
    expect(getRequests('PUT /workspaces/00000011-0000-4000-8000-000000000001/ttl')).toEqual([{ ttl_ms: 14_400_000 }]),
  );
  expect(getRequests('PUT /workspaces/00000011-0000-4000-8000-000000000001/autostart')).toEqual([
    { schedule: 'CRON_TZ=America/New_York 0 9 * * 5' },
  ]);
});
