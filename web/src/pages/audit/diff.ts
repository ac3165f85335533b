// Formats the changed fields of an audit log entry.

import type { Schema } from '../../api/client';

export type Entry = Schema<'AuditLog'>;

export interface Change {
  field: string;
  old: string;
  new: string;
  secret: boolean;
}

/** Formats a value as text: "" for null, JSON for objects and arrays. */
export function formatValue(v: unknown): string {
  if (v === null || v === undefined) return '';
  return typeof v === 'object' ? JSON.stringify(v) : String(v);
}

/** Returns the changed fields sorted by name. The values of secret fields are empty. */
export function listChanges(entry: Pick<Entry, 'diff'>): Change[] {
  return Object.entries((entry.diff ?? {}) as Record<string, { old?: unknown; new?: unknown; secret?: boolean }>)
    .map(([field, d]) => ({ field, old: formatValue(d.old), new: formatValue(d.new), secret: d.secret ?? false }))
    .sort((a, b) => a.field.localeCompare(b.field));
}
