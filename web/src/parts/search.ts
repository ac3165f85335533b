// What stands in the address of a page, as values: what looks like JSON is read
// as such only where it is written the one way that we write it, so that nothing
// of what somebody typed or linked to is lost, such as the zeros of 007.

import { parseSearchWith, stringifySearchWith } from '@tanstack/react-router';

function exact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (JSON.stringify(value) !== text) throw new Error('written in another way');
  return value;
}

export const parseSearch = parseSearchWith(exact);
export const stringifySearch = stringifySearchWith(JSON.stringify, exact);
