import { expect, test } from 'vitest';
import { plain } from './ansi';

test.each([
  ['\u001b[31mred\u001b[0m', 'red'],
  ['\u001b[1;38;5;200mbold\u001b[m text', 'bold text'],
  ['\u001b]0;title\u0007shown', 'shown'],
  ['a\r\n', 'a\n'],
  ['<b>no tag</b> [31m', '<b>no tag</b> [31m'],
])('%j', (text, want) => expect(plain(text)).toBe(want));
