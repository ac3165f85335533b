import { expect, test } from 'vitest';
import { listLifetimes } from './tokenLifetimes';

const day = 86_400_000_000_000;

test.each([
  [undefined, ['1', '7', '30', '90', '365']],
  [30 * day, ['1', '7', '30']],
  [45 * day, ['1', '7', '30', '45']],
  [3600_000_000_000, ['1']],
  [876_000 * 3600_000_000_000, ['1', '7', '30', '90', '365', '3650']],
])('%s', (max, want) => expect(listLifetimes(max).map((l) => l.value)).toEqual(want));
