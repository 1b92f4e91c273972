/** Which program of a file a command is about. */

import * as vscode from 'vscode';

/** The names of a text's programs with the lines on which they begin, from 0. */
export function programsOf(text: string): { name: string; line: number }[] {
  return text.split('\n').flatMap((content, line) => {
    const name = /^\s*program\s+([A-Za-z_][A-Za-z0-9_]*)/.exec(content)?.[1];
    return name === undefined ? [] : [{ name, line }];
  });
}

/** A program that a command is about; none where its file has none. */
export interface Meant {
  readonly document: vscode.TextDocument;
  readonly program: { readonly name: string; readonly line: number } | undefined;
}

/** A program that the compiler is run on. */
export interface Target {
  readonly document: vscode.TextDocument;
  /** What says so on the compiler's command line, with the program's parameters. */
  readonly words: string[];
}

/** The program that is meant, or undefined after a message: what a lens names by file and name, or that at the cursor. */
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

/** The same for the compiler, which reads files: saved. */
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
  return { document, words: [...choice, ...(program ? parameters(document, program.line) : [])] };
}

/** The settings' parameters that a program has, overruled by a comment above it, as `// ccl: ranks=16`. */
function parameters(document: vscode.TextDocument, line: number): string[] {
  const lines = document.getText().split('\n');
  const header = lines.slice(line).join('\n').split('{', 1)[0] ?? '';
  const given = vscode.workspace.getConfiguration('ccl', document.uri).get<Record<string, unknown>>('parameters', {});
  const known = Object.entries(given).filter(
    ([name]) => /^\w+$/.test(name) && new RegExp(`\\b${name}\\b`).test(header),
  );
  const settings = new Map(known.map(([name, value]) => [name, String(value)]));
  directive(lines, line).forEach(([name, value]) => settings.set(name, value));
  return [...settings].flatMap(([name, value]) => ['-D', `${name}=${value}`]);
}

/** What the comment `// ccl: ..` says that stands above a line, among documentation and attributes. */
function directive(lines: string[], line: number): [name: string, value: string][] {
  for (let above = line - 1; above >= 0 && /^\s*(\/\/|#\[)/.test(lines[above] ?? ''); above -= 1) {
    const said = /^\/\/ ccl:(.*)$/.exec(lines[above] ?? '')?.[1];
    if (said !== undefined) {
      return topLevel(said).map((setting) => {
        const [name = '', ...value] = setting.split('=');
        return [name.trim(), value.join('=').trim()];
      });
    }
  }
  return [];
}

/** The parts between commas that stand in no brackets. */
function topLevel(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of text) {
    depth += '([{'.includes(character) ? 1 : ')]}'.includes(character) ? -1 : 0;
    if (character === ',' && depth === 0) {
      parts.push('');
    } else {
      parts[parts.length - 1] += character;
    }
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}
