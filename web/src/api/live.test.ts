import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeSocket } from '../testing/FakeSocket';
import { ChangeStream } from './live';

/** Notifies the client that a topic changed. */
const notify = (topic: string) => FakeSocket.latest().sendJSON({ topic });

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.install();
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
  FakeSocket.latest().open();
  expect(FakeSocket.all).toHaveLength(1);
  expect(FakeSocket.latest().sent.at(-1)).toBe('{"topics":["user","workspace"],"ready":true}');
  notify('workspace');
  notify('user');
  expect(users).toEqual(['user']);
  expect(both).toEqual(['workspace', 'user']);
  end();
  expect(FakeSocket.latest().sent.at(-1)).toBe('{"topics":["user"],"ready":true}');
});

test('a lost connection reconnects and subscribes again', () => {
  const c = new ChangeStream('ws://x');
  const heard: unknown[] = [];
  c.subscribe(['user'], (t) => heard.push(t));
  FakeSocket.latest().open();
  FakeSocket.latest().drop();
  expect(c.isLost()).toBe(true);
  vi.advanceTimersByTime(1000);
  expect(FakeSocket.all).toHaveLength(2);
  FakeSocket.latest().open();
  expect(c.isLost()).toBe(false);
  expect(FakeSocket.latest().sent).toEqual(['{"topics":["user"],"ready":true}']);
  notify('user'); // the server notifies after each subscription
  expect(heard).toEqual(['user']);
});
