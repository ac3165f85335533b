import { afterEach, expect, test, vi } from 'vitest';
import { ApiError, api, buildURL } from './client';

afterEach(() => vi.unstubAllGlobals());

test('escapes variables and omits empty search parameters', () => {
  expect(buildURL('/users/{user}/keys/{keyid}', { user: 'a/b', keyid: 'ü' }, { q: '', limit: 5 })).toBe(
    '/api/v2/users/a%2Fb/keys/%C3%BC?limit=5',
  );
  expect(() => buildURL('/users/{user}')).toThrow('lacks user');
});

test('an error carries the message of the server', async () => {
  const body = {
    message: 'Create failed.',
    detail: 'Choose another name.',
    validations: [{ field: 'name', detail: 'is taken' }],
  };
  vi.stubGlobal('fetch', async () => new Response(JSON.stringify(body), { status: 409 }));
  const error = await api.get('/buildinfo').catch((e) => e);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    status: 409,
    message: 'Create failed.',
    detail: 'Choose another name.',
    fields: { name: 'is taken' },
  });
});

test('reports a server that cannot be reached', async () => {
  vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('failed to fetch')));
  const error = await api.get('/buildinfo').catch((e) => e);
  expect(error.status).toBe(0);
  expect(error.message).toContain('cannot be reached');
});
