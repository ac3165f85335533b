/** Formats bytes with a decimal unit, such as "1.5 GB". */
export function formatBytes(n: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let unit = 0;
  for (; n >= 1000 && unit < units.length - 1; unit++) n /= 1000;
  return `${unit === 0 ? n : n.toFixed(1)} ${units[unit]}`;
}

/** Formats the value of an option as text; "" when it is not set. */
export function formatSetting(value: unknown): string {
  if (value === null || value === undefined || value === '') return '';
  if (Array.isArray(value)) return value.map(formatSetting).join(', ');
  if (typeof value === 'object') return JSON.stringify(value);
  return String(value);
}
