import { expect, test } from 'vitest';
import { plural } from './plural';

test.each([
  [plural(0, 'member'), '0 members'],
  [plural(1, 'member'), '1 member'],
  [plural(2, 'person', 'people'), '2 people'],
  [plural(-1, 'credit'), '-1 credits'],
])('%s', (got, want) => expect(got).toBe(want));
