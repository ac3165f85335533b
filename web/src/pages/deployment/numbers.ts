/** Bytes in the largest decimal unit that keeps them above one. */
export function bytes(n: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let unit = 0;
  for (; n >= 1000 && unit < units.length - 1; unit++) n /= 1000;
  return `${unit === 0 ? n : n.toFixed(1)} ${units[unit]}`;
}

/** What an option is set to, as text; nothing for what is unset. */
export function setting(value: unknown): string {
  if (value === null || value === undefined || value === '') return '';
  if (Array.isArray(value)) return value.map(setting).join(', ');
  if (typeof value === 'object') return JSON.stringify(value);
  return String(value);
}
