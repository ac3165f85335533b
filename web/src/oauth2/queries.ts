import { queryOptions } from '@tanstack/react-query';
import { type Schema, ApiError, api } from '../api/client';

export type App = Schema<'OAuth2ProviderApp'>;
export type Grant = Schema<'OAuth2ProviderGrant'>;

/** The key of all queries about OAuth2 applications. */
export const oauth2Key = ['oauth2'];

export const appList = queryOptions({
  queryKey: [...oauth2Key, 'apps'],
  queryFn: () => api.get('/oauth2-provider/apps'),
});

export const appQuery = (id: string) =>
  queryOptions({
    queryKey: [...oauth2Key, 'app', id],
    queryFn: () => api.get('/oauth2-provider/apps/{app}', { path: { app: id } }),
  });

export const secretList = (id: string) =>
  queryOptions({
    queryKey: [...oauth2Key, 'app', id, 'secrets'],
    queryFn: () => api.get('/oauth2-provider/apps/{app}/secrets', { path: { app: id } }),
  });

export const settingsQuery = queryOptions({
  queryKey: [...oauth2Key, 'settings'],
  queryFn: () => api.get('/oauth2-provider/settings'),
});

export const grantList = queryOptions({
  queryKey: [...oauth2Key, 'grants'],
  queryFn: () => api.get('/oauth2-provider/grants'),
});

/** Reports whether a list failed because the OAuth2 provider is off: it then has no endpoints. */
export const isProviderOff = (error: Error | null): boolean => error instanceof ApiError && error.status === 404;

/** The consents of a user for one application. */
export interface AuthorizedApp {
  app: App;
  grants: Grant[];
}

/** Returns consents by application, in the order of the first consent of each. */
export function groupByApp(grants: readonly Grant[]): AuthorizedApp[] {
  const found = new Map<string, AuthorizedApp>();
  for (const grant of grants) {
    const known = found.get(grant.app.id);
    if (known) known.grants.push(grant);
    else found.set(grant.app.id, { app: grant.app, grants: [grant] });
  }
  return [...found.values()];
}
