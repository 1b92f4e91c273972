/**
 * The elaborated program next to its source: loops unrolled, every rank's operations, and selections that are shown on
 * both sides. It follows the text in the editor, saved or not.
 */

import * as vscode from 'vscode';
import { Elaborated, linesFrom, Place, placesOf } from './links';
import { programOf } from './programs';
import type { Server } from './server';

/** Documents of this scheme are elaborated programs; the path is that of the source, with a suffix. */
const SCHEME = 'ccl-elaborated';

/** How long nothing must have been typed before the view is updated. */
const REST_MS = 150;

/** An elaborated program that is being shown. */
interface View {
  readonly source: vscode.Uri;
  readonly program: string | undefined;
  text: string;
  elaborated: Elaborated | undefined;
}

/** Registers the command and keeps the views up to date. */
export function registerElaborated(server: Server): vscode.Disposable[] {
  const views = new Map<string, View>();
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const mark = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor('editor.wordHighlightStrongBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.wordHighlightStrongForeground'),
    isWholeLine: true,
  });
  let rest: NodeJS.Timeout | undefined;

  async function refresh(uri: vscode.Uri, view: View): Promise<void> {
    view.elaborated = await ask(server, view);
    // While the source has errors, the previous text is more useful than none.
    const text = view.elaborated?.text ?? (view.text.startsWith(NOTHING) || view.text === '' ? NOTHING : view.text);
    if (text !== view.text) {
      view.text = text;
      changed.fire(uri);
    }
  }

  async function show(...named: unknown[]): Promise<void> {
    const target = await programOf(...named);
    if (target === undefined) {
      return;
    }
    const source = target.document.uri;
    const uri = source.with({ scheme: SCHEME, path: `${source.path.replace(/\.ccl$/, '')} (elaborated).ccl` });
    const view: View = { source, program: target.program?.name, text: '', elaborated: undefined };
    views.set(uri.toString(), view);
    await refresh(uri, view);
    const document = await vscode.workspace.openTextDocument(uri);
    const shown = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false };
    await vscode.window.showTextDocument(document, shown);
    visible(source.toString()).forEach((editor) => select(editor, views, mark));
  }

  function follow({ document }: vscode.TextDocumentChangeEvent): void {
    if (document.languageId === 'ccl' && document.uri.scheme !== SCHEME) {
      refreshSoon();
    }
  }

  function refreshSoon(): void {
    clearTimeout(rest);
    rest = setTimeout(() => views.forEach((view, uri) => void refresh(vscode.Uri.parse(uri, true), view)), REST_MS);
  }

  return [
    changed,
    mark,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: changed.event,
      provideTextDocumentContent: (uri) => views.get(uri.toString())?.text ?? '',
    }),
    vscode.commands.registerCommand('ccl.showElaborated', show),
    vscode.workspace.onDidChangeTextDocument(follow),
    vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration('ccl') && refreshSoon()),
    vscode.workspace.onDidCloseTextDocument((document) => views.delete(document.uri.toString())),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
      if (kind !== undefined) {
        select(textEditor, views, mark);
      }
    }),
  ];
}

/** Highlights, on the other side, the lines that belong to a selection. */
function select(
  editor: vscode.TextEditor,
  views: ReadonlyMap<string, View>,
  mark: vscode.TextEditorDecorationType,
): void {
  const uri = editor.document.uri.toString();
  const view = views.get(uri);
  if (view !== undefined) {
    selectSources(editor, view, mark);
  }
  for (const [shown, { source, elaborated }] of views) {
    if (source.toString() === uri && elaborated !== undefined) {
      const { start, end } = editor.selection;
      const lines = linesFrom(elaborated, uri, start.line, end.line);
      visible(shown).forEach((other) => markLines(other, lines, mark));
    }
  }
}

function selectSources(editor: vscode.TextEditor, view: View, mark: vscode.TextEditorDecorationType): void {
  if (view.elaborated === undefined) {
    return;
  }
  const { start, end } = editor.selection;
  const source = view.source.toString();
  const places = placesOf(view.elaborated, start.line, end.line).filter((place) => place.uri === source);
  visible(source).forEach((other) => markLines(other, places.flatMap(linesOf), mark));
}

function linesOf({ range: { start, end } }: Place): number[] {
  return Array.from({ length: end.line - start.line + 1 }, (_, index) => start.line + index);
}

function markLines(editor: vscode.TextEditor, lines: number[], mark: vscode.TextEditorDecorationType): void {
  const ranges = lines.map((line) => new vscode.Range(line, 0, line, 0));
  editor.setDecorations(mark, ranges);
  const seen = editor.visibleRanges.some((shown) => ranges.some((range) => shown.contains(range)));
  if (ranges[0] !== undefined && !seen) {
    editor.revealRange(ranges[0], vscode.TextEditorRevealType.InCenter);
  }
}

function visible(uri: string): vscode.TextEditor[] {
  return vscode.window.visibleTextEditors.filter((editor) => editor.document.uri.toString() === uri);
}

const NOTHING = '// There is nothing to show: the program has errors, or too many operations to be read.\n';

/** The server's answer, for the current text. */
async function ask(server: Server, { source, program }: View): Promise<Elaborated | undefined> {
  const about = { textDocument: { uri: source.toString() }, program };
  const answer = await server.request<Elaborated | null>('ccl/elaborated', about);
  // URIs in a single form, whoever wrote them.
  const plain = (place: Place) => ({ ...place, uri: vscode.Uri.parse(place.uri).toString() });
  return answer ? { ...answer, places: answer.places.map(plain) } : undefined;
}
