// The query cache, and the queries that several pages share.

import { MutationCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { type Schema, ApiError, api } from './client';
import { setSessionState } from './session';

/** The query cache. Change notifications (live.ts) refetch queries; those without notifications poll. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 60_000,
      refetchOnWindowFocus: true,
      retry: (failures, error) =>
        failures < 3 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 502),
    },
    mutations: { retry: false },
  },
  mutationCache: new MutationCache({
    onError: (error) => {
      if (error instanceof ApiError && error.status === 401) refreshSession();
    },
  }),
});

/** Checks whether the session is still valid. */
export function refreshSession(): void {
  void queries.invalidateQueries({ queryKey: ['me'] });
}

/** The signed-in user, also after the session ended; null when the page was opened without a session. */
export const me = queryOptions({
  queryKey: ['me'],
  queryFn: async () => {
    const before = queries.getQueryData<Schema<'User'> | null>(['me']) ?? null;
    try {
      const self = await api.get('/users/{user}', { path: { user: 'me' } });
      if (before && before.id !== self.id) {
        location.reload(); // drop everything read as the previous user
        return before;
      }
      setSessionState('open');
      return self;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 401)) throw error;
      if (before) setSessionState('ended'); // keep the page behind the sign-in dialog
      return before;
    }
  },
  staleTime: 300_000,
});

/** Reports whether the deployment has its first user. */
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
