import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { followStream } from './stream';

class FakeSocket {
  static readonly CONNECTING = 0;
  static all: FakeSocket[] = [];
  readyState = 0;
  /** The states in which close was called. */
  closedIn: number[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((e: { data: string }) => void) | null = null;
  onclose: ((e: { code: number }) => void) | null = null;
  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }
  open() {
    this.readyState = 1;
    this.onopen?.();
  }
  receive(...ids: number[]) {
    this.onmessage?.({ data: JSON.stringify(ids.map((id) => ({ id }))) });
  }
  drop() {
    this.readyState = 3;
    this.onclose?.({ code: 1006 });
  }
  close() {
    this.closedIn.push(this.readyState);
    this.readyState = 2;
  }
}

let rows: number[] = [];

/** Follows a log, and returns its socket and the function that stops the stream. */
function follow(): [FakeSocket, () => void] {
  const stop = followStream<{ id: number }>(
    (after) => `/logs?after=${after}`,
    (more) => rows.push(...more.map((row) => row.id)),
    (row) => row.id,
    () => undefined,
  );
  return [FakeSocket.all[0]!, stop];
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('location', { origin: 'https://coder.example.com' });
  vi.stubGlobal('WebSocket', FakeSocket);
  FakeSocket.all = [];
  rows = [];
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('a stream that is stopped while it connects is closed once it is open', () => {
  const [socket, stop] = follow();
  stop();
  expect(socket.closedIn).toEqual([]); // Firefox reports an error for close while connecting
  socket.open();
  expect(socket.closedIn).toEqual([1]);
  socket.receive(1);
  expect(rows).toEqual([]);
});

test('a stream that is stopped while it connects does not reconnect', () => {
  const [socket, stop] = follow();
  stop();
  socket.drop();
  vi.advanceTimersByTime(60_000);
  expect(FakeSocket.all).toHaveLength(1);
});

test('an open stream is closed at once', () => {
  const [socket, stop] = follow();
  socket.open();
  stop();
  expect(socket.closedIn).toEqual([1]);
});

test('a broken stream resumes after the last row until it is stopped', () => {
  const [socket, stop] = follow();
  socket.open();
  socket.receive(1, 2);
  socket.drop();
  vi.advanceTimersByTime(1000);
  expect(FakeSocket.all.map((s) => s.url)).toEqual([
    'wss://coder.example.com/logs?after=0',
    'wss://coder.example.com/logs?after=2',
  ]);
  expect(rows).toEqual([1, 2]);
  FakeSocket.all[1]?.drop();
  stop();
  vi.advanceTimersByTime(60_000);
  expect(FakeSocket.all).toHaveLength(2);
});
