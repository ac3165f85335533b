import { expect, test } from 'vitest';
import { waitForSession, setSessionState } from './session';

test('requests after the end of a session wait for the next sign-in', async () => {
  setSessionState('none');
  expect(await waitForSession()).toBe(false); // there was no session
  setSessionState('open');
  const waits = waitForSession();
  const given = new AbortController();
  const left = waitForSession(given.signal);
  given.abort(new Error('the page was closed'));
  await expect(left).rejects.toThrow('the page was closed');
  setSessionState('open');
  expect(await waits).toBe(true);
});
