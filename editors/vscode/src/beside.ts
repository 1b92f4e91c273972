/** Commands whose output is shown next to the file that they are about: plans as programs, lists and differences, CUDA source. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { looksLikePlan } from './planTree';
import { settingsFor, targetOf } from './programs';
import { needCompiler, Run, runCompiler } from './tools';

/** Documents of this scheme are outputs of the compiler; the path is a title. */
const SCHEME = 'ccl-output';

/** What to show. */
interface Output {
  /** The name of the document, whose suffix says its language. */
  readonly title: string;
  readonly text: string;
}

/** Registers the commands. */
export function registerBeside(
  extension: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
): vscode.Disposable[] {
  const texts = new Map<string, string>();
  const changed = new vscode.EventEmitter<vscode.Uri>();

  async function show({ title, text }: Output): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}` });
    texts.set(uri.toString(), text);
    changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const shown = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true };
    await vscode.window.showTextDocument(document, shown);
  }

  function registerCommand(name: string, make: (compiler: string, given: unknown[]) => Promise<Output | undefined>) {
    return vscode.commands.registerCommand(name, async (...given: unknown[]) => {
      const compiler = needCompiler(extension);
      try {
        const made = compiler && (await make(compiler, given));
        await (made ? show(made) : undefined);
      } catch (error) {
        output.error(String(error));
        void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
      }
    });
  }

  return [
    changed,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: changed.event,
      provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? '',
    }),
    vscode.workspace.onDidCloseTextDocument((document) => texts.delete(document.uri.toString())),
    registerCommand('ccl.decompilePlan', decompile),
    registerCommand('ccl.listPlan', list),
    registerCommand('ccl.comparePlans', compare),
    registerCommand('ccl.showNeedless', needless),
    registerCommand('ccl.showCuda', cuda),
  ];
}

async function decompile(compiler: string): Promise<Output | undefined> {
  const plan = await activePlan();
  const done = plan && (await runCompiler(compiler, ['decompile', plan.fsPath], plan));
  return done && { title: `${stem(plan)} (decompiled).ccl`, text: printed(done) };
}

async function list(compiler: string): Promise<Output | undefined> {
  const plan = await activePlan();
  const done = plan && (await runCompiler(compiler, ['list', plan.fsPath], plan));
  return done && { title: `${stem(plan)} (listed).txt`, text: printed(done) };
}

/** How the plan or program in the editor differs from another one, which is asked for. */
async function compare(compiler: string): Promise<Output | undefined> {
  const first = vscode.window.activeTextEditor?.document.languageId === 'ccl' ? await activeProgram() : await activePlan();
  const second = first && (await pickOther(first));
  if (!first || !second) {
    return undefined;
  }
  const done = await runCompiler(compiler, ['diff', first.fsPath, second.fsPath], first);
  const title = `${stem(first)} and ${stem(second)} (compared).txt`;
  const same = 'The two do the same.\n';
  return { title, text: done.status === 0 && done.stdout + done.stderr === '' ? same : said(done) };
}

/** The synchronization that a program does not need. */
async function needless(compiler: string, given: unknown[]): Promise<Output | undefined> {
  const target = await targetOf(...given);
  if (target === undefined) {
    return undefined;
  }
  const file = target.document.uri;
  const words = ['check', '--needless', ...target.words, ...settingsFor('check', file), file.fsPath];
  return { title: `${stem(file)} (needless).txt`, text: said(await runCompiler(compiler, words, file)) };
}

/** The kernels of a program. */
async function cuda(compiler: string, given: unknown[]): Promise<Output | undefined> {
  const target = await targetOf(...given);
  if (target === undefined) {
    return undefined;
  }
  const file = target.document.uri;
  const folder = await mkdtemp(path.join(tmpdir(), 'ccl-'));
  try {
    const source = path.join(folder, `${stem(file)}.cu`);
    const form = kernelsFor(file);
    const words = ['build', ...target.words, ...settingsFor('build', file), ...form, '--emit', `cuda=${source}`, file.fsPath];
    const done = await runCompiler(compiler, words, file);
    if (done.status !== 0) {
      throw new Error(`There are no kernels: ${firstError(done)}`);
    }
    return { title: `${stem(file)} (kernels).cu`, text: await readFile(source, 'utf8') };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The form of kernels that the settings ask for; plain CUDA if they are about plans. */
function kernelsFor(file: vscode.Uri): string[] {
  const target = vscode.workspace.getConfiguration('ccl', file).get<string>('target', 'executor');
  return ['--target', target === 'executor' ? 'cuda' : target];
}

/** The plan in the editor, saved; undefined after a message if there is none. */
async function activePlan(): Promise<vscode.Uri | undefined> {
  const document = vscode.window.activeTextEditor?.document;
  const isPlan = document?.uri.scheme === 'file' && looksLikePlan(document.getText());
  return isPlan ? saved(document) : tell('Open an execution plan first.');
}

async function activeProgram(): Promise<vscode.Uri | undefined> {
  const document = vscode.window.activeTextEditor?.document;
  return document?.uri.scheme === 'file' ? saved(document) : tell('Save the program first.');
}

async function saved(document: vscode.TextDocument): Promise<vscode.Uri> {
  if (document.isDirty) {
    await document.save();
  }
  return document.uri;
}

function tell(message: string): undefined {
  void vscode.window.showInformationMessage(message);
  return undefined;
}

/** Asks for a plan or program of the workspace, besides a given one. */
async function pickOther(besides: vscode.Uri): Promise<vscode.Uri | undefined> {
  const files = await vscode.workspace.findFiles('**/*.{ccl,json}', '**/node_modules/**', MOST_FILES);
  const others = files.filter((file) => file.toString() !== besides.toString());
  const items = others.map((file) => ({ label: vscode.workspace.asRelativePath(file), file }));
  items.sort((one, other) => one.label.localeCompare(other.label));
  const title = files.length < MOST_FILES ? 'Compare with' : `Compare with (of the first ${MOST_FILES} files)`;
  const picked = await vscode.window.showQuickPick(items, { title, placeHolder: 'A plan or a program' });
  return picked?.file;
}

/** The most files among which another one can be picked. */
const MOST_FILES = 2_000;

/** What a successful run printed; its error otherwise. */
function printed(done: Run): string {
  if (done.status !== 0) {
    throw new Error(firstError(done));
  }
  return done.stdout;
}

/** All that a run printed, whether it found something or not. */
function said(done: Run): string {
  if (done.status !== 0 && done.status !== 1) {
    throw new Error(firstError(done));
  }
  return done.stdout + done.stderr;
}

function firstError(done: Run): string {
  const lines = done.stderr.split('\n');
  return lines.find((line) => line.startsWith('error')) ?? done.stderr.trim();
}

function stem(file: vscode.Uri): string {
  return path.basename(file.path).replace(/(\.plan)?\.[^.]*$/, '');
}
