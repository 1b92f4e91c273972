/** The number of ranks for which programs are checked while they are edited, and checks for several numbers. */

import * as vscode from 'vscode';
import { settingsFor, targetOf } from './programs';
import { needCompiler, runCompiler } from './tools';
import { diagnosticsOf } from './plans';
import { parseReports } from './reports';

/** Registers the commands. */
export function registerRanks(
  extension: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
): vscode.Disposable[] {
  const found = vscode.languages.createDiagnosticCollection('cclc check');
  return [
    found,
    vscode.workspace.onDidChangeTextDocument(({ document }) => found.delete(document.uri)),
    vscode.commands.registerCommand('ccl.chooseRanks', (given?: unknown) => chooseRanks(given)),
    vscode.commands.registerCommand('ccl.checkRanks', async (given?: unknown) => {
      const range = typeof given === 'string' ? given : await askRange();
      const compiler = range === undefined ? undefined : needCompiler(extension);
      const target = compiler && (await targetOf());
      if (range === undefined || !compiler || !target) {
        return;
      }
      const file = target.document.uri;
      const words = target.words.filter((word, at, all) => !isRanks(word) && !(word === '-D' && isRanks(all[at + 1])));
      const command = ['check', '--message-format', 'json', ...words, ...settingsFor('check', file), '-D', `ranks=${range}`];
      const options = { location: vscode.ProgressLocation.Window, title: `ccl: checking for ranks=${range}` };
      const done = await vscode.window.withProgress(options, () => runCompiler(compiler, [...command, file.fsPath], file));
      output.info([compiler, ...command, file.fsPath].join(' '));
      if (done.status !== 0 && done.status !== 1) {
        output.error(done.stderr);
        void vscode.window.showErrorMessage(done.stderr.trim().split('\n')[0] ?? 'cclc could not be run.');
        return;
      }
      const reports = parseReports(done.stderr);
      found.set(file, diagnosticsOf(target.document, reports));
      await tell(range, reports.filter((report) => report.severity === 'error').length);
    }),
  ];
}

async function tell(range: string, errors: number): Promise<void> {
  if (errors === 0) {
    void vscode.window.showInformationMessage(`Proved for ranks=${range}.`);
    return;
  }
  void vscode.window.showWarningMessage(`For ranks=${range}: ${errors} error${errors > 1 ? 's' : ''}.`);
  await vscode.commands.executeCommand('workbench.actions.view.problems');
}

/** Sets the parameter `ranks` of the workspace, or of the user if there is none. */
async function chooseRanks(given: unknown): Promise<void> {
  const chosen = typeof given === 'number' ? String(given) : await pickRanks();
  if (chosen === RANGE) {
    await vscode.commands.executeCommand('ccl.checkRanks');
    return;
  }
  if (chosen === undefined) {
    return;
  }
  const settings = vscode.workspace.getConfiguration('ccl', vscode.window.activeTextEditor?.document.uri);
  const { ranks: _, ...others } = settings.get<Record<string, unknown>>('parameters', {});
  const parameters = chosen === DEFAULT ? others : { ...others, ranks: Number(chosen) };
  const place = vscode.workspace.workspaceFolders ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  await settings.update('parameters', Object.keys(parameters).length > 0 ? parameters : undefined, place);
}

const DEFAULT = 'as each program says';
const ANOTHER = 'another number ...';
const RANGE = 'several numbers, once ...';

async function pickRanks(): Promise<string | undefined> {
  const numbers = [2, 4, 8, 16, 32, 64, 128].map(String);
  const title = 'For how many ranks are programs checked?';
  const picked = await vscode.window.showQuickPick([DEFAULT, ...numbers, ANOTHER, RANGE], { title });
  if (picked !== ANOTHER) {
    return picked;
  }
  const validateInput = (text: string) => (/^[1-9]\d{0,5}$/.test(text) ? undefined : 'A number of ranks, such as 24');
  return vscode.window.showInputBox({ title, validateInput });
}

async function askRange(): Promise<string | undefined> {
  const title = 'For which numbers of ranks is the program checked?';
  const validateInput = (text: string) =>
    /^\d+(\.\.=?\d+)?(,\d+(\.\.=?\d+)?)*$/.test(text) ? undefined : 'Such as 2..=16, or 2,4,8';
  return vscode.window.showInputBox({ title, value: '2..=16', validateInput });
}

function isRanks(word: string | undefined): boolean {
  return word?.startsWith('ranks=') ?? false;
}
