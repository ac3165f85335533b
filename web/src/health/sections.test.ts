import { expect, test } from 'vitest';
import { formatLatency, formatStateAge } from './format';
import { findingCodes, sections } from './sections';
import { formatNumber } from '../lib/text';

test('codes of findings', () => {
  const warnings = [
    { code: 'EDB02' as const, message: 'slow' },
    { code: 'EDB01' as const, message: 'again' },
  ];
  expect(findingCodes({ severity: 'error', dismissed: false, error: 'EDB01: no answer', warnings })).toEqual([
    'EDB01',
    'EDB02',
  ]);
  expect(findingCodes({ severity: 'ok', dismissed: false, error: '', warnings: [] })).toEqual([]);
});

test('each section has an own URL and advice', () => {
  expect(new Set(sections.map((s) => s.path)).size).toBe(sections.length);
  for (const s of sections) expect(Object.keys(s.advice), s.name).not.toEqual([]);
});

test.each([
  ['191.306µs', 0.19],
  ['12.34ms', 12],
  ['1.5s', 1500],
  ['1m2s', 62_000],
  ['0s', 0],
])('latency %j', (duration, ms) => expect(formatLatency(duration)).toBe(`${formatNumber(ms)} ms`));

test('an unknown latency', () => expect(formatLatency('')).toBe('–'));

test('the age of a state is a minimum when it is that of the history', () => {
  const check = (time: string) => ({ time, severity: 'ok' as const, replica_id: '', hostname: '' });
  const checks = [check('2026-11-01T00:00:00Z'), check('2026-11-01T01:00:00Z')];
  const age = (since: string) => formatStateAge({ severity_since: since, checks }, '2026-11-01T02:30:00Z');
  expect(age('2026-11-01T01:00:00Z')).toBe('In this state for 1 h 30 min.');
  expect(age('2026-11-01T00:00:00Z')).toBe('In this state for at least 2 h 30 min.');
  expect(age('0001-01-01T00:00:00Z')).toBe('');
  expect(formatStateAge({ severity_since: '2026-11-01T00:00:00Z', checks: [] }, '2026-11-01T02:30:00Z')).toBe('');
});
