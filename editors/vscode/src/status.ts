/** The item in the status bar: what is known about the file that is being edited, and a menu with the commands. */

import * as vscode from 'vscode';
import { FileVerdicts, summarize } from './verdicts';

/** The state of the language server. */
export type Condition = 'starting' | 'running' | 'stopped' | 'missing';

/** The item. */
export interface Status extends vscode.Disposable {
  show(condition: Condition): void;
  /** Takes what the server knows about a file. */
  learn(verdicts: FileVerdicts): void;
}

const LOOKS: Record<Condition, { icon: string; text: string }> = {
  starting: { icon: '$(sync~spin)', text: 'the language server is starting' },
  running: { icon: '$(sync~spin)', text: 'the checks have not ended' },
  stopped: { icon: '$(error)', text: 'the language server has stopped' },
  missing: { icon: '$(warning)', text: 'there is no language server' },
};

const CHOICES: readonly (readonly [label: string, command: string])[] = [
  ['$(list-ordered) Choose the number of ranks', 'ccl.chooseRanks'],
  ['$(checklist) Check for several numbers of ranks', 'ccl.checkRanks'],
  ['$(open-preview) Show the elaborated program', 'ccl.showElaborated'],
  ['$(package) Build the execution plan', 'ccl.buildPlan'],
  ['$(file-code) Show the CUDA kernels', 'ccl.showCuda'],
  ['$(debug-restart) Restart the language server', 'ccl.restart'],
  ['$(output) Show the output', 'ccl.showOutput'],
];

/** An item that is shown while a program or plan is being edited. */
export function createStatus(): Status {
  const item = vscode.window.createStatusBarItem('ccl.status', vscode.StatusBarAlignment.Right, 100);
  item.name = 'ccl';
  item.command = 'ccl.showChoices';
  const known = new Map<string, FileVerdicts>();
  let state: Condition = 'starting';

  function draw(): void {
    const editor = vscode.window.activeTextEditor;
    const verdicts = editor && known.get(editor.document.uri.toString());
    item.backgroundColor = errorColor(state);
    if (state === 'running' && verdicts !== undefined) {
      const { icon, text, details } = summarize(verdicts);
      item.text = `$(${icon}) ccl: ${text}`;
      item.tooltip = details.length > 0 ? details.join('\n') : `ccl: ${text}`;
    } else {
      const { icon, text } = LOOKS[state];
      item.text = `${icon} ccl`;
      item.tooltip = `ccl: ${text}`;
    }
    appear(item, editor);
  }

  const parts = [
    item,
    vscode.commands.registerCommand('ccl.showChoices', showChoices),
    vscode.window.onDidChangeActiveTextEditor(draw),
  ];
  draw();
  return {
    show(condition) {
      state = condition;
      if (condition !== 'running') {
        known.clear();
      }
      draw();
    },
    learn(verdicts) {
      const uri = vscode.Uri.parse(verdicts.uri).toString();
      if (verdicts.version === null) {
        known.delete(uri);
      } else {
        known.set(uri, verdicts);
      }
      draw();
    },
    dispose: () => parts.forEach((part) => part.dispose()),
  };
}

function appear(item: vscode.StatusBarItem, editor: vscode.TextEditor | undefined): void {
  if (editor?.document.languageId === 'ccl') {
    item.show();
  } else {
    item.hide();
  }
}

function errorColor(condition: Condition): vscode.ThemeColor | undefined {
  const bad = condition === 'stopped' || condition === 'missing';
  return bad ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
}

async function showChoices(): Promise<void> {
  const choices = CHOICES.map(([label, command]) => ({ label, command }));
  const chosen = await vscode.window.showQuickPick(choices, { title: 'ccl' });
  if (chosen !== undefined) {
    await vscode.commands.executeCommand(chosen.command);
  }
}
