// Selects the region that serves apps and terminals: this server, the workspace proxy
// with the lowest latency, or the one that the user chose.

import { queryOptions, useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { useFirstPageShown } from '../lib/firstPage';
import { type Schema, api } from './client';

export type Region = Schema<'Region'>;

/** The name of the region that is this server. */
export const primary = 'primary';

/** Returns the name of a region as users see it. */
export const getRegionName = (region: Region): string =>
  region.display_name || (region.name === primary ? 'Server' : region.name);

/** How much faster than the server a proxy must be to be selected automatically, in milliseconds. */
const margin = 10;

/** The regions. The refetch interval bounds how long a failed proxy stays selected. */
export const regionsQuery = queryOptions({
  queryKey: ['regions'],
  queryFn: async () => (await api.get('/regions')).regions,
  refetchInterval: (q) => ((q.state.data?.length ?? 0) > 1 ? 20_000 : 120_000),
});

/** Measures the latency of a region in milliseconds; undefined when it does not respond. */
async function measureLatency(region: Region): Promise<number | undefined> {
  let best: number | undefined;
  try {
    for (let i = 0; i < 3; i++) {
      // The first request also opens the connection.
      const began = performance.now();
      await fetch(`${region.path_app_url}/latency-check`, {
        cache: 'no-store',
        credentials: 'omit',
        signal: AbortSignal.timeout(2_000),
      });
      const took = performance.now() - began;
      if (i > 0) best = Math.min(best ?? took, took);
    }
  } catch {
    return undefined;
  }
  return best;
}

/** The latencies of the regions by name. */
const latenciesQuery = (all: Region[]) =>
  queryOptions({
    queryKey: ['latencies', ...all.map((region) => `${region.name} ${region.path_app_url} ${region.healthy}`)],
    queryFn: async () =>
      Object.fromEntries(
        await Promise.all(
          all
            .filter((region) => region.healthy)
            .map(async (region) => [region.name, await measureLatency(region)] as const),
        ),
      ),
    enabled: all.length > 1,
    staleTime: 300_000,
  });

const key = 'region';
const listeners = new Set<() => void>();

/** Returns the region chosen in this browser, or "" for the one with the lowest latency. */
function getPreferredRegion(): string {
  return localStorage.getItem(key) ?? '';
}

export function setPreferredRegion(name: string): void {
  if (name) localStorage.setItem(key, name);
  else localStorage.removeItem(key);
  for (const tell of listeners) tell();
}

function subscribe(tell: () => void): () => void {
  listeners.add(tell);
  window.addEventListener('storage', tell);
  return () => {
    listeners.delete(tell);
    window.removeEventListener('storage', tell);
  };
}

/** Returns the region to use: the preferred one while it is healthy, else the fastest, else the server. */
export function selectRegion(
  all: Region[],
  wish: string,
  took: Record<string, number | undefined>,
): Region | undefined {
  const server = all.find((region) => region.name === primary);
  const wished = all.find((region) => region.name === wish && region.healthy);
  if (wished) return wished;
  if (wish) return server;
  const base = took[primary];
  const near = all
    .filter((region) => region.healthy && region.name !== primary && took[region.name] !== undefined)
    .sort((region, b) => (took[region.name] ?? 0) - (took[b.name] ?? 0))[0];
  return near && base !== undefined && (took[near.name] ?? 0) + margin < base ? near : server;
}

/** Where apps are served. */
export interface AppOrigin {
  /** The origin of path apps; "" for this server. */
  pathOrigin: string;
  /** The wildcard host name of subdomain apps, "" for none, and its protocol. */
  host: string;
  protocol: string;
}

/** Returns where a region serves apps. A region without a wildcard host name uses the server's. */
export function getAppOrigin(all: Region[], region: Region | undefined): AppOrigin {
  const named = region?.wildcard_hostname ? region : all.find((s) => s.name === primary);
  const away = (s: Region | undefined) => s !== undefined && s.name !== primary;
  return {
    pathOrigin: region && away(region) ? region.path_app_url : '',
    host: named?.wildcard_hostname ?? '',
    protocol: named && away(named) ? new URL(named.path_app_url).protocol : location.protocol,
  };
}

/** Returns the regions, their latencies, and the one in use. settled reports that the choice is final. */
export function useRegions() {
  const { data, error } = useQuery({ ...regionsQuery, enabled: useFirstPageShown() });
  const regions = data ?? [];
  const { data: measured, isError } = useQuery(latenciesQuery(regions));
  const latencies = measured ?? {};
  const preferred = useSyncExternalStore(subscribe, getPreferredRegion);
  const region = selectRegion(regions, preferred, latencies);
  const settled =
    error !== null ||
    isError ||
    (data !== undefined && (regions.length < 2 || preferred !== '' || measured !== undefined));
  return {
    all: regions,
    took: latencies,
    wish: preferred,
    region,
    error,
    ready: data !== undefined,
    settled,
    origin: getAppOrigin(regions, region),
  };
}
