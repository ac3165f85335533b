// Replaces fetch, WebSocket and EventSource of the page, so that the dashboard runs without
// a server.

import { type Entry, writeTar } from '../src/pages/templates/archive';
import { ago, sources } from './fixtures';
import { MockError, type MockRequest, findHandler, onChange } from './handlers';
import { matchOperation } from './openapi';

const json = (status: number, body: unknown): Response =>
  new Response(status === 204 || body === undefined ? null : JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json' },
  });

function readSource(id: string): Response {
  const files = Object.entries(sources[id] ?? {}).map(([path, text]): Entry => ({
    path,
    mode: 0o644,
    data: new TextEncoder().encode(text),
  }));
  return new Response(writeTar(files));
}

/** Answers a request to the API, or to another path that the dashboard reads. */
export async function respond(method: string, url: URL, body: string): Promise<Response> {
  const [, file] = /^\/api\/v2\/files\/(.+)$/.exec(url.pathname) ?? [];
  if (file) return readSource(file);
  if (url.pathname === '/icons.json') return json(200, { icons: [], emojis: [] });
  const match = matchOperation(method, url.pathname);
  if (!match) return json(404, { message: `${method} ${url.pathname} is not part of the API.` });
  const request: MockRequest = {
    variables: match.variables,
    query: url.searchParams,
    body: body.startsWith('{') ? (JSON.parse(body) as Record<string, unknown>) : {},
  };
  const handler = findHandler(method, match.path);
  try {
    return json(match.status, handler ? handler(request) : match.sample);
  } catch (error) {
    if (error instanceof MockError) return json(error.status, { message: error.message });
    throw error;
  }
}

const stages: [string, string[]][] = [
  ['Initializing', ['Initializing provider plugins', 'Terraform has been successfully initialized']],
  ['Planning', ['Plan: 2 to add, 0 to change, 0 to destroy']],
  ['Applying', ['kubernetes_pod.main: Creating', 'kubernetes_pod.main: Creation complete after 11s']],
];

/** Returns the lines of a job log, or those of an agent log. */
function logLines(path: string): object[] {
  const lines = stages.flatMap(([stage, output]) => output.map((text) => ({ stage, output: text })));
  return lines.map((line, index) => ({
    id: index + 1,
    created_at: ago(600_000 - index * 3_000),
    ...(path.includes('workspaceagents')
      ? { level: 'info', output: line.output, source_id: '' }
      : { ...line, log_level: 'info', log_source: 'provisioner' }),
  }));
}

/** A WebSocket that streams changes, logs or a terminal of the demo. */
class MockWebSocket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  readyState: number = MockWebSocket.CONNECTING;
  binaryType = 'blob';
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  onerror: (() => void) | null = null;
  readonly url: string;
  private stop: () => void = () => undefined;

  constructor(url: string) {
    this.url = url;
    setTimeout(() => this.open(), 0);
  }

  private open(): void {
    if (this.readyState === MockWebSocket.CLOSED) return;
    this.readyState = MockWebSocket.OPEN;
    this.onopen?.();
    const path = this.url.replace(/^\w+:\/\/[^/]*/, '').split('?')[0] ?? '';
    if (path.endsWith('/changes')) this.stop = onChange((topic) => this.emit(JSON.stringify({ topic })));
    else if (path.endsWith('/pty')) this.emit('The demo has no shell.\r\n$ ');
    else if (path.endsWith('/logs')) {
      this.emit(JSON.stringify(logLines(path)));
      this.close();
    }
  }

  private emit(data: string): void {
    this.onmessage?.({ data });
  }

  send(data: unknown): void {
    if (!this.url.includes('/pty') || !(data instanceof Uint8Array)) return;
    const { data: keys } = JSON.parse(new TextDecoder().decode(data)) as { data?: string };
    if (keys) this.emit(keys.replaceAll('\r', '\r\n$ '));
  }

  close(code = 1000): void {
    if (this.readyState === MockWebSocket.CLOSED) return;
    this.readyState = MockWebSocket.CLOSED;
    this.stop();
    this.onclose?.({ code });
  }
}

const metadata = [
  ['CPU usage', '12 %'],
  ['Memory', '3.1 / 8 GiB'],
  ['Home directory', '41 %'],
];

/** An EventSource that sends the metadata of an agent once. */
class MockEventSource {
  private closed = false;

  addEventListener(type: string, listener: (event: { data: string }) => void): void {
    if (type !== 'data') return;
    const items = metadata.map(([name, value]) => ({
      description: { display_name: name, key: name, script: '', interval: 10, timeout: 5 },
      result: { age: 0, collected_at: ago(2_000), error: '', value },
    }));
    setTimeout(() => !this.closed && listener({ data: JSON.stringify(items) }), 0);
  }

  close(): void {
    this.closed = true;
  }
}

/** Installs the mock API in the page. */
export function installMock(): void {
  window.fetch = async (input, init) => {
    const url = new URL(String(input instanceof Request ? input.url : input), 'https://coder.example.com');
    return respond(init?.method ?? 'GET', url, typeof init?.body === 'string' ? init.body : '');
  };
  window.WebSocket = MockWebSocket as unknown as typeof WebSocket;
  window.EventSource = MockEventSource as unknown as typeof EventSource;
  // The routes of the demo are in the hash, so links to a path of the server open that route.
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest('a');
    const path = link?.getAttribute('href');
    if (!path?.startsWith('/') || event.defaultPrevented || link?.target === '_blank') return;
    event.preventDefault();
    location.hash = path;
  });
}
