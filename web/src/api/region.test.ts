import { expect, test, vi } from 'vitest';
import { type Region, selectRegion, getAppOrigin } from './region';

const region = (name: string, healthy = true): Region => ({
  id: name,
  name,
  healthy,
  display_name: '',
  icon_url: '',
  path_app_url: `https://${name}.test`,
  wildcard_hostname: `*.${name}.test`,
});
const all = [region('primary'), region('sydney'), region('oslo'), region('dead', false)];

test.each([
  ['', {}, 'primary'],
  ['', { primary: 200, sydney: 20, oslo: 90 }, 'sydney'],
  ['', { primary: 25, sydney: 20 }, 'primary'], // within the margin
  ['', { primary: 200, sydney: undefined, oslo: 90, dead: 1 }, 'oslo'],
  ['', { sydney: 20 }, 'primary'],
  ['oslo', { primary: 1, oslo: 500 }, 'oslo'],
  ['dead', { primary: 200, sydney: 20 }, 'primary'],
  ['gone', {}, 'primary'],
])('%s among %j', (wish, took, want) => expect(selectRegion(all, wish, took)?.name).toBe(want));

test('the server uses its own origin', () => {
  vi.stubGlobal('location', { protocol: 'http:' });
  expect(getAppOrigin(all, all[0])).toEqual({ host: '*.primary.test', pathOrigin: '', protocol: 'http:' });
  expect(getAppOrigin(all, all[1])).toEqual({
    host: '*.sydney.test',
    pathOrigin: 'https://sydney.test',
    protocol: 'https:',
  });
  expect(getAppOrigin(all, { ...region('bare'), wildcard_hostname: '' })).toEqual({
    host: '*.primary.test',
    pathOrigin: 'https://bare.test',
    protocol: 'http:',
  });
  expect(getAppOrigin([], undefined)).toEqual({ host: '', pathOrigin: '', protocol: 'http:' });
});
