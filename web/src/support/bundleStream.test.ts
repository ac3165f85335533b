import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Bundle, type Progress, createBundle } from './bundleStream';

class Socket {
  static last: Socket;
  readonly url: string;
  onmessage?: (e: { data: unknown }) => void;
  onclose?: () => void;
  close = vi.fn();
  constructor(url: string) {
    this.url = url;
    Socket.last = this;
  }
}

beforeEach(() => {
  vi.stubGlobal('WebSocket', Socket);
  vi.stubGlobal('location', { origin: 'https://coder.example.com' });
});
afterEach(() => vi.unstubAllGlobals());

const progress: Progress = { part: 'deployment/health.json', done: 1, total: 2 };

test('a bundle is its binary messages, and progress arrives between them', async () => {
  const seen: Progress[] = [];
  let bundle: Bundle | undefined;
  const failed = vi.fn();
  createBundle(
    { workspace: 'w', pprof: true },
    { onProgress: (p) => seen.push(p), onDone: (b) => (bundle = b), onError: failed },
  );
  const socket = Socket.last;
  expect(socket.url).toBe('wss://coder.example.com/api/v2/debug/support-bundle?workspace=w&pprof=true');
  socket.onmessage?.({ data: new Blob(['PK']) });
  socket.onmessage?.({ data: JSON.stringify(progress) });
  socket.onmessage?.({ data: new Blob(['34']) });
  socket.onmessage?.({ data: JSON.stringify({ result: { name: 'a.zip', files: 3, missing: 0 } }) });
  socket.onclose?.();
  expect(seen).toEqual([progress]);
  expect(bundle?.result.files).toBe(3);
  expect(await bundle?.content.text()).toBe('PK34');
  expect(failed).not.toHaveBeenCalled();
});

test('a connection that ends early is an error, unless the user canceled', () => {
  const failed = vi.fn();
  const handlers = { onProgress: vi.fn(), onDone: vi.fn(), onError: failed };
  createBundle({}, handlers);
  Socket.last.onclose?.();
  expect(failed).toHaveBeenCalledOnce();
  const cancel = createBundle({}, handlers);
  cancel();
  expect(Socket.last.close).toHaveBeenCalledOnce();
  Socket.last.onclose?.();
  expect(failed).toHaveBeenCalledOnce();
});
