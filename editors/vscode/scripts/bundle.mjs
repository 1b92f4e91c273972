// Puts what the extension brings along in place: the licenses, and the server and compiler in `server`. With
// `CCL_BUNDLE=none` it brings no programs along, and finds them by its settings or on the PATH.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';

process.chdir(new URL('..', import.meta.url).pathname);
const root = '../..';
for (const license of ['LICENSE-APACHE', 'LICENSE-MIT']) {
  copyFileSync(`${root}/${license}`, license);
}
rmSync('server', { recursive: true, force: true });
if (process.env.CCL_BUNDLE !== 'none') {
  const words = ['build', '--locked', '--release', '-p', 'ccl-lsp', '-p', 'ccl-compiler', '--bins'];
  execFileSync('cargo', words, { cwd: root, stdio: 'inherit' });
  mkdirSync('server');
  const suffix = process.platform === 'win32' ? '.exe' : '';
  for (const program of ['ccl-lsp', 'cclc']) {
    copyFileSync(`${root}/target/release/${program}${suffix}`, `server/${program}${suffix}`);
  }
}
