import { expect, test } from 'vitest';
import { goesOn, sessionIs } from './session';

test('what is read after the end of a session waits for the next', async () => {
  sessionIs('none');
  expect(await goesOn()).toBe(false); // nobody to wait for
  sessionIs('open');
  const waits = goesOn();
  const given = new AbortController();
  const left = goesOn(given.signal);
  given.abort(new Error('the page was left'));
  await expect(left).rejects.toThrow('the page was left');
  sessionIs('open');
  expect(await waits).toBe(true);
});
