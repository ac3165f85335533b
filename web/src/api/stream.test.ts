import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeSocket } from '../testing/FakeSocket';
import { followStream } from './stream';

let rows: number[] = [];

const sendRows = (socket: FakeSocket, ...ids: number[]) => socket.sendJSON(ids.map((id) => ({ id })));

/** Follows a log, and returns its socket and the function that stops the stream. */
function follow(): [FakeSocket, () => void] {
  const stop = followStream<{ id: number }>(
    (after) => `/logs?after=${after}`,
    (more) => rows.push(...more.map((row) => row.id)),
    (row) => row.id,
    () => undefined,
  );
  return [FakeSocket.latest(), stop];
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('location', { origin: 'https://coder.example.com' });
  FakeSocket.install();
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
  expect(socket.closedIn).toEqual([FakeSocket.OPEN]);
  sendRows(socket, 1);
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
  expect(socket.closedIn).toEqual([FakeSocket.OPEN]);
});

test('a broken stream resumes after the last row until it is stopped', () => {
  const [socket, stop] = follow();
  socket.open();
  sendRows(socket, 1, 2);
  socket.drop();
  vi.advanceTimersByTime(1000);
  expect(FakeSocket.all.map((s) => s.url)).toEqual([
    'wss://coder.example.com/logs?after=0',
    'wss://coder.example.com/logs?after=2',
  ]);
  expect(rows).toEqual([1, 2]);
  FakeSocket.latest().drop();
  stop();
  vi.advanceTimersByTime(60_000);
  expect(FakeSocket.all).toHaveLength(2);
});
