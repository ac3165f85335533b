// What the server sends as it happens: log lines, and states of things.

import { useEffect, useRef, useState } from 'react';

/** Reads messages of a WebSocket until it ends well or is closed; a broken one is opened again where it broke. */
export function follow<T>(url: (after: number) => string, each: (rows: T[]) => void, idOf: (row: T) => number, done: () => void): () => void {
  let after = 0;
  let closed = false;
  let wait = 250;
  let socket: WebSocket | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = () => {
    socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${url(after)}`);
    socket.onmessage = (e) => {
      wait = 250;
      const message = JSON.parse(String(e.data)) as T | T[];
      const rows = Array.isArray(message) ? message : [message];
      const last = rows.at(-1);
      if (last === undefined) return;
      after = idOf(last);
      each(rows);
    };
    socket.onclose = (e) => {
      if (closed) return;
      if (e.code === 1000) return done();
      timer = setTimeout(open, wait * (0.5 + Math.random()));
      wait = Math.min(wait * 2, 10_000);
    };
  };
  open();
  return () => {
    closed = true;
    clearTimeout(timer);
    socket?.close(1000);
  };
}

const kept = 20_000;

export interface Lines<T> {
  rows: T[];
  /** How many of the first were left out. */
  dropped: number;
  /** The log has ended. */
  done: boolean;
}

const nothing: Lines<never> = { rows: [], dropped: 0, done: false };

/** The lines of a log as they come, the last 20,000 of them. url is null for none. */
export function useLines<T extends { id: number }>(url: string | null): Lines<T> {
  const [known, setKnown] = useState<{ url: string | null; lines: Lines<T> }>({ url: null, lines: nothing });
  const waiting = useRef<T[]>([]);
  useEffect(() => {
    if (url === null) return;
    const change = (to: (l: Lines<T>) => Lines<T>) => setKnown((k) => ({ url, lines: to(k.url === url ? k.lines : nothing) }));
    let frame: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      frame = undefined;
      const more = waiting.current;
      waiting.current = [];
      change((l) => {
        const rows = [...l.rows, ...more];
        const over = Math.max(0, rows.length - kept);
        return { ...l, rows: over > 0 ? rows.slice(over) : rows, dropped: l.dropped + over };
      });
    };
    const end = follow<T>(
      (after) => `${url}${url.includes('?') ? '&' : '?'}follow=true&after=${after}`,
      (rows) => {
        waiting.current.push(...rows);
        frame ??= setTimeout(flush, 60);
      },
      (row) => row.id,
      () => change((l) => ({ ...l, done: true })),
    );
    return () => {
      end();
      clearTimeout(frame);
      waiting.current = [];
    };
  }, [url]);
  return known.url === url ? known.lines : nothing;
}

/** The latest state that server-sent events tell; url is null for none. */
export function useEvents<T>(url: string | null): T | undefined {
  const [state, setState] = useState<T>();
  useEffect(() => {
    if (url === null) return;
    const source = new EventSource(url);
    source.addEventListener('data', (e) => setState(JSON.parse((e as MessageEvent<string>).data) as T));
    return () => source.close();
  }, [url]);
  return state;
}
