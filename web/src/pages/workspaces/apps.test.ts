import { beforeEach, expect, test, vi } from 'vitest';
import { appHref, editorHref, folder, sshHost, target, wantsToken, withToken } from './apps';
import type { Agent, Workspace } from './data';

beforeEach(() => vi.stubGlobal('location', { protocol: 'https:', origin: 'https://coder.test' }));

const w = { name: 'dev', owner_name: 'ann', owner_id: '1' } as Workspace;
const agent = { name: 'main', operating_system: 'linux', expanded_directory: '/home/ann' } as Agent;
const at = (host: string, base = '') => ({ host, base, protocol: 'https:' });
const app = (p: object) => ({ external: false, command: '', subdomain: false, subdomain_name: '', slug: 'code', url: '', ...p }) as never;

test.each([
  [{}, '', '/@ann/dev.main/apps/code/'],
  [{ command: 'htop' }, '', '/@ann/dev.main/terminal?app=code'],
  [{ subdomain: true, subdomain_name: 'code--main--dev--ann' }, '*.apps.test', 'https://code--main--dev--ann.apps.test/'],
  [{ subdomain: true, subdomain_name: 'code--main--dev--ann' }, '', undefined],
  [{ external: true, url: 'https://docs.test/?a=$SESSION_TOKEN' }, '', 'https://docs.test/?a=$SESSION_TOKEN'],
])('%j %s', (p, host, want) => expect(appHref(w, agent, app(p), at(host))).toBe(want));

test('an app is opened at a proxy', () => {
  const sydney = { host: '*.sydney.test:3001', base: 'http://sydney.test:3001', protocol: 'http:' };
  expect(appHref(w, agent, app({}), sydney)).toBe('http://sydney.test:3001/@ann/dev.main/apps/code/');
  expect(appHref(w, agent, app({ subdomain: true, subdomain_name: 'code--main--dev--ann' }), sydney)).toBe('http://code--main--dev--ann.sydney.test:3001/');
  expect(appHref(w, agent, app({ command: 'htop' }), sydney)).toBe('/@ann/dev.main/terminal?app=code');
});

test.each([
  ['jetbrains-gateway://connect#token=$SESSION_TOKEN', true],
  ['https://docs.test/?t=$SESSION_TOKEN', false],
  [' HTTP://docs.test/?t=$SESSION_TOKEN', false],
  ['jetbrains-gateway://connect', false],
])('%s', (url, want) => expect(wantsToken(app({ external: true, url }))).toBe(want));

test('a token is written as a part of an address', () => expect(withToken(app({ external: true, url: 'ide://x?t=$SESSION_TOKEN' }), 'a&b')).toBe('ide://x?t=a%26b'));

test.each([
  ['linux', '/home/ann', '/home/ann'],
  ['linux', '', ''],
  ['windows', 'C:\\Users\\ann', '/C:/Users/ann'],
])('%s %s', (operating_system, expanded_directory, want) => expect(folder({ operating_system, expanded_directory })).toBe(want));

test('an editor is told all it needs', () => {
  const href = editorHref('vscode', w, agent, 'id-secret');
  expect(href.startsWith('vscode://coder.coder-remote/open?')).toBe(true);
  expect(Object.fromEntries(new URLSearchParams(href.split('?')[1]))).toEqual({ url: 'https://coder.test', owner: 'ann', workspace: 'dev', agent: 'main', folder: '/home/ann', token: 'id-secret' });
});

test('commands name no more than they need', () => {
  expect(target(w, agent, '1', false)).toBe('dev');
  expect(target(w, agent, '2', true)).toBe('ann/dev.main');
});

test.each([
  ['', 'coder', 'main.dev.ann.coder'],
  ['', '.coder', 'main.dev.ann.coder'],
  ['ws.', '', 'ws.ann--dev.main'],
  ['', '', 'coder.ann--dev.main'],
])('%s %s', (hostname_prefix, hostname_suffix, want) => expect(sshHost(w, agent, { hostname_prefix, hostname_suffix })).toBe(want));
