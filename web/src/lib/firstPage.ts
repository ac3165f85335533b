// What surrounds the first page of a visit, such as the number of notifications, is read after that page
// is displayed: on a slow computer each request delays it.

import { useSyncExternalStore } from 'react';
import { whenIdle } from './whenIdle';

/** The longest time that the rest waits for the first page, in milliseconds. */
const patience = 3_000;

let loading = false;
const watchers = new Set<() => void>();

/** Makes the rest wait. */
export function beginFirstPage(): void {
  loading = true;
  setTimeout(endFirstPage, patience);
}

/** Lets the rest begin, one part after another: the first page is displayed. */
export function endFirstPage(): void {
  if (!loading) return;
  loading = false;
  for (const tell of watchers) whenIdle(() => watchers.has(tell) && tell());
}

const subscribe = (tell: () => void) => {
  watchers.add(tell);
  return () => watchers.delete(tell);
};

/** Reports whether the first page of the visit is displayed. */
export const useFirstPageShown = (): boolean => useSyncExternalStore(subscribe, () => !loading);
