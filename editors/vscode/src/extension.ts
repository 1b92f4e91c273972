/** Starts everything: the language server, the verification of plans, the commands, the tasks. */

import * as vscode from 'vscode';
import { registerBeside } from './beside';
import { registerBuild } from './build';
import { registerElaborated } from './elaborated';
import { registerExplain } from './explain';
import { registerNewProgram } from './newProgram';
import { registerPlans } from './plans';
import { registerRanks } from './ranks';
import { createServer } from './server';
import { createStatus } from './status';
import { registerTasks } from './tasks';

let stopServer: (() => Promise<void>) | undefined;

/** Called by VS Code when the first program or JSON file is opened. */
export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel('ccl', { log: true });
  const status = createStatus();
  const server = createServer(context, output, status);
  stopServer = server.stop;
  context.subscriptions.push(
    output,
    status,
    vscode.commands.registerCommand('ccl.showOutput', () => output.show()),
    vscode.commands.registerCommand('ccl.restart', server.restart),
    ...registerPlans(context, output),
    ...registerBuild(context, output),
    ...registerBeside(context, output),
    ...registerRanks(context, output),
    ...registerElaborated(server),
    ...registerExplain(context),
    ...registerNewProgram(),
    ...registerTasks(context),
  );
  // Not awaited: if only plans are open, the extension is active without the server.
  void firstProgram(context).then(server.start);
}

/** Waits until a program is open: JSON alone needs no language server. */
function firstProgram(context: vscode.ExtensionContext): Promise<void> {
  const isProgram = (document: vscode.TextDocument) => document.languageId === 'ccl';
  if (vscode.workspace.textDocuments.some(isProgram)) {
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const opened = vscode.workspace.onDidOpenTextDocument((document) => {
      if (isProgram(document)) {
        opened.dispose();
        resolve();
      }
    });
    context.subscriptions.push(opened);
  });
}

/** Called by VS Code before it ends. */
export async function deactivate(): Promise<void> {
  await stopServer?.();
}
