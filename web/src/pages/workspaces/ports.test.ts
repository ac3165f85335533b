import { beforeEach, expect, test, vi } from 'vitest';
import { limitLevel, listLevels, getPortURL, parsePort } from './ports';

beforeEach(() => vi.stubGlobal('location', { protocol: 'https:' }));

const at = { owner: 'ann', workspace: 'dev', agent: 'Main', only: true };
const long = 'a'.repeat(30);

test.each([
  ['', 8080, 'http', at, undefined],
  ['*.apps.example.com', 8080, 'http', at, 'https://8080--main--dev--ann.apps.example.com/'],
  ['*--apps.example.com:8443', 8443, 'https', at, 'https://8443s--main--dev--ann--apps.example.com:8443/'],
  ['*.x.test', 8080, 'http', { ...at, workspace: long, agent: long }, `https://8080--${long}--ann.x.test/`],
  ['*.x.test', 8080, 'http', { ...at, workspace: long, agent: long, only: false }, undefined],
  ['*.x.test', 8080, 'http', { ...at, workspace: long, owner: long }, undefined],
] as const)('%s %d %s', (host, port, protocol, place, want) =>
  expect(getPortURL(host, port, protocol, place)).toBe(want),
);

test('levels end at the maximum of the template', () => {
  expect(listLevels('organization').map((l) => l.value)).toEqual(['owner', 'organization']);
  expect(limitLevel('public', 'organization')).toBe('organization');
  expect(limitLevel('owner', 'public')).toBe('owner');
});

test.each([
  ['8080', 8080],
  [' 9 ', 9],
  ['8', undefined],
  ['65536', undefined],
  ['80a', undefined],
  ['-80', undefined],
  ['', undefined],
  ['8080.5', undefined],
])('%s', (typed, want) => expect(parsePort(typed)).toBe(want));
