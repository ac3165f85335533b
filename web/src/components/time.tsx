import { useEffect, useState } from 'react';

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

// Created once, because construction is slow.
const relativeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const fullFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Returns the distance from now, such as "3 hours ago" or "in 2 days". */
export function formatRelative(then: Date, now: Date): string {
  const seconds = (then.getTime() - now.getTime()) / 1000;
  // A future time is rounded: eight hours stay "in 8 hours" a minute later.
  const future = seconds > 0;
  for (const [unit, size] of units) {
    if (Math.abs(seconds) < (future ? size - 30 : size)) continue;
    return relativeFormat.format(future ? Math.round(seconds / size) : Math.trunc(seconds / size), unit);
  }
  return Math.abs(seconds) < 5 ? 'now' : relativeFormat.format(Math.trunc(seconds), 'second');
}

/** Formats a duration, such as "1 h 5 min" or "4.2 s". */
export function formatDuration(milliseconds: number): string {
  const s = milliseconds / 1000;
  if (s < 59.5) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  const whole = Math.round(s);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Returns the time zone of the browser. A browser that does not know it is at UTC. */
export function getTimeZone(): string {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return zone && zone !== 'Etc/Unknown' ? zone : 'UTC';
}

const clocks = new Map<number, Set<(now: Date) => void>>();

/** Calls tell every so many milliseconds, at the same time as others with this interval. The result ends it. */
function onTick(every: number, tell: (now: Date) => void): () => void {
  const started = clocks.get(every);
  const all = started ?? new Set();
  all.add(tell);
  if (!started) {
    clocks.set(every, all);
    const timer = setInterval(() => {
      const now = new Date();
      for (const each of all) each(now);
      if (all.size > 0) return;
      clearInterval(timer);
      clocks.delete(every);
    }, every);
  }
  return () => void all.delete(tell);
}

/** Returns the current time and re-renders after the given number of milliseconds. */
export function useNow(every: number): Date {
  const [now, set] = useState(() => new Date());
  useEffect(() => onTick(every, set), [every]);
  return now;
}

/** A time relative to now, with the local date and time as its tooltip. */
export function RelativeTime({ at }: { at: string }) {
  const now = useNow(30_000);
  const date = new Date(at);
  return (
    <time dateTime={at} title={fullFormat.format(date)} style={{ whiteSpace: 'nowrap' }}>
      {formatRelative(date, now)}
    </time>
  );
}
