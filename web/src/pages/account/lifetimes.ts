const day = 86_400_000_000_000; // in nanoseconds, as the API has durations

/** The lifetimes one may choose from, in days, none longer than max nanoseconds; max itself is always there. */
export function lifetimes(max = 365 * day): { value: string; label: string }[] {
  const most = Math.max(1, Math.floor(max / day));
  const days = [1, 7, 30, 90, 365].filter((d) => d < most);
  return [...days, Math.min(most, 3650)].map((d) => ({ value: String(d), label: d === 1 ? 'One day' : `${d} days` }));
}
