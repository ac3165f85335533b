// From where apps and terminals of workspaces are opened: this server, or the
// workspace proxy that answers soonest, or the one that the person chose.

import { queryOptions, useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { type Schema, api } from './client';

export type Region = Schema<'Region'>;

/** The server itself, among the regions. */
export const primary = 'primary';

/** How much sooner than the server a proxy has to answer to be taken unasked, in milliseconds. */
const margin = 10;

/** The regions, read again often enough that one that has died is left within a minute. */
export const regions = queryOptions({
  queryKey: ['regions'],
  queryFn: async () => (await api.get('/regions')).regions,
  refetchInterval: (q) => ((q.state.data?.length ?? 0) > 1 ? 20_000 : 120_000),
});

/** How long a region takes to answer, in milliseconds; undefined where it does not. */
async function latency(r: Region): Promise<number | undefined> {
  let best: number | undefined;
  try {
    for (let i = 0; i < 3; i++) {
      // The first also makes the connection.
      const began = performance.now();
      await fetch(`${r.path_app_url}/latency-check`, { cache: 'no-store', credentials: 'omit', signal: AbortSignal.timeout(2_000) });
      const took = performance.now() - began;
      if (i > 0) best = Math.min(best ?? took, took);
    }
  } catch {
    return undefined;
  }
  return best;
}

/** How long each takes, by name. */
const latencies = (all: Region[]) =>
  queryOptions({
    queryKey: ['latencies', ...all.map((r) => `${r.name} ${r.path_app_url} ${r.healthy}`)],
    queryFn: async () => Object.fromEntries(await Promise.all(all.filter((r) => r.healthy).map(async (r) => [r.name, await latency(r)] as const))),
    enabled: all.length > 1,
    staleTime: 300_000,
  });

const key = 'region';
const listeners = new Set<() => void>();

/** What the person chose in this browser: the name of a region, or "" for the one that answers soonest. */
function chosen(): string {
  return localStorage.getItem(key) ?? '';
}

export function choose(name: string): void {
  if (name) localStorage.setItem(key, name);
  else localStorage.removeItem(key);
  for (const tell of listeners) tell();
}

function listen(tell: () => void): () => void {
  listeners.add(tell);
  window.addEventListener('storage', tell);
  return () => {
    listeners.delete(tell);
    window.removeEventListener('storage', tell);
  };
}

/** The region to use: the chosen one while it is well, else the one that answers soonest, else the server. */
export function pick(all: Region[], wish: string, took: Record<string, number | undefined>): Region | undefined {
  const server = all.find((r) => r.name === primary);
  const wished = all.find((r) => r.name === wish && r.healthy);
  if (wished) return wished;
  if (wish) return server;
  const base = took[primary];
  const near = all
    .filter((r) => r.healthy && r.name !== primary && took[r.name] !== undefined)
    .sort((a, b) => (took[a.name] ?? 0) - (took[b.name] ?? 0))[0];
  return near && base !== undefined && (took[near.name] ?? 0) + margin < base ? near : server;
}

/** Where apps are. */
export interface Place {
  /** What stands before a path; "" for this server. */
  base: string;
  /** The wildcard host name of apps, "" for none, and the protocol there. */
  host: string;
  protocol: string;
}

/** The place of a region. Where it has no host names for apps, those of the server serve. */
export function placeOf(all: Region[], r: Region | undefined): Place {
  const named = r?.wildcard_hostname ? r : all.find((s) => s.name === primary);
  const away = (s: Region | undefined) => s !== undefined && s.name !== primary;
  return {
    base: r && away(r) ? r.path_app_url : '',
    host: named?.wildcard_hostname ?? '',
    protocol: named && away(named) ? new URL(named.path_app_url).protocol : location.protocol,
  };
}

/** The regions, the one in use, what was chosen, and how long each takes. settled says that the one in use is known. */
export function useRegions() {
  const { data, error } = useQuery(regions);
  const all = data ?? [];
  const { data: measured, isError } = useQuery(latencies(all));
  const took = measured ?? {};
  const wish = useSyncExternalStore(listen, chosen);
  const region = pick(all, wish, took);
  const settled = error !== null || isError || (data !== undefined && (all.length < 2 || wish !== '' || measured !== undefined));
  return { all, took, wish, region, error, ready: data !== undefined, settled, place: placeOf(all, region) };
}
