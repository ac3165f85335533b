// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type TerminalConnection, type TerminalState, connectTerminal } from './connection';

/** A WebSocket whose server is the test. */
class FakeSocket {
  static all: FakeSocket[] = [];
  sent: { data?: string; seq?: number; width?: number }[] = [];
  closed = false;
  onmessage: ((e: { data: string | ArrayBuffer }) => void) | null = null;
  onclose: (() => void) | null = null;
  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }
  send(message: string) {
    this.sent.push(JSON.parse(message) as (typeof this.sent)[number]);
  }
  close() {
    this.closed = true;
  }
  get query() {
    return new URL(this.url).searchParams;
  }
  /** The input that arrived. */
  get typed() {
    return this.sent.flatMap((m) => (m.data === undefined ? [] : [`${m.seq}:${m.data}`]));
  }
  tell(status: object) {
    this.onmessage?.({ data: JSON.stringify({ session: 'first', output: 0, input: 0, ...status }) });
  }
  show(output: string) {
    this.onmessage?.({ data: new TextEncoder().encode(output).buffer as ArrayBuffer });
  }
}

let output = '';
let states: TerminalState[] = [];
let terminal: TerminalConnection;

/** Returns the newest socket once the client has opened it. */
async function connected(number: number): Promise<FakeSocket> {
  await vi.waitFor(() => expect(FakeSocket.all).toHaveLength(number));
  return FakeSocket.all[number - 1]!;
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', FakeSocket);
  FakeSocket.all = [];
  output = '';
  states = [];
  terminal = connectTerminal({
    id: 'shell',
    getURL: (query) => Promise.resolve(`ws://localhost/pty?${query}`),
    getSize: () => ({ width: 80, height: 24 }),
    onOutput: (bytes) => (output += new TextDecoder().decode(bytes)),
    onState: (state) => states.push(state),
  });
});

afterEach(() => {
  terminal.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('input waits for the first status, and unacknowledged input is sent again after a lost connection', async () => {
  terminal.type('a');
  const socket = await connected(1);
  expect(socket.query.get('session')).toBeNull();
  expect(socket.sent).toEqual([]);
  socket.tell({});
  expect(socket.sent[0]).toEqual({ width: 80, height: 24 });
  terminal.type('b');
  expect(socket.typed).toEqual(['1:a', '2:b']);
  socket.show('hello');
  socket.tell({ input: 1, output: 5 });
  socket.onclose?.();
  terminal.type('c');
  const again = await connected(2);
  expect(Object.fromEntries(again.query)).toMatchObject({ session: 'first', offset: '5', reconnect: 'shell' });
  expect(again.query.get('viewer')).toBe(socket.query.get('viewer'));
  again.tell({ input: 1, output: 5 });
  expect(again.typed).toEqual(['2:b', '3:c']);
  expect(states).toEqual(['connecting', 'open', 'lost', 'open']);
  expect(output).toBe('hello');
});

test('a repaint does not count as output', async () => {
  const socket = await connected(1);
  socket.tell({ output: 1_000, repaint: true, paint: 6 });
  socket.show('paint');
  socket.show('!more');
  socket.onclose?.();
  expect((await connected(2)).query.get('offset')).toBe('1004');
});

test('input for a shell that ended is not sent to the next one', async () => {
  const socket = await connected(1);
  socket.tell({});
  terminal.type('exit\r');
  socket.onclose?.();
  const again = await connected(2);
  again.tell({ session: 'second', repaint: true });
  expect(again.typed).toEqual([]);
});

test('the end of the shell is the end of the connection', async () => {
  const socket = await connected(1);
  socket.tell({});
  socket.tell({ ended: true });
  terminal.type('x');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(states.at(-1)).toBe('ended');
  expect(socket.closed).toBe(true);
  expect(FakeSocket.all).toHaveLength(1);
});

test('input that stays unanswered reconnects', async () => {
  const socket = await connected(1);
  socket.tell({});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(FakeSocket.all).toHaveLength(1); // nothing was typed
  terminal.type('x');
  await vi.advanceTimersByTimeAsync(4_000);
  socket.show('still here');
  await vi.advanceTimersByTimeAsync(4_000);
  expect(socket.closed).toBe(false);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(socket.closed).toBe(true);
  expect(states.at(-1)).toBe('lost');
  (await connected(2)).tell({ output: 10 });
  expect(FakeSocket.all[1]?.typed).toEqual(['1:x']);
});

test('long input is split between characters', async () => {
  const socket = await connected(1);
  socket.tell({});
  const long = 'x'.repeat((64 << 10) - 1) + '🏔'.repeat(10);
  terminal.type(long);
  expect(socket.sent.slice(1).map((m) => m.seq)).toEqual([1, 2]);
  expect(socket.sent.map((m) => m.data ?? '').join('')).toBe(long);
  expect(socket.sent[1]?.data).toHaveLength((64 << 10) - 1);
});

test('a network that comes back reconnects at once', async () => {
  const socket = await connected(1);
  socket.tell({});
  for (let i = 0; i < 5; i++) {
    FakeSocket.all.at(-1)?.onclose?.();
    await vi.advanceTimersByTimeAsync(10_000);
  }
  const tries = FakeSocket.all.length;
  FakeSocket.all.at(-1)?.onclose?.();
  dispatchEvent(new Event('online'));
  await vi.advanceTimersByTimeAsync(0);
  expect(FakeSocket.all).toHaveLength(tries + 1);
});
