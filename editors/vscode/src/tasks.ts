/** Tasks of the type `ccl`, which run the compiler on a file; the problem matchers find its reports. */

import * as path from 'node:path';
import * as vscode from 'vscode';
import { settingsFor } from './programs';
import { findCompiler, folderOf } from './tools';

/** The definition of a task in `tasks.json`. */
interface Definition extends vscode.TaskDefinition {
  readonly command: string;
  readonly file: string;
  readonly arguments?: readonly string[];
}

/** Provides tasks for the program or plan that is being edited, and those of `tasks.json`. */
export function registerTasks(extension: vscode.ExtensionContext): vscode.Disposable[] {
  const provider: vscode.TaskProvider = {
    provideTasks: () => {
      const compiler = findCompiler(extension);
      const document = vscode.window.activeTextEditor?.document;
      if (compiler === undefined || document?.uri.scheme !== 'file') {
        return [];
      }
      const commands = document.languageId === 'ccl' ? ['check', 'build', 'run'] : planCommands(document);
      const file = vscode.workspace.asRelativePath(document.uri, false);
      return commands.map((command) => {
        const settings = settingsFor(command, document.uri);
        const given = settings.length > 0 ? { arguments: settings } : {};
        return cclTask(compiler, { type: 'ccl', command, file, ...given }, document.uri);
      });
    },
    resolveTask: (task) => {
      const compiler = findCompiler(extension);
      const definition = task.definition as Definition;
      if (compiler === undefined || !definition.command || !definition.file) {
        return undefined;
      }
      return cclTask(compiler, definition, scopeUri(task, definition));
    },
  };
  return [vscode.tasks.registerTaskProvider('ccl', provider)];
}

/** A task for a file. */
export function cclTask(compiler: string, definition: Definition, file: vscode.Uri): vscode.Task {
  const words = [definition.command, '--message-format', 'short', ...(definition.arguments ?? []), definition.file];
  const task = new vscode.Task(
    definition,
    vscode.workspace.getWorkspaceFolder(file) ?? vscode.TaskScope.Workspace,
    `${definition.command} ${path.basename(definition.file)}`,
    'ccl',
    new vscode.ProcessExecution(compiler, words, { cwd: folderOf(file) }),
    ['$cclc', '$cclc-plan'],
  );
  task.group = definition.command === 'build' ? vscode.TaskGroup.Build : undefined;
  return task;
}

function planCommands(document: vscode.TextDocument): string[] {
  return document.languageId === 'json' ? ['verify'] : [];
}

function scopeUri(task: vscode.Task, definition: Definition): vscode.Uri {
  const folder = typeof task.scope === 'object' ? task.scope.uri : vscode.workspace.workspaceFolders?.[0]?.uri;
  const inside = folder && !path.isAbsolute(definition.file);
  return inside ? vscode.Uri.joinPath(folder, definition.file) : vscode.Uri.file(definition.file);
}
