import { expect, test } from 'vitest';
import { importProblem, searchFiles, terraformFiles } from './sourceCheck';

const entry = (path: string, text: string) => ({ path, mode: 0o644, data: new TextEncoder().encode(text) });

test('only Terraform files are checked', () => {
  const files = [entry('main.tf', 'a'), entry('README.md', 'b'), entry('x.tf.json', '{}'), entry('bin.tf', '\0')];
  expect(terraformFiles(files).map((file) => file.path)).toEqual(['main.tf', 'x.tf.json']);
});

test('a failed import is a problem at its line', () => {
  expect(importProblem('main.tf:9: Unsupported argument')).toMatchObject({ path: 'main.tf', line: 9 });
  expect(importProblem('no provisioner')).toMatchObject({ path: '', line: 0, detail: 'no provisioner' });
});

test('a search finds lines in any case', () => {
  const files = [entry('a.tf', 'one\n  Two\n'), entry('b.tf', 'two'), entry('c.bin', '\0two')];
  expect(searchFiles(files, 'TWO')).toEqual([
    { path: 'a.tf', line: 2, text: 'Two' },
    { path: 'b.tf', line: 1, text: 'two' },
  ]);
  expect(searchFiles(files, '')).toEqual([]);
});
