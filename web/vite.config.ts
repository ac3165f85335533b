import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { type Plugin, defineConfig } from 'vite';

// The built files are embedded in the coder binary (web.go). In development,
// `npm run dev` serves the page and hands the API on to a running server.
const server = process.env.CODER_URL ?? 'http://127.0.0.1:3000';

/** Compressed, in bytes: the scripts and styles that the list of workspaces needs, which is the first page. */
const most = 250_000;

/** What must be true of the built files: each component has its styles, and the first page is small. */
const check: Plugin = {
  name: 'check',
  generateBundle(_, files) {
    const all = Object.values(files);
    const text = (f: (typeof all)[number]) => (f.type === 'chunk' ? f.code : String(f.source));
    const css = all.filter((f) => f.fileName.endsWith('.css')).map(text).join('');
    const known = readFileSync('node_modules/@mantine/core/styles.css', 'utf8');
    const used = all.filter((f) => f.type === 'chunk').flatMap((f) => f.code.match(/\bm_[0-9a-f]{6,8}\b/g) ?? []);
    const rare = ['CheckboxCard', 'RadioCard']; // come along with others and are not shown
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
    const size = all.filter((f) => first.has(f.fileName)).reduce((n, f) => n + gzipSync(text(f), { level: 9 }).length, 0);
    if (process.env.SIZES) // names them, for who has to make room
      for (const f of all) if (first.has(f.fileName)) this.info(`${gzipSync(text(f), { level: 9 }).length} ${f.fileName}`);
    this.info(`the first page is ${size.toLocaleString('en')} bytes compressed, of ${most.toLocaleString('en')}`);
    if (size > most) this.error('the first page is too large: load what it does not show later');
  },
};

/** Beside each file, the same packed as tight as it gets, for the server to hand out as it is. */
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
    // What the first page needs comes as one file: thirty small ones take longer, and pack worse.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
  },
  server: { proxy: { '/api': { target: server, ws: true, changeOrigin: true } } },
});
