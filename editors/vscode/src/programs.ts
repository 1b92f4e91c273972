/** Finds the program of a file that a command refers to. */

import * as vscode from 'vscode';
import { directives, parameterNames } from './directives';

/** The names of a text's programs, with the lines on which they begin, from 0. */
export function programsOf(text: string): { name: string; line: number }[] {
  return text.split('\n').flatMap((content, line) => {
    const name = /^\s*program\s+([A-Za-z_][A-Za-z0-9_]*)/.exec(content)?.[1];
    return name === undefined ? [] : [{ name, line }];
  });
}

/** The file, and the program in it, that a command refers to; no program if the file has none. */
export interface Meant {
  readonly document: vscode.TextDocument;
  readonly program: { readonly name: string; readonly line: number } | undefined;
}

/** A program to run the compiler on. */
export interface Target {
  readonly document: vscode.TextDocument;
  /** The arguments for the compiler that select it and set its parameters. */
  readonly words: string[];
}

/** The program that a lens names, or the one at the cursor; undefined after a message if there is none. */
export async function programOf(file?: unknown, name?: unknown): Promise<Meant | undefined> {
  const named = typeof file === 'string' ? await vscode.workspace.openTextDocument(vscode.Uri.parse(file)) : undefined;
  const editor = vscode.window.activeTextEditor;
  const document = named ?? editor?.document;
  if (document?.languageId !== 'ccl') {
    void vscode.window.showInformationMessage('Open a ccl program first.');
    return undefined;
  }
  const programs = programsOf(document.getText());
  const line = editor?.document === document ? editor.selection.active.line : 0;
  const program =
    programs.find((program) => program.name === name) ??
    programs.filter((program) => program.line <= line).at(-1) ??
    programs[0];
  return { document, program };
}

/** The arguments that the settings give to a command of the compiler, besides parameters. */
export function settingsFor(command: string, file: vscode.Uri): string[] {
  const target = command === 'check' || command === 'run' ? argumentOf('target', file) : [];
  // All kernels run in the same way.
  const form = command === 'run' && target.length > 0 ? ['--target', 'cuda'] : target;
  return [...argumentOf('sms', file), ...form];
}

/** The argument for a setting, unless it is the default, which the compiler has, too. */
function argumentOf(setting: string, file: vscode.Uri): string[] {
  const settings = vscode.workspace.getConfiguration('ccl', file);
  const value = settings.get(setting);
  return value === settings.inspect(setting)?.defaultValue ? [] : [`--${setting}`, String(value)];
}

/** Like `programOf`, but saved, because the compiler reads files. */
export async function targetOf(...named: unknown[]): Promise<Target | undefined> {
  const meant = await programOf(...named);
  if (meant === undefined) {
    return undefined;
  }
  const { document, program } = meant;
  if (document.isDirty || document.uri.scheme === 'untitled') {
    await document.save();
  }
  if (document.uri.scheme !== 'file') {
    return undefined;
  }
  const choice = program && programsOf(document.getText()).length > 1 ? ['--program', program.name] : [];
  const given = program ? parameters(document, program.line) : [];
  return { document, words: [...choice, ...given] };
}

/** The parameters in the settings that a program has; comments above it override them, such as `// ccl: ranks=16`. */
function parameters(document: vscode.TextDocument, line: number): string[] {
  const lines = document.getText().split('\n');
  const names = parameterNames(lines, line);
  const given = vscode.workspace.getConfiguration('ccl', document.uri).get<Record<string, unknown>>('parameters', {});
  const known = Object.entries(given).filter(([name]) => names.includes(name));
  const settings = new Map(known.map(([name, value]) => [name, String(value)]));
  directives(lines, line).forEach(([name, value]) => settings.set(name, value));
  return [...settings].flatMap(([name, value]) => ['-D', `${name}=${value}`]);
}
