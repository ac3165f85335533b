import { expect, test } from 'vitest';
import { stripAnsi } from './ansi';

test.each([
  ['\u001b[31mred\u001b[0m', 'red'],
  ['\u001b[1;38;5;200mbold\u001b[m text', 'bold text'],
  ['\u001b]0;title\u0007shown', 'shown'],
  ['a\r\n', 'a\n'],
  ['<b>not a tag</b> [31m', '<b>not a tag</b> [31m'],
])('%j', (text, want) => expect(stripAnsi(text)).toBe(want));
