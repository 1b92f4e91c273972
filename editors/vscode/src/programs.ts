/** Which program of a file a command is about. */

import * as vscode from 'vscode';

/** The names of a text's programs with the lines on which they begin, from 0. */
export function programsOf(text: string): { name: string; line: number }[] {
  return text.split('\n').flatMap((content, line) => {
    const name = /^\s*program\s+([A-Za-z_][A-Za-z0-9_]*)/.exec(content)?.[1];
    return name === undefined ? [] : [{ name, line }];
  });
}

/**
 * The words that say which program of a file is meant, the one at the cursor, and with which parameters: those of the
 * settings that it has, overruled by a comment above it, as `// ccl: ranks=16`.
 */
export function programWords(editor: vscode.TextEditor): string[] {
  const { document, selection } = editor;
  const programs = programsOf(document.getText());
  const here = programs.filter(({ line }) => line <= selection.active.line).at(-1) ?? programs[0];
  if (here === undefined) {
    return [];
  }
  const choice = programs.length > 1 ? ['--program', here.name] : [];
  const lines = document.getText().split('\n');
  const header = lines.slice(here.line).join('\n').split('{', 1)[0] ?? '';
  const given = vscode.workspace.getConfiguration('ccl', document.uri).get<Record<string, unknown>>('parameters', {});
  const known = Object.entries(given).filter(([name]) => /^\w+$/.test(name) && new RegExp(`\\b${name}\\b`).test(header));
  const settings = new Map(known.map(([name, value]) => [name, String(value)]));
  directive(lines, here.line).forEach(([name, value]) => settings.set(name, value));
  return [...choice, ...[...settings].flatMap(([name, value]) => ['-D', `${name}=${value}`])];
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

/** The editor of a program that is saved, or undefined after a message. */
export async function savedProgram(): Promise<vscode.TextEditor | undefined> {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== 'ccl') {
    void vscode.window.showInformationMessage('Open a ccl program first.');
    return undefined;
  }
  if (editor.document.uri.scheme !== 'file' || editor.document.isDirty) {
    await editor.document.save();
  }
  return editor.document.uri.scheme === 'file' ? editor : undefined;
}
