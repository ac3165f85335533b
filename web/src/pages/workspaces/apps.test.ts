import { beforeEach, expect, test, vi } from 'vitest';
import { getAppURL, getEditorURL, getFolder, getSSHHost, formatTarget, needsToken, insertToken } from './apps';
import type { Agent, Workspace } from './queries';

beforeEach(() => vi.stubGlobal('location', { protocol: 'https:', origin: 'https://coder.test' }));

const workspace = { name: 'dev', owner_name: 'ann', owner_id: '1' } as Workspace;
const agent = { name: 'main', operating_system: 'linux', expanded_directory: '/home/ann' } as Agent;
const at = (host: string, pathOrigin = '') => ({ host, pathOrigin, protocol: 'https:' });
const app = (p: object) =>
  ({ external: false, command: '', subdomain: false, subdomain_name: '', slug: 'code', url: '', ...p }) as never;

test.each([
  [{}, '', '/@ann/dev.main/apps/code/'],
  [{ command: 'htop' }, '', '/@ann/dev.main/terminal?app=code'],
  [
    { subdomain: true, subdomain_name: 'code--main--dev--ann' },
    '*.apps.test',
    'https://code--main--dev--ann.apps.test/',
  ],
  [{ subdomain: true, subdomain_name: 'code--main--dev--ann' }, '', undefined],
  [{ external: true, url: 'https://docs.test/?a=$SESSION_TOKEN' }, '', 'https://docs.test/?a=$SESSION_TOKEN'],
])('%j %s', (p, host, want) => expect(getAppURL(workspace, agent, app(p), at(host))).toBe(want));

test('opens apps through a proxy', () => {
  const sydney = { host: '*.sydney.test:3001', pathOrigin: 'http://sydney.test:3001', protocol: 'http:' };
  expect(getAppURL(workspace, agent, app({}), sydney)).toBe('http://sydney.test:3001/@ann/dev.main/apps/code/');
  expect(getAppURL(workspace, agent, app({ subdomain: true, subdomain_name: 'code--main--dev--ann' }), sydney)).toBe(
    'http://code--main--dev--ann.sydney.test:3001/',
  );
  expect(getAppURL(workspace, agent, app({ command: 'htop' }), sydney)).toBe('/@ann/dev.main/terminal?app=code');
});

test.each([
  ['jetbrains-gateway://connect#token=$SESSION_TOKEN', true],
  ['https://docs.test/?t=$SESSION_TOKEN', false],
  [' HTTP://docs.test/?t=$SESSION_TOKEN', false],
  ['jetbrains-gateway://connect', false],
])('%s', (url, want) => expect(needsToken(app({ external: true, url }))).toBe(want));

test('escapes a token in a URL', () =>
  expect(insertToken(app({ external: true, url: 'ide://x?t=$SESSION_TOKEN' }), 'a&b')).toBe('ide://x?t=a%26b'));

test.each([
  ['linux', '/home/ann', '/home/ann'],
  ['linux', '', ''],
  ['windows', 'C:\\Users\\ann', '/C:/Users/ann'],
])('%s %s', (operating_system, expanded_directory, want) =>
  expect(getFolder({ operating_system, expanded_directory })).toBe(want),
);

test('the editor URL has all parameters', () => {
  const href = getEditorURL('vscode', workspace, agent, 'id-secret');
  expect(href.startsWith('vscode://coder.coder-remote/open?')).toBe(true);
  expect(Object.fromEntries(new URLSearchParams(href.split('?')[1]))).toEqual({
    url: 'https://coder.test',
    owner: 'ann',
    workspace: 'dev',
    agent: 'main',
    folder: '/home/ann',
    token: 'id-secret',
  });
});

test('command targets omit redundant parts', () => {
  expect(formatTarget(workspace, agent, '1', false)).toBe('dev');
  expect(formatTarget(workspace, agent, '2', true)).toBe('ann/dev.main');
});

test.each([
  ['', 'coder', 'main.dev.ann.coder'],
  ['', '.coder', 'main.dev.ann.coder'],
  ['ws.', '', 'ws.ann--dev.main'],
  ['', '', 'coder.ann--dev.main'],
])('%s %s', (hostname_prefix, hostname_suffix, want) =>
  expect(getSSHHost(workspace, agent, { hostname_prefix, hostname_suffix })).toBe(want),
);
