export type Cell = string | number;

/** Returns a cell: quoted when needed. A text that a spreadsheet would take for a formula starts with an apostrophe. */
function formatCell(cell: Cell): string {
  if (typeof cell === 'number') return String(Math.round(cell * 1000) / 1000);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns rows as comma-separated values (RFC 4180). */
export const formatCSV = (headers: string[], rows: Cell[][]): string =>
  [headers, ...rows].map((row) => `${row.map(formatCell).join(',')}\r\n`).join('');
