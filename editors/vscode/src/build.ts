/** The commands that build a plan and run a program. */

import * as path from 'node:path';
import * as vscode from 'vscode';
import { settingsFor, targetOf } from './programs';
import { cclTask } from './tasks';
import { folderOf, needCompiler, runCompiler } from './tools';

/** Registers the commands. */
export function registerBuild(
  extension: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand('ccl.buildPlan', (...target) => build(extension, output, target)),
    vscode.commands.registerCommand('ccl.run', (...target) => run(extension, target)),
  ];
}

async function build(
  extension: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
  named: unknown[],
): Promise<void> {
  const compiler = needCompiler(extension);
  const target = compiler && (await targetOf(...named));
  if (!compiler || !target) {
    return;
  }
  const file = target.document.uri;
  const plan = file.fsPath.replace(/\.ccl$/, '') + '.plan.json';
  const words = ['build', '--message-format', 'short', ...target.words, ...settingsFor('build', file), '-o', plan];
  const done = await runCompiler(compiler, [...words, file.fsPath], file);
  output.info([compiler, ...words, file.fsPath].join(' '));
  output.info(done.stdout + done.stderr);
  await (done.status === 0 ? showBuilt(plan, folderOf(file)) : showFailed(done.stderr, output));
}

async function showBuilt(plan: string, folder: string): Promise<void> {
  const open = 'Open Plan';
  const message = `Built ${path.relative(folder, plan)}.`;
  if ((await vscode.window.showInformationMessage(message, open)) === open) {
    await vscode.window.showTextDocument(vscode.Uri.file(plan));
  }
}

async function showFailed(stderr: string, output: vscode.LogOutputChannel): Promise<void> {
  const show = 'Show Output';
  const errors = stderr.split('\n').filter((line) => line.includes(': error[')).length;
  const message = errors > 0 ? `No plan: ${errors} error${errors > 1 ? 's' : ''}.` : `No plan: ${stderr.trim()}`;
  if ((await vscode.window.showErrorMessage(message, show)) === show) {
    output.show();
  }
}

async function run(extension: vscode.ExtensionContext, named: unknown[]): Promise<void> {
  const compiler = needCompiler(extension);
  const target = compiler && (await targetOf(...named));
  if (!compiler || !target) {
    return;
  }
  const file = target.document.uri;
  const definition = {
    type: 'ccl',
    command: 'run',
    file: file.fsPath,
    arguments: [...target.words, ...settingsFor('run', file)],
  };
  await vscode.tasks.executeTask(cclTask(compiler, definition, file));
}
