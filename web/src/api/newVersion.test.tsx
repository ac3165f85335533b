// @vitest-environment jsdom
import { afterEach, expect, test, vi } from 'vitest';
import { queries } from './queries';
import { newVersionQuery } from './newVersion';

afterEach(() => {
  document.head.innerHTML = '';
  vi.unstubAllGlobals();
});

const check = (served: string) => {
  vi.stubGlobal('fetch', async () => new Response(served));
  return queries.fetchQuery(newVersionQuery);
};

test('a page is outdated when the server serves another main script', async () => {
  const page = (name: string) => `<script type="module" crossorigin src="/assets/${name}.js"></script>`;
  expect(await check(page('b'))).toBe(false); // in development
  document.head.innerHTML = page('a');
  expect(await check(page('a'))).toBe(false);
  expect(await check(page('b'))).toBe(true);
});
