// A real VS Code: code-server with the packaged extension, in a headless Chromium. Everything is in a temporary folder,
// and every process that is started is ended.

import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

const HERE = import.meta.dirname;
export const ROOT = path.resolve(HERE, '../../..');
export const TOOLS = process.env.CCL_EDITOR_TOOLS ?? path.join(ROOT, 'target/editors');
const MODULES = path.join(TOOLS, 'vscode/node_modules');
const ENTRY = path.join(MODULES, 'code-server/out/node/entry.js');
const CHROMIUM = process.env.CCL_CHROMIUM ?? '/usr/bin/chromium';
export const SHOTS = process.env.CCL_SHOTS ?? path.join(TOOLS, 'shots');
const { chromium } = createRequire(path.join(MODULES, 'playwright-core/package.json'))('playwright-core');

const SETTINGS = {
  'files.autoSave': 'off',
  'files.hotExit': 'off',
  'chat.disableAIFeatures': true,
  'chat.commandCenter.enabled': false,
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.colorTheme': 'Default Dark Modern',
  'security.workspace.trust.enabled': false,
  'window.commandCenter': false,
  'window.menuBarVisibility': 'hidden',
  'editor.minimap.enabled': false,
  'editor.fontFamily': 'DejaVu Sans Mono',
  // Drawn as text, so that tests can read it.
  'terminal.integrated.gpuAcceleration': 'off',
  'telemetry.telemetryLevel': 'off',
  'extensions.ignoreRecommendations': true,
  'git.enabled': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
};

/** Starts VS Code on a copy of the folder `workspace`, and opens its page. */
export async function startSession(extension, settings = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'ccl-vscode-'));
  const workspace = path.join(folder, 'workspace');
  cpSync(path.join(HERE, '../workspace'), workspace, { recursive: true });
  const extensions = path.join(folder, 'extensions');
  const dirs = ['--user-data-dir', path.join(folder, 'user'), '--extensions-dir', extensions];
  // The paths of programs are machine settings; the others are user settings.
  for (const [name, values] of [['User', SETTINGS], ['Machine', settings]]) {
    mkdirSync(path.join(folder, 'user', name), { recursive: true });
    writeFileSync(path.join(folder, 'user', name, 'settings.json'), JSON.stringify(values));
  }
  execFileSync(process.execPath, [ENTRY, ...dirs, '--install-extension', extension], { stdio: 'pipe' });
  const port = await freePort();
  const server = spawn(
    process.execPath,
    [ENTRY, ...dirs, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry', '--disable-update-check',
      '--disable-workspace-trust', '--disable-getting-started-override', '--reconnection-grace-time', '5', workspace],
    { detached: true, stdio: 'ignore' },
  );
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  const stop = async () => {
    await browser.close();
    try {
      process.kill(-server.pid, 'SIGKILL');
    } catch {
      // It has already ended.
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  try {
    await healthy(port);
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
    await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(workspace)}`);
    await page.waitForSelector('.explorer-folders-view .monaco-list-row', { timeout: 60_000 });
    return { page, workspace, extensions, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Opens a file of the workspace from the explorer. */
export async function openFile(page, name) {
  await page.dblclick(`.explorer-folders-view .monaco-list-row[aria-label^="${name}"]`);
  await page.waitForSelector(`.tab.active[data-resource-name="${name}"]`);
  await page.waitForSelector('.editor-group-container.active .view-line');
}

/** Runs a command by its whole title, with its category. */
export async function runCommand(page, title) {
  await page.keyboard.press('F1');
  await page.fill('.quick-input-widget input:visible', `>${title}`);
  const label = (suffix) => `.quick-input-list .monaco-list-row[aria-label${suffix}]`;
  await page.click(`${label(`="${title}"`)}, ${label(`^="${title},"`)}`);
}

/** Puts the cursor at a line and column, both from 1. */
export async function goTo(page, line, column = 1) {
  await page.keyboard.press('Control+g');
  await page.waitForSelector('.quick-input-widget input');
  await page.fill('.quick-input-widget input', `:${line}:${column}`);
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    ([l, c]) => document.querySelector('#status\\.editor\\.selection')?.textContent?.includes(`Ln ${l}, Col ${c}`),
    [line, column],
  );
}

/** The text of the visible lines of the active editor. */
export async function lines(page, group = '.editor-group-container.active') {
  return page.$$eval(`${group} .view-line`, (found) =>
    found
      .map((line) => ({ top: parseFloat(line.style.top), text: line.textContent.replaceAll('\u00a0', ' ') }))
      .sort((a, b) => a.top - b.top)
      .map((line) => line.text),
  );
}

/** The numbers of the lines that have a decoration of a class, in the active editor or in another one. */
export async function decorated(page, mark, group = '.editor-group-container.active') {
  return page.$$eval(
    `${group} .view-overlays .${mark}`,
    (marks, where) => {
      const top = (line) => parseFloat(line.style.top);
      const margin = [...document.querySelectorAll(`${where} .margin-view-overlays > div`)];
      const number = (mark) => margin.find((line) => top(line) === top(mark.parentElement))?.textContent;
      return [...new Set(marks.map(number).map(Number))].sort((a, b) => a - b);
    },
    group,
  );
}

/** Closes all editors, without saving. */
export async function closeAll(page) {
  await page.keyboard.press('Escape');
  await runCommand(page, 'File: Revert File').catch(() => undefined);
  await runCommand(page, 'View: Close All Editors');
  await page.waitForFunction(() => document.querySelector('.tab') === null);
}

/** Waits until a condition holds. */
export async function until(what, condition, timeout = 30_000) {
  const end = Date.now() + timeout;
  while (!(await condition())) {
    if (Date.now() > end) {
      throw new Error(`not within ${timeout / 1000} s: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Takes a screenshot. */
export async function shoot(page, name) {
  mkdirSync(SHOTS, { recursive: true });
  // Whatever was just closed fades out first.
  await new Promise((resolve) => setTimeout(resolve, 500));
  await page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
}

async function healthy(port) {
  await until('code-server answers', async () => {
    try {
      return (await fetch(`http://127.0.0.1:${port}/healthz`)).ok;
    } catch {
      return false;
    }
  });
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
