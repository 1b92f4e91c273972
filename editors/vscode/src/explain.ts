/** The compiler's pages about codes: for the code at the cursor, and as the link of every code in a report. */

import * as vscode from 'vscode';
import { findCompiler, needCompiler, runCompiler } from './tools';

/** Documents of this scheme are pages: `ccl-explain:E0501.md`. */
const SCHEME = 'ccl-explain';

const CODE = /\b[EWN]\d{4}\b/;

/** The page of a code. */
export function explainUri(code: string): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `${code}.md` });
}

/** Makes a report's code a link to its page. */
export function linkCode(diagnostic: vscode.Diagnostic): void {
  const code = codeText(diagnostic);
  if (CODE.test(code)) {
    diagnostic.code = { value: code, target: explainUri(code) };
  }
}

/** Registers the pages, and the command that shows one. */
export function registerExplain(extension: vscode.ExtensionContext): vscode.Disposable[] {
  const provider: vscode.TextDocumentContentProvider = {
    provideTextDocumentContent: async (uri) => {
      const compiler = findCompiler(extension);
      const code = CODE.exec(uri.path)?.[0];
      if (compiler === undefined || code === undefined) {
        return 'The compiler, cclc, was not found.';
      }
      const run = await runCompiler(compiler, ['explain', code], uri);
      return run.status === 0 ? run.stdout : run.stderr;
    },
  };
  return [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, provider),
    vscode.commands.registerCommand('ccl.explain', async (given?: unknown) => {
      const code = typeof given === 'string' ? given : (codeAtCursor() ?? (await pickCode(extension)));
      if (code !== undefined) {
        await vscode.commands.executeCommand('markdown.showPreviewToSide', explainUri(code));
      }
    }),
  ];
}

/** The code of a report at the cursor, or one that is written there, as in `#[allow(W0301)]`. */
function codeAtCursor(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return undefined;
  }
  const { document, selection } = editor;
  const word = document.getWordRangeAtPosition(selection.active, CODE);
  if (word !== undefined) {
    return document.getText(word);
  }
  return vscode.languages
    .getDiagnostics(document.uri)
    .filter((diagnostic) => diagnostic.range.intersection(selection) !== undefined)
    .map((diagnostic) => codeText(diagnostic))
    .find((code) => CODE.test(code));
}

function codeText({ code }: vscode.Diagnostic): string {
  return String(typeof code === 'object' ? code.value : (code ?? ''));
}

async function pickCode(extension: vscode.ExtensionContext): Promise<string | undefined> {
  const compiler = needCompiler(extension);
  if (compiler === undefined) {
    return undefined;
  }
  const run = await runCompiler(compiler, ['explain'], vscode.Uri.file(process.cwd()));
  const items = run.stdout
    .split('\n')
    .filter((line) => CODE.test(line))
    .map((line) => ({ label: line.slice(0, 5), description: line.slice(5).trim() }));
  const picked = await vscode.window.showQuickPick(items, { title: 'Which code?', matchOnDescription: true });
  return picked?.label;
}
