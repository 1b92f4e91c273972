// Puts the bundled files in place: the licenses, and the server and compiler in `server`. These are built, or with
// `CCL_BUNDLE=FOLDER` taken from that folder; with `CCL_BUNDLE=none`, the extension contains no programs, and finds
// them by its settings or on the PATH.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';

const given = process.env.CCL_BUNDLE;
const here = given && given !== 'none' ? path.resolve(given) : undefined;
process.chdir(path.dirname(import.meta.dirname));
const root = '../..';
for (const license of ['LICENSE-APACHE', 'LICENSE-MIT']) {
  copyFileSync(`${root}/${license}`, license);
}
rmSync('server', { recursive: true, force: true });
if (given !== 'none') {
  mkdirSync('server');
  const suffix = process.platform === 'win32' ? '.exe' : '';
  for (const program of ['ccl-lsp', 'cclc']) {
    copyFileSync(`${here ?? built()}/${program}${suffix}`, `server/${program}${suffix}`);
  }
}

/** The folder with the built programs of this repository. */
function built() {
  const words = ['build', '--locked', '--release', '-p', 'ccl-lsp', '-p', 'ccl-compiler', '--bins'];
  execFileSync('cargo', words, { cwd: root, stdio: 'inherit' });
  return `${root}/target/release`;
}
