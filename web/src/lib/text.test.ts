import { expect, test } from 'vitest';
import { formatCount } from './text';

test.each([
  [formatCount(0, 'member'), '0 members'],
  [formatCount(1, 'member'), '1 member'],
  [formatCount(2, 'proxy', 'proxies'), '2 proxies'],
  [formatCount(-1, 'credit'), '-1 credits'],
])('%s', (got, want) => expect(got).toBe(want));
