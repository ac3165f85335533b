import { expect, test } from 'vitest';
import { verdict } from './Device';

test('a device login waits, ends, or fails', () => {
  expect(verdict(200, { redirect_url: '/templates' })).toEqual({ to: '/templates' });
  expect(verdict(200, { redirect_url: '//evil.example.com' })).toHaveProperty('error');
  expect(verdict(400, { message: 'not yet', detail: 'authorization_pending' })).toEqual({ wait: true });
  expect(verdict(400, { message: 'slower', detail: 'slow_down' })).toEqual({ wait: true });
  expect(verdict(400, { message: 'The code has run out', detail: 'expired_token' })).toEqual({ error: 'The code has run out' });
  expect(verdict(500, {})).toEqual({ error: 'The login failed' });
});
