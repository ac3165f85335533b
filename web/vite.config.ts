import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// The built files are embedded in the coder binary (web.go). In development,
// `npm run dev` serves the page and hands the API on to a running server.
const server = process.env.CODER_URL ?? 'http://127.0.0.1:3000';

export default defineConfig({
  plugins: [react()],
  build: { outDir: 'dist', emptyOutDir: true, assetsInlineLimit: 0, chunkSizeWarningLimit: 800 },
  server: { proxy: { '/api': { target: server, ws: true, changeOrigin: true } } },
});
