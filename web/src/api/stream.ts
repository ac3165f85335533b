// Streams from the server: log lines over WebSockets, and states as server-sent events.

import { useEffect, useRef, useState } from 'react';

/** Reads a WebSocket until the server closes it normally. A broken connection is resumed after the last row. */
export function followStream<T>(
  url: (after: number) => string,
  each: (rows: T[]) => void,
  idOf: (row: T) => number,
  done: () => void,
): () => void {
  let after = 0;
  let closed = false;
  let wait = 250;
  let socket: WebSocket | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = () => {
    socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${url(after)}`);
    socket.onmessage = (e) => {
      if (closed) return;
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
    // Firefox reports an error for a socket that is closed while it connects.
    if (socket?.readyState === WebSocket.CONNECTING) socket.onopen = () => socket?.close(1000);
    else socket?.close(1000);
  };
}

const maxLines = 20_000;

export interface LogLines<T> {
  rows: T[];
  /** How many of the oldest lines were dropped. */
  dropped: number;
  /** The log has ended. */
  done: boolean;
}

const noLines: LogLines<never> = { rows: [], dropped: 0, done: false };

/** Returns the last 20,000 lines of a log while they stream in. A null url means no log. */
export function useLogLines<T extends { id: number }>(url: string | null): LogLines<T> {
  const [known, setKnown] = useState<{ url: string | null; lines: LogLines<T> }>({ url: null, lines: noLines });
  const waiting = useRef<T[]>([]);
  useEffect(() => {
    if (url === null) return;
    const change = (to: (l: LogLines<T>) => LogLines<T>) =>
      setKnown((k) => ({ url, lines: to(k.url === url ? k.lines : noLines) }));
    let frame: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      frame = undefined;
      const more = waiting.current;
      waiting.current = [];
      change((l) => {
        const rows = [...l.rows, ...more];
        const over = Math.max(0, rows.length - maxLines);
        return { ...l, rows: over > 0 ? rows.slice(over) : rows, dropped: l.dropped + over };
      });
    };
    const end = followStream<T>(
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
  return known.url === url ? known.lines : noLines;
}

/** Returns the latest state from server-sent events. A null url means no stream. */
export function useServerSentEvents<T>(url: string | null): T | undefined {
  const [state, setState] = useState<T>();
  useEffect(() => {
    if (url === null) return;
    const source = new EventSource(url);
    source.addEventListener('data', (e) => setState(JSON.parse((e as MessageEvent<string>).data) as T));
    return () => source.close();
  }, [url]);
  return state;
}
