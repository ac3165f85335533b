import { expect, test } from 'vitest';
import { interpretPoll } from './DeviceSignIn';

test('a device sign-in waits, completes or fails', () => {
  expect(interpretPoll(200, { redirect_url: '/templates' })).toEqual({ to: '/templates' });
  expect(interpretPoll(200, { redirect_url: '//evil.example.com' })).toHaveProperty('error');
  expect(interpretPoll(400, { message: 'not yet', detail: 'authorization_pending' })).toEqual({ wait: true });
  expect(interpretPoll(400, { message: 'slower', detail: 'slow_down' })).toEqual({ wait: true });
  expect(interpretPoll(400, { message: 'The code has run out', detail: 'expired_token' })).toEqual({
    error: 'The code has run out',
  });
  expect(interpretPoll(500, {})).toEqual({ error: 'Sign-in failed' });
});
