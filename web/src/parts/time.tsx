import { useEffect, useState } from 'react';

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

// Made once: each takes longer to make than to use a hundred times.
const ago = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const inFull = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Says how far a moment is from now, such as "3 hours ago" or "in 2 days". */
export function relative(then: Date, now: Date): string {
  const seconds = (then.getTime() - now.getTime()) / 1000;
  for (const [unit, size] of units) if (Math.abs(seconds) >= size) return ago.format(Math.trunc(seconds / size), unit);
  return Math.abs(seconds) < 5 ? 'now' : ago.format(Math.trunc(seconds), 'second');
}

/** Says a length of time, such as "1 h 5 min" or "4.2 s". */
export function duration(milliseconds: number): string {
  const s = milliseconds / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(s % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The present, seen again every so many milliseconds. */
export function useNow(every: number): Date {
  const [now, set] = useState(() => new Date());
  useEffect(() => {
    const t = setInterval(() => set(new Date()), every);
    return () => clearInterval(t);
  }, [every]);
  return now;
}

/** A moment, relative to now, with the local date and time to point at. */
export function Moment({ at }: { at: string }) {
  const now = useNow(30_000);
  const date = new Date(at);
  return (
    <time dateTime={at} title={inFull.format(date)}>
      {relative(date, now)}
    </time>
  );
}
