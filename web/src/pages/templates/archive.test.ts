import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { diffEntries, validatePath, readTar, decodeText, writeTar } from './archive';

const utf8 = (s: string) => new TextEncoder().encode(s);
const entry = (path: string, text: string, mode = 0o644) => ({ path, mode, data: utf8(text) });
const bytes = async (b: Blob) => new Uint8Array(await b.arrayBuffer());

describe('tar', () => {
  const long = `${'directory/'.repeat(12)}größe.tf`;
  const files = [
    entry('a.sh', '#!/bin/sh\n', 0o755),
    entry('empty', ''),
    entry(long, 'x'.repeat(1000)),
    entry('z.tf', '😀'),
  ].sort((a, b) => (a.path < b.path ? -1 : 1));
  it('reads what it writes', async () => {
    expect(readTar(await bytes(writeTar(files)))).toEqual(files);
  });
  it('writes what tar reads', async () => {
    const list = execFileSync('tar', ['tf', '-'], {
      input: await bytes(writeTar(files)),
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    });
    expect(list.toString().trim().split('\n')).toEqual(
      files.map((f) => (f.path === long ? expect.stringContaining('directory/') : f.path)),
    );
  });
  it('rejects a truncated archive', async () => {
    const whole = await bytes(writeTar(files));
    expect(() => readTar(whole.subarray(0, 512 * 2))).not.toThrow();
    expect(() => readTar(whole.subarray(0, 700))).toThrow('truncated');
  });
  it.each(['ustar', 'pax', 'gnu'])('reads %s', (format) => {
    const tar = execFileSync('sh', [
      '-c',
      `d=$(mktemp -d); cd $d; mkdir -p ${'long-name-of-a-directory/'.repeat(6)}; echo hello > ${'long-name-of-a-directory/'.repeat(6)}f.tf; tar --format=${format} -cf - .; rm -r $d`,
    ]);
    expect(readTar(new Uint8Array(tar)).map((file) => [file.path, decodeText(file.data)])).toEqual([
      [`${'long-name-of-a-directory/'.repeat(6)}f.tf`, 'hello\n'],
    ]);
  });
});

describe('changes', () => {
  it('finds added, removed and changed files', () => {
    const out = diffEntries(
      [entry('a', '1'), entry('b', '1'), entry('c', '1')],
      [entry('b', '2'), entry('c', '1'), entry('d', '1')],
    );
    expect(out.map((change) => [change.path, change.kind])).toEqual([
      ['a', 'removed'],
      ['b', 'changed'],
      ['d', 'added'],
    ]);
  });
});

describe('paths of new files', () => {
  it.each(['main.tf', 'scripts/start.sh', '.hidden', 'größe 😀.tf'])('accepts %j', (p) =>
    expect(validatePath(p, ['x', 'y/z'])).toBeUndefined(),
  );
  it.each(['', '/etc', '../x', 'a//b', 'a/', './a', 'a\\b', 'a\nb', 'x', 'y', 'x/y', 'a'.repeat(201)])(
    'rejects %j',
    (p) => expect(validatePath(p, ['x', 'y/z'])).toBeTypeOf('string'),
  );
});

describe('text', () => {
  it('rejects binary data', () => {
    expect(decodeText(new Uint8Array([0xff, 0xfe]))).toBeUndefined();
    expect(decodeText(new Uint8Array([65, 0]))).toBeUndefined();
    expect(decodeText(utf8('größe'))).toBe('größe');
  });
});
