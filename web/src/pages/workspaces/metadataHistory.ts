// The values of an agent's metadata since the page was opened, for sparklines.

import type { Schema } from '../../api/client';

type Metadata = Schema<'WorkspaceAgentMetadata'>;

interface Values {
  collectedAt: string;
  numbers: number[];
}

export type MetadataHistory = Record<string, Values>;

/** How many values are kept for each key. */
const kept = 60;

/** Returns the number at the beginning of a value such as "42 %", "1.5/8 GiB" or "0.3 (15%)". Other text that begins
 * with a number, such as a date, is not a measurement. */
export function parseMeasurement(value: string): number | undefined {
  const number = /^\s*(-?\d+(?:\.\d+)?)\s*(?:$|[%/(]|,\s|[kKMGT]?i?B\b|[kKMGT]\b|m?s\b|°|cores?\b)/.exec(value)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** Adds the values that were collected since the last call. A value that is not a measurement clears its key. */
export function appendMetadata(history: MetadataHistory, metadata: Metadata[]): MetadataHistory {
  const next: MetadataHistory = {};
  for (const { description, result } of metadata) {
    const before = history[description.key];
    if (before?.collectedAt === result.collected_at) {
      next[description.key] = before;
      continue;
    }
    const number = result.error ? undefined : parseMeasurement(result.value);
    if (number === undefined) continue;
    next[description.key] = {
      collectedAt: result.collected_at,
      numbers: [...(before?.numbers ?? []), number].slice(-kept),
    };
  }
  return next;
}
