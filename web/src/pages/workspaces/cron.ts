// Schedules in the format of the API: CRON_TZ=zone minute hour * * days.

import { capitalize, formatCount } from '../../lib/text';
import { formatDuration } from '../../components/time';

export interface Weekly {
  zone: string;
  hour: number;
  minute: number;
  /** 0 is Sunday. */
  days: number[];
}

/** Parses a schedule; undefined when it is not weekly. */
export function parseSchedule(schedule: string): Weekly | undefined {
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

/** The names of the days in the API, Sunday first. */
export const dayNames = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

function dayNumber(word: string): number | undefined {
  if (/^[0-7]$/.test(word)) return Number(word);
  const i = dayNames.findIndex((d) => d.slice(0, 3) === word.toLowerCase());
  return i < 0 ? undefined : i;
}

/** Returns names of days as a list for display. */
export const formatDays = (days: readonly string[]): string => days.map(capitalize).join(', ');

/** Formats a schedule for the API. */
export function formatSchedule(schedule: Weekly): string {
  const days = schedule.days.length === 7 ? '*' : schedule.days.join(',');
  return `CRON_TZ=${schedule.zone} ${schedule.minute} ${schedule.hour} * * ${days}`;
}

/** Returns the time zones to choose from, including the current one. */
export const listTimeZones = (own: string): string[] =>
  [...new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', own])].sort();

const units: [string, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** Formats a configured duration, such as "30 days" or "90 minutes". */
export function formatConfiguredDuration(milliseconds: number): string {
  const unit = units.find(([, size]) => milliseconds % size === 0);
  return unit ? formatCount(milliseconds / unit[1], unit[0]) : formatDuration(milliseconds);
}
