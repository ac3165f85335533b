import hooks from 'eslint-plugin-react-hooks';
import effects from 'eslint-plugin-react-you-might-not-need-an-effect';
import { defineConfig } from 'eslint/config';
import typescript from 'typescript-eslint';

export default defineConfig(
  { ignores: ['dist', 'demo-dist', 'design-dist', 'src/api/schema.gen.ts'] },
  typescript.configs.recommended,
  hooks.configs.flat['recommended-latest'],
  effects.configs.recommended,
  {
    rules: {
      'max-len': [
        'error',
        { code: 120, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true },
      ],
    },
  },
);
