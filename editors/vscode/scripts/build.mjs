// Builds `out`: the bundled extension, and the TextMate grammar, which is made from the compiler's table of
// words.

import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

process.chdir(path.dirname(import.meta.dirname));
mkdirSync('out', { recursive: true });
copyFileSync('../../grammar/ccl.tmLanguage.json', 'out/ccl.tmLanguage.json');
await build({
  entryPoints: ['src/extension.ts'],
  outfile: 'out/extension.js',
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  mainFields: ['module', 'main'],
  minify: true,
  sourcemap: false,
});
