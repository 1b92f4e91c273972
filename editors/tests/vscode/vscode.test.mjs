// The extension in a real VS Code, installed with its bundled programs, as a user at the keyboard sees it. Screenshots
// are kept. `CCL_LSP` names another server, for example one that records the editor's messages.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { closeAll, decorated, goTo, lines, openFile, ROOT, runCommand, shoot, startSession, until } from './session.mjs';

const SERVER = process.env.CCL_LSP;
const COMPILER = path.join(ROOT, 'target/debug/cclc');
const EXTENSION = path.join(ROOT, 'editors/vscode/out/ccl.vsix');

let session;
let page;

before(async () => {
  const settings = SERVER ? { 'ccl.server.path': SERVER, 'ccl.compiler.path': COMPILER } : {};
  session = await startSession(EXTENSION, settings);
  page = session.page;
});

after(async () => {
  await session?.stop();
});

/** A test that takes a screenshot if it fails. */
function seen(name, ...how) {
  const [body, options = {}] = how.reverse();
  test(name, { timeout: 120_000, ...options }, async () => {
    try {
      await closeAll(page);
      await body();
    } catch (error) {
      await shoot(page, `failed ${name}`);
      throw error;
    }
  });
}

const source = (name) => readFileSync(path.join(session.workspace, name), 'utf8');

/** The line, counted from 1, that contains a text. */
function lineOf(name, text) {
  return source(name).split('\n').findIndex((line) => line.includes(text)) + 1;
}

/** The processes of programs that are bundled with the extension. */
function running() {
  return readdirSync('/proc').filter((process) => {
    try {
      return readlinkSync(`/proc/${process}/exe`).startsWith(session.extensions);
    } catch {
      return false;
    }
  });
}

/** The text in the terminal. */
async function terminal() {
  const rows = await page.$$eval('.xterm-rows > div', (found) => found.map((row) => row.textContent));
  return rows.join('\n').replaceAll('\u00a0', ' ');
}

/** Runs one of the tasks that the extension provides. */
async function runTask(page, task) {
  await runCommand(page, 'Tasks: Run Task');
  const input = '.quick-input-widget input[placeholder*="task to run"]:visible';
  for (const choice of ['ccl', task]) {
    await page.waitForSelector(input);
    await page.fill(input, choice);
    await page.click(`.quick-input-list .monaco-list-row.focused:has-text("${choice}")`);
  }
}

function status() {
  return page.textContent('.statusbar-item[id*="ccl.status"]');
}

seen('the server runs, and a sound program has no reports', async () => {
  await openFile(page, 'gather.ccl');
  await until('the status item', async () => (await page.$$('.statusbar-item[id*="ccl.status"] .codicon-check')).length === 1);
  assert.match(await status(), /ccl: proved for 4/);
  assert.deepEqual(await decorated(page, 'squiggly-error'), []);
});

seen('the status item says how many errors the file in the editor has', async () => {
  await openFile(page, 'race.ccl');
  await until('the errors', async () => /ccl: 1 error/.test(await status()));
  await openFile(page, 'gather.ccl');
  await until('the proof', async () => /ccl: proved for 4/.test(await status()));
});

seen('programs are checked for the number of ranks that is chosen', async () => {
  await openFile(page, 'gather.ccl');
  await until('the proof', async () => /proved for 4/.test(await status()));
  await page.click('.statusbar-item[id*="ccl.status"]');
  await page.waitForSelector('.quick-input-list .monaco-list-row:has-text("number of ranks")');
  await shoot(page, 'status');
  await page.click('.quick-input-list .monaco-list-row:has-text("Choose the number of ranks")');
  await page.waitForSelector('.quick-input-list .monaco-list-row[aria-label^="16"]');
  await page.click('.quick-input-list .monaco-list-row[aria-label^="16"]');
  try {
    await until('the proof for 16', async () => /proved for 16/.test(await status()));
  } finally {
    rmSync(path.join(session.workspace, '.vscode'), { recursive: true, force: true });
  }
  await until('the proof for 4', async () => /proved for 4/.test(await status()));
});

seen('a program is checked for several numbers of ranks', async () => {
  await openFile(page, 'gather.ccl');
  await runCommand(page, 'ccl: Check for Several Numbers of Ranks');
  await page.waitForSelector('.quick-input-widget input:visible');
  await page.fill('.quick-input-widget input:visible', '2..=5');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.notification-toast:has-text("Proved for ranks=2..=5.")');
  await runCommand(page, 'Notifications: Clear All Notifications');
});

seen('what the compiler makes of programs and plans stands beside them', async () => {
  const other = '.split-view-view:nth-child(2) .editor-group-container';
  const shows = (text) => async () => (await lines(page, other)).some((line) => line.includes(text));
  await openFile(page, 'gather.ccl');
  await runCommand(page, 'ccl: Show CUDA Kernels');
  await until('the kernels', shows('gather'));
  await page.waitForSelector('.tab[data-resource-name="gather (kernels).cu"]');
  await shoot(page, 'kernels');
  await closeAll(page);
  await openFile(page, 'gather.ccl');
  await runCommand(page, 'ccl: Show Needless Synchronization');
  await page.waitForSelector('.tab[data-resource-name="gather (needless).txt"]');
  await closeAll(page);
  await openFile(page, 'plan.json');
  await runCommand(page, 'ccl: Show Plan as Program');
  await until('the program', shows('program '));
  await closeAll(page);
  await openFile(page, 'plan.json');
  await runCommand(page, 'ccl: List Execution Plan');
  await until('the list', shows('collective'));
  await closeAll(page);
  await openFile(page, 'gather.ccl');
  await runCommand(page, 'ccl: Compare With ...');
  await page.waitForSelector('.quick-input-list .monaco-list-row[aria-label^="kernels.ccl"]');
  await page.click('.quick-input-list .monaco-list-row[aria-label^="kernels.ccl"]');
  await page.waitForSelector('.tab[data-resource-name="gather and kernels (compared).txt"]');
});

seen('what came with the extension is what runs', { skip: SERVER || process.platform !== 'linux' }, async () => {
  await openFile(page, 'gather.ccl');
  await until('the server', () => running().length > 0);
  const programs = running().map((process) => readlinkSync(`/proc/${process}/exe`));
  assert.deepEqual(programs.map((program) => path.relative(session.extensions, program).replace(/^[^/]*/, '*')), ['*/server/ccl-lsp']);
});

seen('a lens says what is known of a program', async () => {
  await openFile(page, 'gather.ccl');
  const lens = () => page.textContent('.editor-group-container.active .codelens-decoration');
  await until('the proof', async () => /4 ranks · 1 block · \d+ operations · proved/.test((await lens()) ?? ''));
  await shoot(page, 'lens');
});

seen('a race is underlined on both lines', async () => {
  await openFile(page, 'race.ccl');
  await until('an error', async () => (await decorated(page, 'squiggly-error')).length > 0);
  assert.deepEqual(await decorated(page, 'squiggly-error'), [lineOf('race.ccl', 'put output')]);
  assert.deepEqual(await decorated(page, 'squiggly-info'), [lineOf('race.ccl', 'copy input')]);
  assert.equal((await page.$$('.editor-group-container.active .squiggly-error')).length, 1, 'told once');
  await goTo(page, lineOf('race.ccl', 'put output'), 13);
  await runCommand(page, 'Go to Next Problem (Error, Warning, Info)');
  await page.waitForSelector('.marker-widget');
  assert.match(await page.textContent('.marker-widget'), /while block `fill` may be writing it/);
  await shoot(page, 'race');
});

seen('a quick fix mends a typo', async () => {
  await openFile(page, 'typo.ccl');
  await until('an error', async () => (await decorated(page, 'squiggly-error')).length === 1);
  await goTo(page, lineOf('typo.ccl', 'inptu'), 15);
  await until('the fixes', async () => {
    await page.keyboard.press('Control+.');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return (await page.$('.action-widget .monaco-list-row')) !== null;
  });
  await shoot(page, 'fix');
  assert.match(await page.textContent('.action-widget .monaco-list-row:has(.title)'), /input/);
  await page.keyboard.press('Enter');
  await until('no error', async () => (await decorated(page, 'squiggly-error')).length === 0);
  assert.ok((await lines(page)).some((line) => line.includes('copy input[0]')));
});

seen('hover tells what a name is', async () => {
  await openFile(page, 'gather.ccl');
  await goTo(page, lineOf('gather.ccl', 'let next'), 18);
  await runCommand(page, 'Show or Focus Hover');
  await page.waitForSelector('.monaco-hover:not(.hidden) .rendered-markdown');
  await until('the hover', async () => /comes after/.test(await page.textContent('.monaco-hover:not(.hidden)')));
  await shoot(page, 'hover');
  await page.keyboard.press('Escape');
});

seen('a procedure is renamed everywhere', async () => {
  await openFile(page, 'gather.ccl');
  await goTo(page, lineOf('gather.ccl', 'meet(mem)'), 11);
  await page.keyboard.press('F2');
  await page.waitForSelector('.rename-box input');
  await page.fill('.rename-box input', 'handshake');
  await shoot(page, 'rename');
  await page.keyboard.press('Enter');
  await until('the new name', async () => (await lines(page)).filter((line) => line.includes('handshake')).length === 3);
});

seen('the elaborated program stands beside the source, and selections are linked', async () => {
  await openFile(page, 'gather.ccl');
  await runCommand(page, 'ccl: Show Elaborated Program');
  const group = (number) => `.split-view-view:nth-child(${number}) .editor-group-container`;
  const other = group(2);
  await until('the view', async () => (await lines(page, other)).some((line) => line.includes('dump, not meant')));
  await goTo(page, lineOf('gather.ccl', 'put output[rank] -> p.output'), 13);
  const marked = () => decorated(page, 'cdr[class*="ced-"]', other);
  await until('marks', async () => (await marked()).length >= 2);
  const dump = execFileSync(COMPILER, ['dump', 'gather.ccl'], { cwd: session.workspace, encoding: 'utf8' }).split('\n');
  assert.ok((await marked()).every((line) => /put output.*\/\/ p = /.test(dump[line - 1])), String(await marked()));
  await runCommand(page, 'View: Toggle Primary Side Bar Visibility');
  await shoot(page, 'elaborated');
  const wait = page.locator(`${other} .view-line`, { hasText: 'wait mem[0]' }).first();
  await wait.click();
  const back = () => decorated(page, 'cdr[class*="ced-"]', group(1));
  await until('marks in the source', async () => (await back()).includes(lineOf('gather.ccl', 'meet(mem);')));
  await shoot(page, 'elaborated back');
  // Typed, but not saved.
  await page.click(`${group(1)} .view-line`);
  await goTo(page, lineOf('gather.ccl', 'ranks: int = 4'), 'program gather(ranks: int = 4'.length + 1);
  await page.keyboard.press('Backspace');
  await page.keyboard.type('3');
  const threeRanks = (line) => line.trim() === 'signal mem[0], mem[1];';
  await until('a view of three ranks', async () => (await lines(page, other)).some(threeRanks));
  assert.match(source('gather.ccl'), /ranks: int = 4/);
  await runCommand(page, 'View: Toggle Primary Side Bar Visibility');
});

seen('a plan is verified when it is opened', async () => {
  await openFile(page, 'plan.json');
  await until('an error', async () => (await decorated(page, 'squiggly-error')).length > 0);
  assert.deepEqual(await decorated(page, 'squiggly-error'), [lineOf('plan.json', '"signal"')]);
  await goTo(page, lineOf('plan.json', '"signal"'), 3);
  await runCommand(page, 'Show or Focus Hover');
  await until('the hover', async () => /signals over/.test(await page.textContent('.monaco-hover:not(.hidden)')));
  await shoot(page, 'plan');
  await page.keyboard.press('Escape');
});

seen('a plan is verified when that is asked for', async () => {
  await openFile(page, 'plan.json');
  await runCommand(page, 'ccl: Verify Execution Plan');
  await page.waitForSelector('.markers-panel');
  await until('the problem', async () => /signals over/.test((await page.textContent('.markers-panel')) ?? ''));
  await runCommand(page, 'View: Toggle Panel Visibility');
});

seen('the code under the cursor is explained', async () => {
  await openFile(page, 'race.ccl');
  await until('an error', async () => (await decorated(page, 'squiggly-error')).length > 0);
  await goTo(page, lineOf('race.ccl', 'put output'), 14);
  await runCommand(page, 'ccl: Explain Code');
  await page.waitForSelector('.tab[data-resource-name*="E0501"], .tab[aria-label*="E0501"]');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await shoot(page, 'explain');
});

seen('a plan is built', async () => {
  await openFile(page, 'gather.ccl');
  await runCommand(page, 'ccl: Build Execution Plan');
  await page.waitForSelector('.notification-toast:has-text("Built gather.plan.json")');
  assert.equal(JSON.parse(source('gather.plan.json')).collective, 'allgather');
  await runCommand(page, 'Notifications: Clear All Notifications');
});

seen('the server is started again', async () => {
  await openFile(page, 'race.ccl');
  await until('an error', async () => (await decorated(page, 'squiggly-error')).length > 0);
  const before = running();
  await runCommand(page, 'ccl: Restart Language Server');
  await until('another server', () => running().some((process) => !before.includes(process)));
  await until('the old one gone', () => before.every((process) => !running().includes(process)));
  await until('an error again', async () => (await decorated(page, 'squiggly-error')).length > 0);
});

seen('a task runs the compiler, and its reports are problems', async () => {
  await openFile(page, 'missing_wait.ccl');
  await runTask(page, 'check missing_wait.ccl');
  await page.waitForSelector('.terminal-wrapper, .terminal.xterm');
  await runCommand(page, 'Problems: Focus on Problems View');
  const problems = () => page.textContent('.markers-panel');
  await until('the problem', async () => /cclc\(?E0603/.test((await problems()) ?? ''));
  await shoot(page, 'task');
});

seen('a program runs in a terminal', async () => {
  await openFile(page, 'gather.ccl');
  await runCommand(page, 'ccl: Run Program');
  await page.waitForSelector('.terminal-wrapper, .terminal.xterm');
  await until('the result', async () => /gather: allgather on 4 ranks.*\s+right: \d+ schedules/.test(await terminal()));
  await shoot(page, 'run');
  await runCommand(page, 'Terminal: Kill All Terminals');
});

seen('settings count while they are written, for what is shown and what is run', async () => {
  await openFile(page, 'kernels.ccl');
  await until('an error', async () => (await decorated(page, 'squiggly-error')).length > 0);
  await runCommand(page, 'ccl: Show Elaborated Program');
  const other = '.split-view-view:nth-child(2) .editor-group-container';
  const shown = async (ranks) => (await lines(page, other))[0]?.includes(`for ${ranks} ranks`);
  await until('the view', () => shown(4));
  const folder = path.join(session.workspace, '.vscode');
  mkdirSync(folder);
  const settings = { 'ccl.target': 'mscclpp', 'ccl.sms': 5, 'ccl.parameters': { ranks: 3 } };
  writeFileSync(path.join(folder, 'settings.json'), JSON.stringify(settings));
  try {
    await until('no error', async () => (await decorated(page, 'squiggly-error')).length === 0);
    await until('a view of three ranks', () => shown(3));
    await runCommand(page, 'ccl: Run Program');
    await until('the result', async () => /kernels_ranks_3: allgather on 3 ranks.*\s+right: \d+/.test(await terminal()));
    assert.match((await terminal()).replaceAll('\n', ''), /--sms 5 --target cuda/);
    await runCommand(page, 'Terminal: Kill All Terminals');
    await runTask(page, 'check kernels.ccl');
    await until('the task', async () => /check --message-format short --sms 5 --target mscclpp/.test((await terminal()).replaceAll('\n', '')));
    await runCommand(page, 'Terminal: Kill All Terminals');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

seen('the walkthrough shows the way', async () => {
  await runCommand(page, 'Welcome: Open Walkthrough...');
  await page.waitForSelector('.quick-input-widget input:visible');
  await page.keyboard.type('Get started with ccl');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.gettingStartedContainer :text("Write a program")');
  await shoot(page, 'walkthrough');
});
