// Schedules as the API keeps them: CRON_TZ=zone minute hour * * days.

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

const names = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

function dayNumber(word: string): number | undefined {
  if (/^[0-7]$/.test(word)) return Number(word);
  const i = names.indexOf(word.toLowerCase());
  return i < 0 ? undefined : i;
}

/** Writes a schedule. */
export function format(w: Weekly): string {
  const days = w.days.length === 7 ? '*' : w.days.join(',');
  return `CRON_TZ=${w.zone} ${w.minute} ${w.hour} * * ${days}`;
}
