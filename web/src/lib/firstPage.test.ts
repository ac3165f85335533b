// @vitest-environment jsdom
import { expect, test, vi } from 'vitest';
import { beginFirstPage } from './firstPage';

const frame = () => new Promise((done) => requestAnimationFrame(done));

test('what surrounds the first page waits until the page has its data', async () => {
  let loading = true;
  const begun = vi.fn();
  beginFirstPage(() => loading, begun);
  const frames = async () => {
    for (let i = 0; i < 5; i++) await frame();
  };
  loading = false; // the session is known, and the page is not rendered yet
  await frames();
  expect(begun).not.toHaveBeenCalled();
  document.body.innerHTML = '<main><div role="status" aria-label="Loading"></div></main>';
  loading = true;
  await frames();
  loading = false; // the data is there, and the placeholder too
  await frames();
  expect(begun).not.toHaveBeenCalled();
  document.body.innerHTML = '<main><table></table></main>';
  await vi.waitFor(() => expect(begun).toHaveBeenCalledOnce());
});
