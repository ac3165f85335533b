/** Returns the text with its first letter in upper case. */
export const capitalize = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

let numbers: Intl.NumberFormat | undefined;

/** Returns a number as the user's language writes it: "1,200". */
export function formatNumber(n: number): string {
  numbers ??= new Intl.NumberFormat(); // slow, as in each call of toLocaleString
  return numbers.format(n);
}

/** Returns a count with its noun: "1 member", "1,200 members". */
export const formatCount = (n: number, one: string, many = `${one}s`): string =>
  `${formatNumber(n)} ${n === 1 ? one : many}`;
