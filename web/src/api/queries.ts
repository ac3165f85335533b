// What is read from the server and kept: one QueryClient, and the queries that
// several pages share.

import { MutationCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { type Schema, ApiError, api } from './client';
import { sessionIs } from './session';

/** The page's cache. A query is read again when a hint says so (live.ts), not by the clock. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 60_000,
      refetchOnWindowFocus: true,
      retry: (failures, error) => failures < 3 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 502),
    },
    mutations: { retry: false },
  },
  mutationCache: new MutationCache({
    onError: (error) => {
      if (error instanceof ApiError && error.status === 401) lookAgain();
    },
  }),
});

/** Looks whether somebody is still logged in. */
export function lookAgain(): void {
  void queries.invalidateQueries({ queryKey: ['me'] });
}

/** Who is logged in, or was when the page was opened; null for nobody. */
export const me = queryOptions({
  queryKey: ['me'],
  queryFn: async () => {
    const before = queries.getQueryData<Schema<'User'> | null>(['me']) ?? null;
    try {
      const self = await api.get('/users/{user}', { path: { user: 'me' } });
      if (before && before.id !== self.id) {
        location.reload(); // nothing of the other's stays
        return before;
      }
      sessionIs('open');
      return self;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 401)) throw error;
      if (before) sessionIs('ended'); // the page stays theirs
      return before;
    }
  },
  staleTime: 300_000,
});

/** Whether the deployment has its first user. */
export const hasFirstUser = queryOptions({
  queryKey: ['first-user'],
  queryFn: async () => {
    try {
      await api.get('/users/first');
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    }
  },
});

export const buildInfo = queryOptions({ queryKey: ['buildinfo'], queryFn: () => api.get('/buildinfo') });
export const authMethods = queryOptions({ queryKey: ['authmethods'], queryFn: () => api.get('/users/authmethods') });
export const appearance = queryOptions({ queryKey: ['appearance'], queryFn: () => api.get('/appearance') });
export const organizations = queryOptions({
  queryKey: ['organizations'],
  queryFn: () => api.get('/users/{user}/organizations', { path: { user: 'me' } }),
});
