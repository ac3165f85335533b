import { beforeEach, expect, test, vi } from 'vitest';
import { anyName, copyName, fixedBy, readLink, valuesOf, writeLink } from './link';

beforeEach(() => vi.stubGlobal('location', { origin: 'https://coder.test' }));

test('what a link says is taken as it was written', () => {
  const link = readLink({ name: 123, mode: 'auto', disable_params: 'size, zone', 'param.size': 4, 'param.on': true, 'param.list': ['a', 'b'], 'param.empty': '', 'param.': 'x', other: 'y' });
  expect(link).toEqual({ name: '123', mode: 'auto', disable_params: 'size, zone', from: undefined, 'param.size': '4', 'param.on': 'true', 'param.list': '["a","b"]', 'param.empty': '' });
  expect(valuesOf(link)).toEqual({ size: '4', on: 'true', list: '["a","b"]', empty: '' });
  expect([...fixedBy(link)]).toEqual(['size', 'zone']);
});

test('a link without anything is none', () => {
  const link = readLink({ mode: 'other', name: '' });
  expect(link).toEqual({ name: undefined, mode: undefined, disable_params: undefined, from: undefined });
  expect(valuesOf(link)).toEqual({});
  expect(fixedBy(link).size).toBe(0);
});

test('what is written is read', () => {
  const values = { size: '4', text: 'a&b=c <i>', 'odd.name': '' };
  const written = new URL(writeLink({ organization: 'coder', template: 'docker', auto: true, name: 'dev', values }));
  expect(written.pathname).toBe('/templates/coder/docker/workspace');
  expect(valuesOf(readLink(Object.fromEntries(written.searchParams)))).toEqual(values);
});

test.each([
  ['dev', 'dev-copy'],
  ['a'.repeat(32), `${'a'.repeat(27)}-copy`],
  [`${'a'.repeat(26)}-bbbbb`, `${'a'.repeat(26)}-copy`],
])('%s', (name, want) => expect(copyName(name)).toBe(want));

test.each(['docker', 'a'.repeat(40), 'My_template.1'])('a name for one of %s is allowed', (template) => expect(anyName(template)).toMatch(/^[a-zA-Z0-9](-?[a-zA-Z0-9])*$/));
