// Whether the session that the page was opened in has ended, here or in another
// tab. What is read meanwhile waits until somebody has logged in again, so that
// the page stays as it was left.

import { useSyncExternalStore } from 'react';

/** Nobody is logged in, somebody is, or whoever was has to log in again. */
export type Session = 'none' | 'open' | 'ended';

let now: Session = 'none';
const watchers = new Set<() => void>();

/** Says how the session is. */
export function sessionIs(state: Session): void {
  if (state === now) return;
  now = state;
  for (const w of [...watchers]) w();
}

const watch = (each: () => void) => {
  watchers.add(each);
  return () => watchers.delete(each);
};

/** Whether whoever was here has to log in again. */
export function useEnded(): boolean {
  return useSyncExternalStore(watch, () => now === 'ended');
}

const tabs = () => new BroadcastChannel('session');

/** Has the other tabs look whether the session goes on. */
export function tellTabs(): void {
  const channel = tabs();
  channel.postMessage('look');
  channel.close();
}

/** Calls when another tab says so, until the returned function is called. */
export function hearTabs(each: () => void): () => void {
  const channel = tabs();
  channel.onmessage = each;
  return () => channel.close();
}

/** Waits for the session that has ended to go on. It says false at once where nobody was logged in. */
export function goesOn(signal?: AbortSignal): Promise<boolean> {
  if (now === 'none') return Promise.resolve(false);
  sessionIs('ended');
  return new Promise((resolve, reject) => {
    const stop = watch(() => {
      if (now !== 'open') return;
      stop();
      resolve(true);
    });
    signal?.addEventListener('abort', () => {
      stop();
      reject(signal.reason as Error);
    });
  });
}
