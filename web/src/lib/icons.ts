// The built-in icons and emoji of the server.

import { useQuery } from '@tanstack/react-query';

export interface BuiltinIcon {
  path: string;
  name: string;
  /** Additional search terms. */
  keywords?: string;
}

export interface IconSet {
  icons: BuiltinIcon[];
  emojis: BuiltinIcon[];
}

/** Returns icons for which each query word is the prefix of a word in the name or keywords. Name matches come first. */
export function findIcons(all: BuiltinIcon[], query: string, limit: number): BuiltinIcon[] {
  const words = query
    .toLowerCase()
    .split(/[\s-]+/)
    .filter(Boolean);
  if (words.length === 0) return all.slice(0, limit);
  const found = all.filter((icon) => {
    const known = `${icon.name} ${icon.keywords ?? ''}`.toLowerCase().split(/[\s-]+/);
    return words.every((w) => known.some((k) => k.startsWith(w)));
  });
  const first = query.trim().toLowerCase();
  return [
    ...found.filter((icon) => icon.name.toLowerCase().startsWith(first)),
    ...found.filter((icon) => !icon.name.toLowerCase().startsWith(first)),
  ].slice(0, limit);
}

/** Loads the built-in icons once. */
export function useIcons(enabled: boolean) {
  return useQuery({
    queryKey: ['icons.json'],
    queryFn: async ({ signal }): Promise<IconSet> => {
      const r = await fetch('/icons.json', { signal });
      if (!r.ok) throw new Error(`The server answered ${r.status}`);
      return (await r.json()) as IconSet;
    },
    enabled,
    staleTime: Infinity,
    retry: false,
  });
}
