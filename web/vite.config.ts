import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

// The build is embedded in the coder binary (web.go). In development, `npm run dev` serves the
// dashboard and proxies the API to a running server.
const server = process.env.CODER_URL ?? 'http://127.0.0.1:3000';

/** The maximum size of the scripts, styles and fonts that the first page loads, in bytes, compressed with Brotli. */
const maxFirstSize = 250_000;

/** Checks that each component has its styles. */
const check: Plugin = {
  name: 'check',
  generateBundle(_, files) {
    const all = Object.values(files);
    const text = (f: (typeof all)[number]) => (f.type === 'chunk' ? f.code : String(f.source));
    const css = all
      .filter((f) => f.fileName.endsWith('.css'))
      .map(text)
      .join('');
    const known = readFileSync('node_modules/@mantine/core/styles.css', 'utf8');
    const used = all.filter((f) => f.type === 'chunk').flatMap((f) => f.code.match(/\bm_[0-9a-f]{6,8}\b/g) ?? []);
    const rare = ['CheckboxCard', 'RadioCard']; // bundled but never rendered
    const fine = css + rare.map((c) => readFileSync(`node_modules/@mantine/core/styles/${c}.css`, 'utf8')).join('');
    const missing = [...new Set(used)].filter((c) => known.includes(`.${c}`) && !fine.includes(`.${c}`));
    if (missing.length > 0) this.error(`src/mantine.css lacks the styles of ${missing.join(' ')}`);
  },
};

/**
 * Chromium compiles the functions of the first script while it arrives, beside the thread of the page. Without this
 * hint (https://v8.dev/blog/explicit-compile-hints), that thread compiles each function when it is first called.
 */
const compileHint: Plugin = {
  name: 'compile-hint',
  apply: 'build',
  generateBundle: {
    order: 'post',
    handler(_, files) {
      for (const file of Object.values(files))
        if (file.type === 'chunk' && file.isEntry) file.code = `//# allFunctionsCalledOnLoad\n${file.code}`;
    },
  },
};

/**
 * Writes a Brotli and a gzip version of each file, which the server sends as they are, and checks
 * that the first page is small.
 */
const pack: Plugin = {
  name: 'pack',
  apply: 'build',
  writeBundle({ dir }, files) {
    const sizes = new Map<string, number>(); // in bytes, as sent to browsers that accept Brotli
    for (const name of Object.keys(files)) {
      const file = `${dir}/${name}`;
      const plain = readFileSync(file);
      sizes.set(name, plain.length);
      if (!/\.(js|css|svg)$/.test(name) || plain.length < 1000) continue;
      const brotli = brotliCompressSync(plain);
      sizes.set(name, brotli.length);
      writeFileSync(`${file}.br`, brotli);
      writeFileSync(`${file}.gz`, gzipSync(plain, { level: 9 }));
    }
    const html = readFileSync(`${dir}/index.html`, 'utf8');
    const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((m) => m[1] ?? '');
    const unknown = first.filter((name) => !sizes.has(name));
    if (unknown.length > 0) this.error(`index.html loads files that this build did not write: ${unknown.join(' ')}`);
    const size = first.reduce((n, name) => n + sizes.get(name)!, 0);
    this.info(`the first page has ${first.map((name) => `${name} ${sizes.get(name)}`).join(', ')}`);
    this.info(`together ${size.toLocaleString('en')} bytes, limit ${maxFirstSize.toLocaleString('en')}`);
    if (size > maxFirstSize) this.error('the first page is too large: load code lazily');
  },
};

export default defineConfig({
  plugins: [react(), check, compileHint, pack],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
    // One file for the initial bundle: many small ones load slower and compress worse.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
  },
  test: { testTimeout: 120_000, setupFiles: ['src/testing/noErrors.ts'] },
  server: { proxy: { '/api': { target: server, ws: true, changeOrigin: true } } },
});
