// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react';
import { expect, test } from 'vitest';
import { expectFocus, fieldError, getRequests, holdResponse, mockResponse, renderPage } from '../../testing/renderPage';

const patch = 'PATCH /templates/00000004-0000-4000-8000-000000000001';

test('template settings are sent as displayed', async () => {
  const user = await renderPage('/templates/platform/kubernetes?tab=settings');
  const description = await screen.findByRole('textbox', { name: 'Description' });
  await user.clear(description);
  await user.type(description, 'Pods for backend services');
  await user.click(screen.getByRole('switch', { name: /^Require the active version/ }));
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(getRequests(patch)).toHaveLength(1));
  expect(getRequests(patch)[0]).toMatchObject({
    name: 'kubernetes',
    description: 'Pods for backend services',
    require_active_version: true,
    max_port_share_level: 'authenticated',
  });
});

test('template settings display the error of the server at its field', async () => {
  const user = await renderPage('/templates/platform/kubernetes?tab=settings');
  const name = await screen.findByRole('textbox', { name: 'Name' });
  mockResponse(patch, 400, fieldError('name', 'Use letters, digits and hyphens.'));
  await user.type(name, '!');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(name.getAttribute('aria-invalid')).toBe('true'));
  await expectFocus(name);
});

test('the template schedule is sent in milliseconds', async () => {
  const user = await renderPage('/templates/platform/kubernetes?tab=schedule');
  const autostop = await screen.findByRole('textbox', { name: 'Default autostop (hours)' });
  await user.clear(autostop);
  await user.type(autostop, '10');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(getRequests(patch)).toHaveLength(1));
  expect(getRequests(patch)[0]).toMatchObject({
    default_ttl_ms: 36_000_000,
    autostop_requirement: { days_of_week: ['sunday'], weeks: 1 },
    time_til_dormant_ms: 2_592_000_000,
  });
});

test('a template schedule that the server rejects is reported at its field', async () => {
  const user = await renderPage('/templates/platform/kubernetes?tab=schedule');
  const dormancy = await screen.findByRole('textbox', { name: 'Dormancy threshold (days)' });
  mockResponse(patch, 400, fieldError('time_til_dormant_ms', 'The minimum is one minute.'));
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(dormancy.getAttribute('aria-invalid')).toBe('true'));
  await expectFocus(dormancy);
});

test('create template validates the name while the user types', async () => {
  const user = await renderPage('/templates/new?starter=docker-container');
  const name = await screen.findByRole('textbox', { name: 'Name' });
  await user.clear(name);
  await user.click(screen.getByRole('button', { name: 'Create template' }));
  expect(await screen.findByText('Enter a name.')).toBeTruthy();
  await expectFocus(name);
  await user.type(name, 'not valid');
  expect(await screen.findByText('Use letters, digits and single hyphens between them.')).toBeTruthy();
  expect(getRequests('POST /organizations/00000001-0000-4000-8000-000000000001/templateversions')).toEqual([]);
});

test('create template waits until the organization of the template is known', async () => {
  const answer = holdResponse('GET /organizations');
  await renderPage('/templates/new?starter=docker-container');
  const create = await screen.findByRole<HTMLButtonElement>('button', { name: 'Create template' });
  expect(create.disabled).toBe(true);
  answer();
  await waitFor(() => expect(create.disabled).toBe(false));
});
