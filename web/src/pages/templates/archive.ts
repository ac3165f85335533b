// Reads and writes tar archives, the format of template sources on the server.

/** A file of an archive. */
export interface Entry {
  path: string;
  mode: number;
  data: Uint8Array;
}

const block = 512;
const decoder = new TextDecoder();
const encoder = new TextEncoder();

function readField(header: Uint8Array, from: number, length: number): string {
  const bytes = header.subarray(from, from + length);
  const end = bytes.indexOf(0);
  return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
}

const parseOctal = (s: string): number => Number.parseInt(s.trim(), 8) || 0;

// Returns the path that a PAX header sets for the next entry. Records are "length key=value\n".
function readPaxPath(data: Uint8Array): string | undefined {
  for (let at = 0; at < data.length;) {
    const space = data.indexOf(32, at);
    const length = Number(decoder.decode(data.subarray(at, space)));
    if (space < 0 || !(length > 0)) return undefined;
    const record = decoder.decode(data.subarray(space + 1, at + length - 1));
    if (record.startsWith('path=')) return record.slice(5);
    at += length;
  }
  return undefined;
}

/** Reads the files of a tar archive, sorted by path. Throws when the archive is truncated. */
export function readTar(bytes: Uint8Array): Entry[] {
  const out: Entry[] = [];
  let long: string | undefined;
  for (let at = 0; at + block <= bytes.length;) {
    const header = bytes.subarray(at, at + block);
    if (header.every((b) => b === 0)) break;
    const size = parseOctal(readField(header, 124, 12));
    const kind = readField(header, 156, 1);
    const data = bytes.subarray(at + block, at + block + size);
    if (at + block + Math.ceil(size / block) * block > bytes.length) throw new Error('The archive is truncated.');
    at += block + Math.ceil(size / block) * block;
    if (kind === 'x') long = readPaxPath(data) ?? long;
    else if (kind === 'L') long = readField(data, 0, size);
    else if (kind !== 'g') {
      const prefix = readField(header, 257, 5) === 'ustar' ? readField(header, 345, 155) : '';
      const path = (long ?? (prefix ? `${prefix}/${readField(header, 0, 100)}` : readField(header, 0, 100))).replace(
        /^(\.\/)+/,
        '',
      );
      long = undefined;
      if ((kind === '' || kind === '0') && path !== '')
        out.push({ path, mode: parseOctal(readField(header, 100, 8)) || 0o644, data });
    }
  }
  return out.sort((file, entry) => (file.path < entry.path ? -1 : 1));
}

function writeHeader(path: Uint8Array, mode: number, size: number, kind: string): Uint8Array {
  const h = new Uint8Array(block);
  const put = (at: number, s: string) => h.set(encoder.encode(s), at);
  h.set(path.subarray(0, 100), 0);
  put(100, `${mode.toString(8).padStart(7, '0')}\0`);
  put(108, '0000000\0');
  put(116, '0000000\0');
  put(124, `${size.toString(8).padStart(11, '0')}\0`);
  put(136, '00000000000\0');
  put(148, '        ');
  put(156, kind);
  put(257, 'ustar\u000000');
  const sum = h.reduce((n, b) => n + b, 0);
  put(148, `${sum.toString(8).padStart(6, '0')}\0 `);
  return h;
}

function writePaxRecord(path: Uint8Array): Uint8Array {
  const body = path.length + ' path=\n'.length;
  let length = body + String(body).length;
  if (String(length).length > String(body).length) length = body + String(length).length;
  const record = new Uint8Array(length);
  record.set(encoder.encode(`${length} path=`), 0);
  record.set(path, length - path.length - 1);
  record[length - 1] = 10;
  return record;
}

const padToBlock = (data: Uint8Array): Uint8Array => {
  const out = new Uint8Array(Math.ceil(data.length / block) * block);
  out.set(data);
  return out;
};

/** Writes a tar archive. The output is deterministic. */
export function writeTar(entries: readonly Entry[]): Blob {
  const parts: Uint8Array[] = [];
  for (const file of [...entries].sort((entry, b) => (entry.path < b.path ? -1 : 1))) {
    const path = encoder.encode(file.path);
    if (path.length > 100) {
      const record = writePaxRecord(path);
      parts.push(writeHeader(encoder.encode('path'), 0o644, record.length, 'x'), padToBlock(record));
    }
    parts.push(writeHeader(path, file.mode, file.data.length, '0'), padToBlock(file.data));
  }
  parts.push(new Uint8Array(2 * block));
  return new Blob(parts as BlobPart[], { type: 'application/x-tar' });
}

/** Returns the text of a file; undefined for a binary file. */
export function decodeText(data: Uint8Array): string | undefined {
  if (data.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return undefined;
  }
}

/** A change of one file between two versions. */
export interface Change {
  path: string;
  kind: 'added' | 'removed' | 'changed';
  from: Uint8Array;
  to: Uint8Array;
}

const none = new Uint8Array();
const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((x, i) => x === b[i]);

/** Returns the changes between two sets of files, sorted by path. */
export function diffEntries(from: readonly Entry[], to: readonly Entry[]): Change[] {
  const old = new Map(from.map((file) => [file.path, file.data]));
  const out: Change[] = [];
  for (const file of to) {
    const before = old.get(file.path);
    old.delete(file.path);
    if (before === undefined) out.push({ path: file.path, kind: 'added', from: none, to: file.data });
    else if (!equalBytes(before, file.data))
      out.push({ path: file.path, kind: 'changed', from: before, to: file.data });
  }
  for (const [path, data] of old) out.push({ path, kind: 'removed', from: data, to: none });
  return out.sort((change, b) => (change.path < b.path ? -1 : 1));
}

/** Returns why the path of a new file is invalid; undefined when it is valid. */
export function validatePath(path: string, taken: readonly string[]): string | undefined {
  if (path === '') return 'Enter a path, for example main.tf.';
  if (path.length > 200) return 'Use at most 200 characters.';
  if (/[\0-\x1f\\]/.test(path)) return 'Do not use backslashes or control characters.';
  if (path.startsWith('/') || path.split('/').some((p) => p === '' || p === '.' || p === '..'))
    return 'Enter a path relative to the root of the template, for example scripts/start.sh.';
  if (taken.includes(path)) return 'A file of this name already exists.';
  if (taken.some((t) => t.startsWith(`${path}/`))) return 'A directory of this name already exists.';
  if (taken.some((t) => path.startsWith(`${t}/`))) return 'A part of this path is a file.';
  return undefined;
}
