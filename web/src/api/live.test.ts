import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ChangeStream } from './live';

class FakeSocket {
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
  readyState = 0;
  sent: string[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((e: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }
  send(message: string) {
    this.sent.push(message);
  }
  open() {
    this.readyState = 1;
    this.onopen?.();
  }
  drop() {
    this.readyState = 3;
    this.onclose?.();
  }
  say(topic: string) {
    this.onmessage?.({ data: JSON.stringify({ topic }) });
  }
}

const latest = () => {
  const s = FakeSocket.all.at(-1);
  if (!s) throw new Error('no connection');
  return s;
};

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.all = [];
  vi.stubGlobal('WebSocket', FakeSocket);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('one connection subscribes to all topics and notifies their listeners', () => {
  const c = new ChangeStream('ws://x');
  const users: unknown[] = [];
  const both: unknown[] = [];
  c.subscribe(['user'], (t) => users.push(t));
  const end = c.subscribe(['user', 'workspace'], (t) => both.push(t));
  latest().open();
  expect(FakeSocket.all).toHaveLength(1);
  expect(latest().sent.at(-1)).toBe('{"topics":["user","workspace"],"ready":true}');
  latest().say('workspace');
  latest().say('user');
  expect(users).toEqual(['user']);
  expect(both).toEqual(['workspace', 'user']);
  end();
  expect(latest().sent.at(-1)).toBe('{"topics":["user"],"ready":true}');
});

test('a lost connection reconnects and subscribes again', () => {
  const c = new ChangeStream('ws://x');
  const heard: unknown[] = [];
  c.subscribe(['user'], (t) => heard.push(t));
  latest().open();
  latest().drop();
  expect(c.isLost()).toBe(true);
  vi.advanceTimersByTime(1000);
  expect(FakeSocket.all).toHaveLength(2);
  latest().open();
  expect(c.isLost()).toBe(false);
  expect(latest().sent).toEqual(['{"topics":["user"],"ready":true}']);
  latest().say('user'); // the server notifies after each subscription
  expect(heard).toEqual(['user']);
});
