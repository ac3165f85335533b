// What surrounds the first page of a visit, such as the number of notifications, is read after that page
// is displayed: on a slow computer each request delays it.

import { useSyncExternalStore } from 'react';
import { whenIdle } from './whenIdle';

/** The longest time that the rest waits for the first page, in milliseconds. */
const patience = 3_000;

let loading = false;
const watchers = new Set<() => void>();

/**
 * Makes the rest wait until a frame has displayed the first page with its data, or for the longest time. Then calls f.
 * A tab in the background has no frames, so there f waits until the user opens the tab.
 */
export function beginFirstPage(isLoading: () => boolean, f: () => void): void {
  loading = true;
  setTimeout(endFirstPage, patience);
  const end = () => {
    endFirstPage();
    f();
  };
  const look = () => {
    if (loading && (isLoading() || !hasPage())) requestAnimationFrame(look);
    else requestAnimationFrame(() => whenIdle(end)); // the next frame displays what the document has
  };
  look();
}

/** Reports whether the document has a page, not only its placeholder. */
function hasPage(): boolean {
  const main = document.querySelector('main');
  return main !== null && main.childElementCount > 0 && !main.querySelector('[aria-label="Loading"]');
}

/** Lets the rest begin, one part after another. */
function endFirstPage(): void {
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
