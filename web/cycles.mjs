// Fails when modules of the dashboard import each other in a cycle, type imports included:
//   node cycles.mjs
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import typescript from 'typescript';

const endings = ['', '.ts', '.tsx', '/index.ts'];

/** Returns the files of the project that a file imports. */
function importsOf(file) {
  const { importedFiles } = typescript.preProcessFile(readFileSync(file, 'utf8'), true, true);
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith('.'))
    .flatMap(({ fileName }) =>
      endings
        .map((ending) => resolve(dirname(file), fileName + ending))
        .filter((path) => /\.tsx?$/.test(path) && existsSync(path))
        .slice(0, 1),
    );
}

/** Returns the first cycle of each module that is part of one, as lists of files. */
function findCycles(graph) {
  const done = new Set();
  const cycles = [];
  const visit = (file, trail) => {
    const at = trail.indexOf(file);
    if (at >= 0) return void cycles.push([...trail.slice(at), file]);
    if (done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return cycles;
}

const files = ['src', 'demo', 'design'].flatMap((directory) =>
  readdirSync(directory, { recursive: true })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => resolve(directory, name)),
);
const cycles = findCycles(new Map(files.map((file) => [file, importsOf(file)])));
for (const cycle of cycles) console.error(`import cycle: ${cycle.map((file) => relative('.', file)).join(' -> ')}`);
if (cycles.length > 0) process.exitCode = 1;
