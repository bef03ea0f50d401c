// Rules that find errors. Prettier formats.
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['node_modules/', '.curbcut/', 'coverage/', 'dist/', 'bench/peers/node_modules/', 'tools/node/', 'demo-site/site/'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/no-unused-expressions': 'off', // chai's properties are assertions
      eqeqeq: ['error', 'smart'],
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only a main.ts reads the environment, through platform/configuration.ts.' },
        { object: 'request', property: 'ip', message: 'It is undefined once the client is gone; read request.address.' },
      ],
    },
  },
  {
    files: ['**/main.ts', 'test/**', 'local/tests/**', '**/*.test.ts', 'bench/**', 'tools/**'],
    rules: { 'no-restricted-properties': 'off' },
  },
  { files: ['**/*.js'], ...tseslint.configs.disableTypeChecked },
);
