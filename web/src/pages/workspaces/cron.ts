// Schedules as the API keeps them: CRON_TZ=zone minute hour * * days.

import { plural } from '../../parts/plural';
import { duration } from '../../parts/time';

export interface Weekly {
  zone: string;
  hour: number;
  minute: number;
  /** 0 is Sunday. */
  days: number[];
}

/** Reads a schedule, or undefined for one that is not weekly. */
export function parse(schedule: string): Weekly | undefined {
  const m = /^(?:(?:CRON_)?TZ=(\S+)\s+)?(\d{1,2})\s+(\d{1,2})\s+\*\s+\*\s+(\S+)$/.exec(schedule.trim());
  if (!m) return undefined;
  const [, zone = 'UTC', minute, hour, days = '*'] = m;
  const set = new Set<number>();
  for (const part of days === '*' ? ['0-6'] : days.split(',')) {
    const [from, to = from] = part.split('-').map(dayNumber);
    if (from === undefined || to === undefined || from > to) return undefined;
    for (let d = from; d <= to; d++) set.add(d % 7);
  }
  return { zone, hour: Number(hour), minute: Number(minute), days: [...set].sort() };
}

/** The days, Sunday first, as templates name them. */
export const dayNames = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

function dayNumber(word: string): number | undefined {
  if (/^[0-7]$/.test(word)) return Number(word);
  const i = dayNames.findIndex((d) => d.slice(0, 3) === word.toLowerCase());
  return i < 0 ? undefined : i;
}

/** Writes a schedule. */
export function format(w: Weekly): string {
  const days = w.days.length === 7 ? '*' : w.days.join(',');
  return `CRON_TZ=${w.zone} ${w.minute} ${w.hour} * * ${days}`;
}

/** The time zones that can be chosen, one's own among them. */
export const zones = (own: string): string[] => [...new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', own])].sort();

const units: [string, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** A length of time that somebody chose, such as "30 days" or "90 minutes". */
export function lasting(milliseconds: number): string {
  const unit = units.find(([, size]) => milliseconds % size === 0);
  return unit ? plural(milliseconds / unit[1], unit[0]) : duration(milliseconds);
}
