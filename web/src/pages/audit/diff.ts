// How the audit log shows a value of a field.

import type { Schema } from '../../api/client';

export type Entry = Schema<'AuditLog'>;

export interface Change {
  field: string;
  old: string;
  new: string;
  secret: boolean;
}

/** A value as text: nothing for null, JSON for what has parts. */
export function shown(v: unknown): string {
  if (v === null || v === undefined) return '';
  return typeof v === 'object' ? JSON.stringify(v) : String(v);
}

/** The fields that changed, by name; values of secret ones are not there. */
export function changes(entry: Pick<Entry, 'diff'>): Change[] {
  return Object.entries((entry.diff ?? {}) as Record<string, { old?: unknown; new?: unknown; secret?: boolean }>)
    .map(([field, d]) => ({ field, old: shown(d.old), new: shown(d.new), secret: d.secret ?? false }))
    .sort((a, b) => a.field.localeCompare(b.field));
}
