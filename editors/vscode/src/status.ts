/** The item in the status bar: the state of the language server, and a menu with the commands. */

import * as vscode from 'vscode';

/** The state of the language server. */
export type Condition = 'starting' | 'running' | 'stopped' | 'missing';

/** The item. */
export interface Status extends vscode.Disposable {
  show(condition: Condition): void;
}

const LOOKS: Record<Condition, { icon: string; text: string }> = {
  starting: { icon: '$(sync~spin)', text: 'the language server is starting' },
  running: { icon: '$(check)', text: 'the language server is running' },
  stopped: { icon: '$(error)', text: 'the language server has stopped' },
  missing: { icon: '$(warning)', text: 'there is no language server' },
};

const CHOICES: readonly (readonly [label: string, command: string])[] = [
  ['$(debug-restart) Restart the language server', 'ccl.restart'],
  ['$(open-preview) Show the elaborated program', 'ccl.showElaborated'],
  ['$(package) Build the execution plan', 'ccl.buildPlan'],
  ['$(output) Show the output', 'ccl.showOutput'],
];

/** An item that is shown while a program or plan is being edited. */
export function createStatus(): Status {
  const item = vscode.window.createStatusBarItem('ccl.status', vscode.StatusBarAlignment.Right, 100);
  item.name = 'ccl';
  item.command = 'ccl.showChoices';
  const parts = [
    item,
    vscode.commands.registerCommand('ccl.showChoices', showChoices),
    vscode.window.onDidChangeActiveTextEditor((editor) => appear(item, editor)),
  ];
  appear(item, vscode.window.activeTextEditor);
  return {
    show(condition) {
      const { icon, text } = LOOKS[condition];
      item.text = `${icon} ccl`;
      item.tooltip = `ccl: ${text}`;
      item.backgroundColor = errorColor(condition);
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
