// What is read from the server and kept: one QueryClient, and the queries that
// several pages share.

import { QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { ApiError, api } from './client';

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
  queryCache: new QueryCache({
    onError: (error, query) => {
      // The session ended, here or in another tab: the login page brings people back.
      if (error instanceof ApiError && error.status === 401 && query.queryKey[0] !== 'me') {
        queries.setQueryData(['me'], null);
      }
    },
  }),
});

/** Who is logged in; null for nobody. */
export const me = queryOptions({
  queryKey: ['me'],
  queryFn: async () => {
    try {
      return await api.get('/users/{user}', { path: { user: 'me' } });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null;
      throw error;
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
