// Change notifications from the server. One WebSocket per page is shared by all
// components; each notification refetches the affected queries.

import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { whenIdle } from '../lib/whenIdle';

/** A kind of resource or a single resource: `workspace` or `workspace/<id>`. */
export type Topic = string;

type Listener = (topic: Topic) => void;

const maxReconnectDelay = 10_000;

/** How long notifications are collected before one refetch, in milliseconds. */
const batchDelay = 40;

/** One connection that subscribes to all topics in use. */
export class ChangeStream {
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

  /** Subscribes to topics until the returned function is called. The listener is called
   * once per topic when the subscription starts, and again after each reconnect,
   * because data read before may be stale. */
  subscribe(topics: readonly Topic[], each: Listener): () => void {
    const heard: Listener = (t) => {
      if (topics.includes(t)) each(t);
    };
    for (const t of topics) this.wanted.set(t, (this.wanted.get(t) ?? 0) + 1);
    this.listeners.add(heard);
    this.sendTopics();
    return () => {
      this.listeners.delete(heard);
      for (const t of topics) {
        const n = (this.wanted.get(t) ?? 1) - 1;
        if (n > 0) this.wanted.set(t, n);
        else this.wanted.delete(t);
      }
      this.sendTopics();
    };
  }

  /** Reports whether the connection is lost. */
  isLost = (): boolean => this.lost;

  /** Registers a listener for changes of isLost. */
  subscribeToState = (each: () => void): (() => void) => {
    this.watchers.add(each);
    return () => this.watchers.delete(each);
  };

  private sendTopics(): void {
    if (this.wanted.size === 0) return;
    if (this.socket === null) this.connect();
    else if (this.socket.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ topics: [...this.wanted.keys()].sort(), ready: true }));
    }
  }

  private connect(): void {
    clearTimeout(this.timer);
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.onopen = () => {
      this.wait = 250;
      this.sendTopics();
      if (this.lost) this.setLost(false);
    };
    socket.onmessage = (e) => {
      const { topic } = JSON.parse(String(e.data)) as { topic: Topic };
      for (const listener of [...this.listeners]) listener(topic);
    };
    socket.onclose = () => {
      this.socket = null;
      if (this.wanted.size === 0) return;
      this.setLost(true);
      this.timer = setTimeout(() => this.connect(), this.wait * (0.5 + Math.random()));
      this.wait = Math.min(this.wait * 2, maxReconnectDelay);
    };
  }

  private setLost(lost: boolean): void {
    this.lost = lost;
    for (const w of this.watchers) w();
  }
}

let shared: ChangeStream | undefined;

function getChangeStream(): ChangeStream {
  shared ??= new ChangeStream(`${location.origin.replace(/^http/, 'ws')}/api/v2/changes`);
  return shared;
}

/** Refetches the queries under the keys whenever one of the topics changes. */
export function useLiveUpdates(topics: readonly Topic[], ...keys: QueryKey[]): void {
  const client = useQueryClient();
  const wanted = topics.join(' ');
  const stale = JSON.stringify(keys);
  useEffect(() => {
    if (wanted === '') return;
    let due = false;
    return getChangeStream().subscribe(wanted.split(' '), async () => {
      if (due) return;
      due = true;
      // A page that has just opened draws its first data first.
      await new Promise<void>((resolve) => setTimeout(() => whenIdle(resolve), batchDelay));
      due = false;
      const all = JSON.parse(stale) as QueryKey[];
      // A first fetch in flight may have read before the change.
      const begun = all.flatMap((queryKey) =>
        client
          .getQueryCache()
          .findAll({ queryKey, fetchStatus: 'fetching', predicate: (q) => q.state.data === undefined }),
      );
      await Promise.allSettled(begun.map((q) => q.promise));
      for (const queryKey of all) client.invalidateQueries({ queryKey });
    });
  }, [client, wanted, stale]);
}

/** Reports whether the connection for change notifications is lost. */
export function useConnectionLost(): boolean {
  const c = getChangeStream();
  return useSyncExternalStore(c.subscribeToState, c.isLost);
}
