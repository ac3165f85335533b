import hooks from 'eslint-plugin-react-hooks';
import { defineConfig } from 'eslint/config';
import typescript from 'typescript-eslint';

export default defineConfig(
  { ignores: ['dist', 'src/api/schema.gen.ts'] },
  typescript.configs.recommended,
  hooks.configs.flat['recommended-latest'],
);
