// Tracks whether the session of this page has ended, here or in another tab. Reads wait
// until the user signs in again, so that the page keeps its state.

import { useSyncExternalStore } from 'react';

/** No session, a valid session, or a session that ended while the page was open. */
export type SessionState = 'none' | 'open' | 'ended';

let current: SessionState = 'none';
const subscribers = new Set<() => void>();

/** Sets the state of the session and notifies subscribers. */
export function setSessionState(state: SessionState): void {
  if (state === current) return;
  current = state;
  for (const w of [...subscribers]) w();
}

const subscribe = (each: () => void) => {
  subscribers.add(each);
  return () => subscribers.delete(each);
};

/** Reports whether the user must sign in again. */
export function useSessionEnded(): boolean {
  return useSyncExternalStore(subscribe, () => current === 'ended');
}

const openChannel = () => new BroadcastChannel('session');

/** Tells the other tabs to check the session. */
export function notifyTabs(): void {
  const channel = openChannel();
  channel.postMessage('check');
  channel.close();
}

/** Calls the listener when another tab reports a session change, until the returned function is called. */
export function onTabMessage(each: () => void): () => void {
  const channel = openChannel();
  channel.onmessage = each;
  return () => channel.close();
}

/** Resolves to true once the user signed in again, and to false at once when there was no session. */
export function waitForSession(signal?: AbortSignal): Promise<boolean> {
  if (current === 'none') return Promise.resolve(false);
  setSessionState('ended');
  return new Promise((resolve, reject) => {
    const stop = subscribe(() => {
      if (current !== 'open') return;
      stop();
      resolve(true);
    });
    signal?.addEventListener('abort', () => {
      stop();
      reject(signal.reason as Error);
    });
  });
}
