import { expect, test, vi } from 'vitest';
import { type Region, pick, placeOf } from './region';

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
  ['', { primary: 25, sydney: 20 }, 'primary'], // not worth it
  ['', { primary: 200, sydney: undefined, oslo: 90, dead: 1 }, 'oslo'],
  ['', { sydney: 20 }, 'primary'],
  ['oslo', { primary: 1, oslo: 500 }, 'oslo'],
  ['dead', { primary: 200, sydney: 20 }, 'primary'],
  ['gone', {}, 'primary'],
])('%s among %j', (wish, took, want) => expect(pick(all, wish, took)?.name).toBe(want));

test('a place is nowhere else at the server', () => {
  vi.stubGlobal('location', { protocol: 'http:' });
  expect(placeOf(all, all[0])).toEqual({ host: '*.primary.test', base: '', protocol: 'http:' });
  expect(placeOf(all, all[1])).toEqual({ host: '*.sydney.test', base: 'https://sydney.test', protocol: 'https:' });
  expect(placeOf(all, { ...region('bare'), wildcard_hostname: '' })).toEqual({ host: '*.primary.test', base: 'https://bare.test', protocol: 'http:' });
  expect(placeOf([], undefined)).toEqual({ host: '', base: '', protocol: 'http:' });
});
