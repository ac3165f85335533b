import type { Schema } from '../api/client';
import { formatDuration } from '../components/time';
import { formatNumber } from '../lib/text';

const milliseconds: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Formats a duration of the API, such as "191.306µs", in milliseconds with two significant digits: "0.19 ms". */
export function formatLatency(duration: string): string {
  const parts = [...duration.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g)];
  if (parts.length === 0) return duration || '–';
  const ms = parts.reduce((sum, [, n, unit]) => sum + Number(n) * (milliseconds[unit ?? ''] ?? 0), 0);
  return `${formatNumber(ms < 100 ? Number(ms.toPrecision(2)) : Math.round(ms))} ms`;
}

/** Returns how long the state of a section has lasted when it was checked: "In this state for 1 h 5 min." */
export function formatStateAge(
  past: Pick<Schema<'HealthSectionHistory'>, 'severity_since' | 'checks'>,
  checked: string,
): string {
  const since = new Date(past.severity_since).getTime();
  const age = new Date(checked).getTime() - since;
  const first = past.checks[0];
  if (!first || age < 1000 || since < 0) return '';
  const atLeast = new Date(first.time).getTime() >= since ? 'at least ' : '';
  return `In this state for ${atLeast}${formatDuration(age)}.`;
}
