const day = 86_400_000_000_000; // in nanoseconds, the API's unit

/** Returns the selectable token lifetimes in days, up to and including max nanoseconds. */
export function listLifetimes(max = 365 * day): { value: string; label: string }[] {
  const most = Math.max(1, Math.floor(max / day));
  const days = [1, 7, 30, 90, 365].filter((d) => d < most);
  return [...days, Math.min(most, 3650)].map((d) => ({ value: String(d), label: d === 1 ? '1 day' : `${d} days` }));
}
