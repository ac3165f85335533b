import { expect, test, vi } from 'vitest';
import { soon } from './soon';

test('a page waits for its data, but neither for slow data nor because of an error', async () => {
  vi.useFakeTimers();
  const loaded = soon([Promise.resolve(1), Promise.reject(new Error('down'))]);
  await expect(loaded).resolves.toBeUndefined();
  const done = vi.fn();
  void soon([new Promise(() => undefined)]).then(done);
  await vi.advanceTimersByTimeAsync(50);
  expect(done).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(60);
  expect(done).toHaveBeenCalled();
  vi.useRealTimers();
});
