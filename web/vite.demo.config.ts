import react from '@vitejs/plugin-react';
import { type Plugin, defineConfig } from 'vite';

/** Makes the page work from a file URL, where browsers block module scripts and CORS requests. */
const fileURLs: Plugin = {
  name: 'file-urls',
  transformIndexHtml: {
    order: 'post',
    handler: (html) =>
      html.replace(/<script type="module" crossorigin/g, '<script defer').replaceAll(' crossorigin', ''),
  },
};

// Builds the demo of the dashboard: one script and one style sheet in a static folder, with a
// mock of the API instead of a server. See docs/dashboard.md.
export default defineConfig({
  root: 'demo',
  base: './',
  publicDir: '../public',
  mode: 'demo',
  plugins: [react(), fileURLs],
  build: {
    outDir: '../demo-dist',
    emptyOutDir: true,
    assetsInlineLimit: 1_000_000,
    chunkSizeWarningLimit: 10_000,
    rolldownOptions: { output: { format: 'iife', codeSplitting: false } },
  },
});
