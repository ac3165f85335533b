// Sources of templates as tar archives, which is what the server keeps.

/** A file of an archive. */
export interface Entry {
  path: string;
  mode: number;
  data: Uint8Array;
}

const block = 512;
const decoder = new TextDecoder();
const encoder = new TextEncoder();

function field(header: Uint8Array, from: number, length: number): string {
  const bytes = header.subarray(from, from + length);
  const end = bytes.indexOf(0);
  return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
}

const octal = (s: string): number => Number.parseInt(s.trim(), 8) || 0;

// The path that a PAX header gives the next entry: records of "length key=value\n".
function paxPath(data: Uint8Array): string | undefined {
  for (let at = 0; at < data.length; ) {
    const space = data.indexOf(32, at);
    const length = Number(decoder.decode(data.subarray(at, space)));
    if (space < 0 || !(length > 0)) return undefined;
    const record = decoder.decode(data.subarray(space + 1, at + length - 1));
    if (record.startsWith('path=')) return record.slice(5);
    at += length;
  }
  return undefined;
}

/** Reads the files of a tar archive, sorted by path. It fails when the archive is cut off. */
export function readTar(bytes: Uint8Array): Entry[] {
  const out: Entry[] = [];
  let long: string | undefined;
  for (let at = 0; at + block <= bytes.length; ) {
    const header = bytes.subarray(at, at + block);
    if (header.every((b) => b === 0)) break;
    const size = octal(field(header, 124, 12));
    const kind = field(header, 156, 1);
    const data = bytes.subarray(at + block, at + block + size);
    if (at + block + Math.ceil(size / block) * block > bytes.length) throw new Error('The archive is cut off.');
    at += block + Math.ceil(size / block) * block;
    if (kind === 'x') long = paxPath(data) ?? long;
    else if (kind === 'L') long = field(data, 0, size);
    else if (kind !== 'g') {
      const prefix = field(header, 257, 5) === 'ustar' ? field(header, 345, 155) : '';
      const path = (long ?? (prefix ? `${prefix}/${field(header, 0, 100)}` : field(header, 0, 100))).replace(/^(\.\/)+/, '');
      long = undefined;
      if ((kind === '' || kind === '0') && path !== '') out.push({ path, mode: octal(field(header, 100, 8)) || 0o644, data });
    }
  }
  return out.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function head(path: Uint8Array, mode: number, size: number, kind: string): Uint8Array {
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

function paxRecord(path: Uint8Array): Uint8Array {
  const body = path.length + ' path=\n'.length;
  let length = body + String(body).length;
  if (String(length).length > String(body).length) length = body + String(length).length;
  const record = new Uint8Array(length);
  record.set(encoder.encode(`${length} path=`), 0);
  record.set(path, length - path.length - 1);
  record[length - 1] = 10;
  return record;
}

const padded = (data: Uint8Array): Uint8Array => {
  const out = new Uint8Array(Math.ceil(data.length / block) * block);
  out.set(data);
  return out;
};

/** Writes a tar archive. The same files give the same bytes. */
export function writeTar(entries: readonly Entry[]): Blob {
  const parts: Uint8Array[] = [];
  for (const e of [...entries].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const path = encoder.encode(e.path);
    if (path.length > 100) {
      const record = paxRecord(path);
      parts.push(head(encoder.encode('path'), 0o644, record.length, 'x'), padded(record));
    }
    parts.push(head(path, e.mode, e.data.length, '0'), padded(e.data));
  }
  parts.push(new Uint8Array(2 * block));
  return new Blob(parts as BlobPart[], { type: 'application/x-tar' });
}

/** The text of a file; undefined for one that is none. */
export function textOf(data: Uint8Array): string | undefined {
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
const same = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((x, i) => x === b[i]);

/** What is different between two sets of files, by path. */
export function changes(from: readonly Entry[], to: readonly Entry[]): Change[] {
  const old = new Map(from.map((e) => [e.path, e.data]));
  const out: Change[] = [];
  for (const e of to) {
    const before = old.get(e.path);
    old.delete(e.path);
    if (before === undefined) out.push({ path: e.path, kind: 'added', from: none, to: e.data });
    else if (!same(before, e.data)) out.push({ path: e.path, kind: 'changed', from: before, to: e.data });
  }
  for (const [path, data] of old) out.push({ path, kind: 'removed', from: data, to: none });
  return out.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Says what is wrong with the path of a new file; undefined when nothing is. */
export function pathProblem(path: string, taken: readonly string[]): string | undefined {
  if (path === '') return 'Give it a name, such as main.tf.';
  if (path.length > 200) return 'Use at most 200 characters.';
  if (/[\0-\x1f\\]/.test(path)) return 'Use no backslashes and no control characters.';
  if (path.startsWith('/') || path.split('/').some((p) => p === '' || p === '.' || p === '..')) return 'Name it from the root of the template, such as scripts/start.sh.';
  if (taken.includes(path)) return 'There is a file of this name.';
  if (taken.some((t) => t.startsWith(`${path}/`))) return 'There is a directory of this name.';
  if (taken.some((t) => path.startsWith(`${t}/`))) return 'A part of this path is a file.';
  return undefined;
}
