// Renders pages of the dashboard in jsdom, against the mock API of the demo.

import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider, createMemoryHistory } from '@tanstack/react-router';
import { cleanup, configure, render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, expect, vi } from 'vitest';
import { respond } from '../../demo/browser';

// Only a page that never gets there fails, however slow the machine is.
configure({ asyncUtilTimeout: 60_000 });

/** A request that the page sent. */
export interface SentRequest {
  method: string;
  path: string;
  body: unknown;
}

const sent: SentRequest[] = [];
const overrides = new Map<string, { status: number; body: unknown }>();
const held = new Map<string, Promise<void>>();

/** Returns the bodies of the requests to an operation, such as "POST /users". */
export function getRequests(operation: string): unknown[] {
  return sent.filter((r) => `${r.method} ${r.path}` === operation).map((r) => r.body);
}

/** Makes the mock API return a response for an operation, such as "POST /users". */
export function mockResponse(operation: string, status: number, body: unknown): void {
  overrides.set(operation, { status, body });
}

/** Removes the response that mockResponse set for an operation. */
export function unmockResponse(operation: string): void {
  overrides.delete(operation);
}

/** Makes the mock API hold back the response for an operation until the returned function is called. */
export function holdResponse(operation: string): () => void {
  let release = () => {};
  held.set(operation, new Promise((resolve) => (release = resolve)));
  return release;
}

/** An error response of the API with a validation message for one field. */
export const fieldError = (field: string, detail: string) => ({
  message: 'The request is invalid.',
  validations: [{ field, detail }],
});

class NoSocket {
  static readonly OPEN = 1;
  readyState = 0;
  close(): void {}
  send(): void {}
  addEventListener(): void {}
}

class NoObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

function stubBrowser(): void {
  vi.stubGlobal('WebSocket', NoSocket);
  vi.stubGlobal('EventSource', NoSocket);
  vi.stubGlobal('ResizeObserver', NoObserver);
  vi.stubGlobal('scrollTo', () => undefined);
  vi.stubGlobal('matchMedia', (query: string) => ({
    matches: query.includes('min-width'),
    media: query,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  }));
  Object.defineProperty(document, 'fonts', { value: new EventTarget(), configurable: true });
  Element.prototype.scrollIntoView = () => undefined;
  vi.stubGlobal('fetch', async (input: string, init?: RequestInit) => {
    const url = new URL(input, 'https://coder.example.com');
    const method = init?.method ?? 'GET';
    const path = url.pathname.replace('/api/v2', '');
    const text = typeof init?.body === 'string' ? init.body : '';
    sent.push({ method, path, body: text.startsWith('{') ? JSON.parse(text) : text });
    await held.get(`${method} ${path}`);
    const override = overrides.get(`${method} ${path}`);
    if (override) return new Response(JSON.stringify(override.body), { status: override.status });
    return respond(method, url, text);
  });
}

afterEach(() => {
  cleanup();
  overrides.clear();
  held.clear();
  sent.length = 0;
  vi.unstubAllGlobals();
});

/** Opens the page at a path as the owner of the demo deployment. */
export async function renderPage(path: string) {
  stubBrowser();
  // Fresh modules: the router, the query cache and the dialogs are singletons.
  vi.resetModules();
  const { router } = await import('../router');
  const { queries } = await import('../api/queries');
  const { Dialogs } = await import('../components/dialogs');
  router.update({ ...router.options, history: createMemoryHistory({ initialEntries: [path] }) });
  await router.load();
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
        <Dialogs />
      </QueryClientProvider>
    </MantineProvider>,
  );
  await screen.findByRole('heading', { level: 1 });
  const user = userEvent.setup({ delay: null });
  /** Inserts text into a field at once. */
  const type = async (field: Element, text: string) => {
    await user.click(field);
    await user.paste(text);
  };
  return { click: user.click, clear: user.clear, type };
}

/** Asserts that an element gets the focus. */
export async function expectFocus(element: HTMLElement): Promise<void> {
  await waitFor(() => expect(document.activeElement).toBe(element));
}
