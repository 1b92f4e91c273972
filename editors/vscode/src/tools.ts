/** Finds the language server and the compiler, and runs the compiler. */

import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';

/** The result of a run of the compiler. */
export interface Run {
  /** The exit status; see docs/diagnostics.md. Undefined if it could not be started or was killed. */
  readonly status: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run that takes longer is killed. */
const TIME_LIMIT_MS = 120_000;

/** The most output that the compiler may print. */
const OUTPUT_LIMIT_BYTES = 256 << 20;

/** The language server's path, or undefined if there is none. */
export function findServer(extension: vscode.ExtensionContext): string | undefined {
  return configured('server.path') ?? bundled(extension, 'ccl-lsp') ?? onPath('ccl-lsp');
}

/** The compiler's path, or undefined if there is none. */
export function findCompiler(extension: vscode.ExtensionContext): string | undefined {
  return configured('compiler.path') ?? besideServer() ?? bundled(extension, 'cclc') ?? onPath('cclc');
}

/** Runs the compiler in the folder to which a file's imports are confined. */
export function runCompiler(compiler: string, words: string[], file: vscode.Uri, input?: string): Promise<Run> {
  const options = { cwd: folderOf(file), timeout: TIME_LIMIT_MS, maxBuffer: OUTPUT_LIMIT_BYTES };
  return new Promise((resolve) => {
    const child = execFile(compiler, words, options, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined;
      resolve({ status, stdout, stderr: status === undefined ? `${error?.message}\n${stderr}` : stderr });
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input ?? '');
  });
}

/** The compiler, or undefined after a message that it was not found. */
export function needCompiler(extension: vscode.ExtensionContext): string | undefined {
  const compiler = findCompiler(extension);
  if (compiler === undefined) {
    void offerSettings('The compiler, cclc, was not found.', 'ccl.compiler.path');
  }
  return compiler;
}

/** Shows a message with a button that opens a setting. */
export async function offerSettings(message: string, setting: string): Promise<void> {
  const open = 'Open Settings';
  if ((await vscode.window.showErrorMessage(message, open)) === open) {
    await vscode.commands.executeCommand('workbench.action.openSettings', setting);
  }
}

/** The folder that a file belongs to: that of the workspace, or else the file's own. */
export function folderOf(file: vscode.Uri): string {
  return vscode.workspace.getWorkspaceFolder(file)?.uri.fsPath ?? path.dirname(file.fsPath);
}

function configured(setting: string): string | undefined {
  const value = vscode.workspace.getConfiguration('ccl').get<string>(setting, '').trim();
  if (value === '') {
    return undefined;
  }
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
  return value.replace(/^~(?=\/|$)/, homedir()).replaceAll('${workspaceFolder}', folder);
}

function besideServer(): string | undefined {
  const server = configured('server.path');
  return server && runnable(path.join(path.dirname(server), executable('cclc')));
}

function bundled(extension: vscode.ExtensionContext, name: string): string | undefined {
  return runnable(extension.asAbsolutePath(path.join('server', executable(name))));
}

function onPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => runnable(path.join(folder, executable(name)))).find((found) => found !== undefined);
}

function executable(name: string): string {
  return process.platform === 'win32' ? `${name}.exe` : name;
}

function runnable(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK);
    return file;
  } catch {
    return undefined;
  }
}
