// Hints from the server that something changed, so that what is shown is read
// again: one WebSocket for the whole page, shared by everything on it.

import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';

/** Kinds of things that change, or one of them: `workspace` or `workspace/<id>`. */
export type Topic = string;

type Listener = (topic: Topic) => void;

const longestWait = 10_000;

/** How long to wait for more hints before what they are about is read again once, in milliseconds. */
const together = 40;

/** One connection that listens to the topics somebody wants now. */
export class Changes {
  private readonly url: string;
  private socket: WebSocket | null = null;
  private readonly wanted = new Map<Topic, number>();
  private readonly listeners = new Set<Listener>();
  private readonly watchers = new Set<() => void>();
  private wait = 250;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lost = false;

  constructor(url: string) {
    this.url = url;
  }

  /** Listens to topics until the returned function is called. Each is told of once
   * when listening begins, anew too after the connection was lost: what was read
   * before may be old. */
  listen(topics: readonly Topic[], each: Listener): () => void {
    const heard: Listener = (t) => {
      if (topics.includes(t)) each(t);
    };
    for (const t of topics) this.wanted.set(t, (this.wanted.get(t) ?? 0) + 1);
    this.listeners.add(heard);
    this.say();
    return () => {
      this.listeners.delete(heard);
      for (const t of topics) {
        const n = (this.wanted.get(t) ?? 1) - 1;
        if (n > 0) this.wanted.set(t, n);
        else this.wanted.delete(t);
      }
      this.say();
    };
  }

  /** Whether the connection was lost and is not back yet. */
  isLost = (): boolean => this.lost;

  /** Calls when isLost may have changed. */
  watch = (each: () => void): (() => void) => {
    this.watchers.add(each);
    return () => this.watchers.delete(each);
  };

  private say(): void {
    if (this.wanted.size === 0) return;
    if (this.socket === null) this.open();
    else if (this.socket.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ topics: [...this.wanted.keys()].sort(), ready: true }));
    }
  }

  private open(): void {
    clearTimeout(this.timer);
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.onopen = () => {
      this.wait = 250;
      this.say();
      if (this.lost) this.mark(false);
    };
    socket.onmessage = (e) => {
      const { topic } = JSON.parse(String(e.data)) as { topic: Topic };
      for (const l of [...this.listeners]) l(topic);
    };
    socket.onclose = () => {
      this.socket = null;
      if (this.wanted.size === 0) return;
      this.mark(true);
      this.timer = setTimeout(() => this.open(), this.wait * (0.5 + Math.random()));
      this.wait = Math.min(this.wait * 2, longestWait);
    };
  }

  private mark(lost: boolean): void {
    this.lost = lost;
    for (const w of this.watchers) w();
  }
}

let shared: Changes | undefined;

function changes(): Changes {
  shared ??= new Changes(`${location.origin.replace(/^http/, 'ws')}/api/v2/changes`);
  return shared;
}

/** Reads the queries under the keys again whenever one of the topics changes. */
export function useLive(topics: readonly Topic[], ...keys: QueryKey[]): void {
  const client = useQueryClient();
  const wanted = topics.join(' ');
  const stale = JSON.stringify(keys);
  useEffect(() => {
    if (wanted === '') return;
    let due = false;
    return changes().listen(wanted.split(' '), async () => {
      if (due) return;
      due = true;
      await new Promise((resolve) => setTimeout(resolve, together));
      due = false;
      const all = JSON.parse(stale) as QueryKey[];
      // A first read that is on its way may have looked before the change.
      const begun = all.flatMap((queryKey) => client.getQueryCache().findAll({ queryKey, fetchStatus: 'fetching', predicate: (q) => q.state.data === undefined }));
      await Promise.allSettled(begun.map((q) => q.promise));
      for (const queryKey of all) client.invalidateQueries({ queryKey });
    });
  }, [client, wanted, stale]);
}

/** Whether the live connection is lost at the moment. */
export function useLost(): boolean {
  const c = changes();
  return useSyncExternalStore(c.watch, c.isLost);
}
