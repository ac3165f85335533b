import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

// The build is embedded in the coder binary (web.go). In development, `npm run dev` serves the
// dashboard and proxies the API to a running server.
const server = process.env.CODER_URL ?? 'http://127.0.0.1:3000';

/** The maximum compressed size of the initial scripts and styles, in bytes. */
const maxInitialSize = 250_000;

/** Checks that each component has its styles, and that the initial bundle is small. */
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

    const chunks = new Map(all.flatMap((f) => (f.type === 'chunk' ? [[f.fileName, f] as const] : [])));
    const first = new Set<string>();
    const add = (name: string) => {
      const c = chunks.get(name);
      if (first.has(name) || !c) return;
      first.add(name);
      c.viteMetadata?.importedCss.forEach((s) => first.add(s));
      c.imports.forEach(add);
    };
    for (const c of chunks.values()) if (c.facadeModuleId?.endsWith('index.html')) add(c.fileName);
    const size = all
      .filter((f) => first.has(f.fileName))
      .reduce((n, f) => n + gzipSync(text(f), { level: 9 }).length, 0);
    if (process.env.SIZES)
      // lists the files of the initial bundle
      for (const f of all)
        if (first.has(f.fileName)) this.info(`${gzipSync(text(f), { level: 9 }).length} ${f.fileName}`);
    this.info(
      `the initial bundle has ${size.toLocaleString('en')} bytes compressed, limit ${maxInitialSize.toLocaleString('en')}`,
    );
    if (size > maxInitialSize) this.error('the initial bundle is too large: load code lazily');
  },
};

/** Writes a Brotli and a gzip version of each file, which the server sends as they are. */
const pack: Plugin = {
  name: 'pack',
  apply: 'build',
  writeBundle({ dir }, files) {
    for (const name of Object.keys(files)) {
      const file = `${dir}/${name}`;
      const plain = readFileSync(file);
      if (!/\.(js|css|svg)$/.test(name) || plain.length < 1000) continue;
      writeFileSync(`${file}.br`, brotliCompressSync(plain));
      writeFileSync(`${file}.gz`, gzipSync(plain, { level: 9 }));
    }
  },
};

export default defineConfig({
  plugins: [react(), check, pack],
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
