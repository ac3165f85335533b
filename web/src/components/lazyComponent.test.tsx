// @vitest-environment jsdom
import { act, cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { Suspense } from 'react';
import { afterEach, expect, test, vi } from 'vitest';
import { ErrorBoundary } from './ErrorBoundary';
import { LoadError, lazyComponent } from './lazyComponent';

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const Loaded = () => <p>Loaded</p>;

async function renderLazy(Lazy: ReturnType<typeof lazyComponent<object>>) {
  vi.spyOn(console, 'error').mockImplementation(() => undefined); // React logs what a boundary catches
  const element = (
    <ErrorBoundary
      fallback={(error, retry) => (
        <button type="button" onClick={retry}>
          {error instanceof LoadError ? 'Retry' : 'Unexpected'}
        </button>
      )}
    >
      <Suspense fallback="Loading">
        <Lazy />
      </Suspense>
    </ErrorBoundary>
  );
  await act(async () => void render(element));
}

test('a component that could not be loaded is loaded on retry', async () => {
  const load = vi
    .fn<() => Promise<{ default: typeof Loaded }>>()
    .mockRejectedValueOnce(new TypeError('Failed to fetch dynamically imported module'))
    .mockResolvedValue({ default: Loaded });
  await renderLazy(lazyComponent(load));
  const retry = await screen.findByRole('button', { name: 'Retry' });
  expect(load).toHaveBeenCalledTimes(1);
  await act(() => userEvent.click(retry));
  expect(await screen.findByText('Loaded')).toBeTruthy();
  expect(load).toHaveBeenCalledTimes(2);
});

test('preload never rejects, and a later preload tries again', async () => {
  const load = vi
    .fn<() => Promise<{ default: typeof Loaded }>>()
    .mockRejectedValueOnce(new TypeError('offline'))
    .mockResolvedValue({ default: Loaded });
  const Lazy = lazyComponent(load);
  await Lazy.preload();
  await Lazy.preload();
  await renderLazy(Lazy);
  expect(screen.getByText('Loaded')).toBeTruthy(); // without a fallback
  expect(load).toHaveBeenCalledTimes(2);
});
