// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeSocket } from '../../../testing/FakeSocket';
import { type TerminalConnection, type TerminalState, connectTerminal } from './connection';

let output = '';
let states: TerminalState[] = [];
let terminal: TerminalConnection;

interface Message {
  data?: string;
  seq?: number;
  width?: number;
  height?: number;
}

const getQuery = (socket: FakeSocket) => new URL(socket.url).searchParams;
const getMessages = (socket: FakeSocket) => socket.sent.map((text) => JSON.parse(text) as Message);

/** Returns the input that arrived. */
const getTyped = (socket: FakeSocket) =>
  getMessages(socket).flatMap((m) => (m.data === undefined ? [] : [`${m.seq}:${m.data}`]));

const sendStatus = (socket: FakeSocket, status: object) =>
  socket.sendJSON({ session: 'first', output: 0, input: 0, ...status });

/** Waits for a connection, accepts it and returns its socket. */
async function accept(number: number): Promise<FakeSocket> {
  await vi.waitFor(() => expect(FakeSocket.all).toHaveLength(number));
  const socket = FakeSocket.latest();
  socket.open();
  return socket;
}

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.install();
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
  const socket = await accept(1);
  expect(getQuery(socket).get('session')).toBeNull();
  expect(socket.sent).toEqual([]);
  sendStatus(socket, {});
  expect(getMessages(socket)[0]).toEqual({ width: 80, height: 24 });
  terminal.type('b');
  expect(getTyped(socket)).toEqual(['1:a', '2:b']);
  socket.sendBinary('hello');
  sendStatus(socket, { input: 1, output: 5 });
  socket.drop();
  terminal.type('c');
  const again = await accept(2);
  expect(Object.fromEntries(getQuery(again))).toMatchObject({ session: 'first', offset: '5', reconnect: 'shell' });
  expect(getQuery(again).get('viewer')).toBe(getQuery(socket).get('viewer'));
  sendStatus(again, { input: 1, output: 5 });
  expect(getTyped(again)).toEqual(['2:b', '3:c']);
  expect(states).toEqual(['connecting', 'open', 'lost', 'open']);
  expect(output).toBe('hello');
});

test('a repaint does not count as output', async () => {
  const socket = await accept(1);
  sendStatus(socket, { output: 1_000, repaint: true, paint: 6 });
  socket.sendBinary('paint');
  socket.sendBinary('!more');
  socket.drop();
  expect(getQuery(await accept(2)).get('offset')).toBe('1004');
});

test('input for a shell that ended is not sent to the next one', async () => {
  const socket = await accept(1);
  sendStatus(socket, {});
  terminal.type('exit\r');
  socket.drop();
  const again = await accept(2);
  sendStatus(again, { session: 'second', repaint: true });
  expect(getTyped(again)).toEqual([]);
});

test('the end of the shell is the end of the connection', async () => {
  const socket = await accept(1);
  sendStatus(socket, {});
  sendStatus(socket, { ended: true });
  terminal.type('x');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(states.at(-1)).toBe('ended');
  expect(socket.closedIn).toEqual([FakeSocket.OPEN]);
  expect(FakeSocket.all).toHaveLength(1);
});

test('input that stays unanswered reconnects', async () => {
  const socket = await accept(1);
  sendStatus(socket, {});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(FakeSocket.all).toHaveLength(1); // nothing was typed
  terminal.type('x');
  await vi.advanceTimersByTimeAsync(4_000);
  socket.sendBinary('still here');
  await vi.advanceTimersByTimeAsync(4_000);
  expect(socket.closedIn).toEqual([]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(socket.closedIn).toEqual([FakeSocket.OPEN]);
  expect(states.at(-1)).toBe('lost');
  const again = await accept(2);
  sendStatus(again, { output: 10 });
  expect(getTyped(again)).toEqual(['1:x']);
});

test('long input is split between characters', async () => {
  const socket = await accept(1);
  sendStatus(socket, {});
  const long = 'x'.repeat((64 << 10) - 1) + '🏔'.repeat(10);
  terminal.type(long);
  const messages = getMessages(socket).slice(1);
  expect(messages.map((m) => m.seq)).toEqual([1, 2]);
  expect(messages.map((m) => m.data).join('')).toBe(long);
  expect(messages[0]?.data).toHaveLength((64 << 10) - 1);
});

test('a network that comes back reconnects at once', async () => {
  const socket = await accept(1);
  sendStatus(socket, {});
  for (let i = 0; i < 5; i++) {
    FakeSocket.latest().drop();
    await vi.advanceTimersByTimeAsync(10_000);
  }
  const tries = FakeSocket.all.length;
  FakeSocket.latest().drop();
  dispatchEvent(new Event('online'));
  await vi.advanceTimersByTimeAsync(0);
  expect(FakeSocket.all).toHaveLength(tries + 1);
});
