/** Returns the date of a time in the browser's time zone, such as "2026-11-01". */
export function formatDate(at: Date): string {
  const pad = (n: number) => String(n).padStart(2, '0');
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
}

/** Returns the first and the last date of a period of days that ends today. */
export function periodOf(days: number, now: Date): { start_date: string; end_date: string } {
  const first = new Date(now.getFullYear(), now.getMonth(), now.getDate() - days + 1);
  return { start_date: formatDate(first), end_date: formatDate(now) };
}

const dayFormat = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });

/** Returns a date of the API for an axis, such as "Nov 1". */
export const formatDay = (date: string): string => dayFormat.format(new Date(`${date.slice(0, 10)}T00:00:00Z`));
