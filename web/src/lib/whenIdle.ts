/** Runs f when the browser has nothing else to do, or a second later at the latest. */
export function whenIdle(f: () => unknown): void {
  if ('requestIdleCallback' in window) requestIdleCallback(f, { timeout: 1000 });
  else setTimeout(f); // Safari
}
