import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// Serves the page of the design system in development. The dashboard does not know it, and no
// binary contains it. See docs/design-system.md.
export default defineConfig({
  root: 'design',
  publicDir: '../public',
  plugins: [react()],
  build: { outDir: '../design-dist', emptyOutDir: true, chunkSizeWarningLimit: 10_000 },
  server: { fs: { allow: ['..', '../../api'] } }, // the mock of the API reads the OpenAPI document
});
