// Parses and writes search parameters. A value is parsed as JSON only when it is in the
// canonical form, so that text such as 007 keeps its zeros.

import { parseSearchWith, stringifySearchWith } from '@tanstack/react-router';

function parseCanonicalJSON(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (JSON.stringify(value) !== text) throw new Error('not canonical JSON');
  return value;
}

export const parseSearch = parseSearchWith(parseCanonicalJSON);
export const stringifySearch = stringifySearchWith(JSON.stringify, parseCanonicalJSON);
