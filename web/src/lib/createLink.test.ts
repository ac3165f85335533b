import { beforeEach, expect, test, vi } from 'vitest';
import {
  randomName,
  copyName,
  getFixedParameters,
  parseCreateLink,
  getLinkValues,
  buildCreateLink,
} from './createLink';

beforeEach(() => vi.stubGlobal('location', { origin: 'https://coder.test' }));

test('keeps values as they were written', () => {
  const link = parseCreateLink({
    name: 123,
    mode: 'auto',
    disable_params: 'size, zone',
    'param.size': 4,
    'param.on': true,
    'param.list': ['a', 'b'],
    'param.empty': '',
    'param.': 'x',
    other: 'y',
  });
  expect(link).toEqual({
    name: '123',
    mode: 'auto',
    disable_params: 'size, zone',
    from: undefined,
    'param.size': '4',
    'param.on': 'true',
    'param.list': '["a","b"]',
    'param.empty': '',
  });
  expect(getLinkValues(link)).toEqual({ size: '4', on: 'true', list: '["a","b"]', empty: '' });
  expect([...getFixedParameters(link)]).toEqual(['size', 'zone']);
});

test('ignores empty and unknown values', () => {
  const link = parseCreateLink({ mode: 'other', name: '' });
  expect(link).toEqual({ name: undefined, mode: undefined, disable_params: undefined, from: undefined });
  expect(getLinkValues(link)).toEqual({});
  expect(getFixedParameters(link).size).toBe(0);
});

test('reads what it writes', () => {
  const values = { size: '4', text: 'a&b=c <i>', 'odd.name': '' };
  const written = new URL(
    buildCreateLink({ organization: 'coder', template: 'docker', auto: true, name: 'dev', values }),
  );
  expect(written.pathname).toBe('/templates/coder/docker/workspace');
  expect(getLinkValues(parseCreateLink(Object.fromEntries(written.searchParams)))).toEqual(values);
});

test.each([
  ['dev', 'dev-copy'],
  ['a'.repeat(32), `${'a'.repeat(27)}-copy`],
  [`${'a'.repeat(26)}-bbbbb`, `${'a'.repeat(26)}-copy`],
])('%s', (name, want) => expect(copyName(name)).toBe(want));

test.each(['docker', 'a'.repeat(40), 'My_template.1'])('a random name for %s is valid', (template) =>
  expect(randomName(template)).toMatch(/^[a-zA-Z0-9](-?[a-zA-Z0-9])*$/),
);
