// @vitest-environment jsdom
import { act, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { templates } from '../../../demo/fixtures';
import type { Schema } from '../../api/client';
import { getRequests, mockResponse, renderPage } from '../../testing/renderPage';

const template = templates.find((t) => t.name === 'kubernetes')!;
const operation = `GET /templates/${template.id}/prebuilds`;

const preset: Schema<'Preset'> = {
  ID: '00000009-0000-4000-8000-000000000001',
  Name: 'Large',
  Description: '',
  Icon: '',
  Default: false,
  DesiredPrebuildInstances: 3,
  Parameters: [],
};

const prebuilds = (eligible: number): Schema<'TemplatePrebuilds'> => ({
  reconciliation_paused: false,
  presets: [
    {
      preset_id: preset.ID,
      preset_name: preset.Name,
      defined_instances: 3,
      demand_instances: 0,
      desired_instances: 3,
      running: 3,
      eligible,
      failures_in_a_row: 0,
      suspended: false,
    },
  ],
});

const wait = (seconds: number) => act(() => vi.advanceTimersByTimeAsync(seconds * 1000));

beforeEach(() => void vi.useFakeTimers({ shouldAdvanceTime: true }));
afterEach(() => vi.useRealTimers());

test('the prebuilt workspaces are refreshed while they are displayed', async () => {
  mockResponse(`GET /templateversions/${template.active_version_id}/presets`, 200, [preset]);
  mockResponse(operation, 200, prebuilds(1));
  const user = await renderPage('/templates/platform/kubernetes');
  await screen.findByText('1 of 3 ready');

  mockResponse(operation, 200, prebuilds(2));
  await wait(15);
  expect(screen.getByText('2 of 3 ready')).toBeTruthy();
  mockResponse(operation, 200, prebuilds(3));
  await wait(15);
  expect(screen.getByText('3 of 3 ready')).toBeTruthy();

  await user.click(screen.getByRole('tab', { name: 'Versions' }));
  expect(screen.queryByText('3 of 3 ready')).toBeNull();
  const sent = getRequests(operation).length;
  await wait(60);
  expect(getRequests(operation)).toHaveLength(sent);
});
