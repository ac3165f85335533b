import { afterEach, expect, test, vi } from 'vitest';
import { ApiError, api, urlOf } from './client';

afterEach(() => vi.unstubAllGlobals());

test('variables are escaped, empty search terms left out', () => {
  expect(urlOf('/users/{user}/keys/{keyid}', { user: 'a/b', keyid: 'ü' }, { q: '', limit: 5 })).toBe('/api/v2/users/a%2Fb/keys/%C3%BC?limit=5');
  expect(() => urlOf('/users/{user}')).toThrow('lacks user');
});

test('a refusal carries the words of the server', async () => {
  const body = { message: 'No.', detail: 'Because.', validations: [{ field: 'name', detail: 'is taken' }] };
  vi.stubGlobal('fetch', async () => new Response(JSON.stringify(body), { status: 409 }));
  const error = await api.get('/buildinfo').catch((e) => e);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 409, message: 'No.', detail: 'Because.', fields: { name: 'is taken' } });
});

test('a server that cannot be reached is said so', async () => {
  vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('failed to fetch')));
  const error = await api.get('/buildinfo').catch((e) => e);
  expect(error.status).toBe(0);
  expect(error.message).toContain('cannot be reached');
});
