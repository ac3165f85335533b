// Reads and changes the terms of a search, such as: owner:me status:running "my name".

const term = /(?:[^\s"]|"[^"]*")+/g;

const split = (q: string): string[] => q.match(term) ?? [];

/** Returns the value of a key in a search; undefined without one. */
export function getTerm(q: string, key: string): string | undefined {
  const found = split(q).find((t) => t.startsWith(`${key}:`));
  return found?.slice(key.length + 1).replaceAll('"', '');
}

/** Returns the search with another value for a key, or without the key. */
export function setTerm(q: string, key: string, value: string | undefined): string {
  const rest = split(q).filter((t) => !t.startsWith(`${key}:`));
  if (value === undefined) return rest.join(' ');
  return [...rest, `${key}:${/\s/.test(value) ? `"${value}"` : value}`].join(' ');
}
