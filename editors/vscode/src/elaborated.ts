/** The elaborated program beside its source: loops unrolled, every rank's operations, and selections that go both ways. */

import * as vscode from 'vscode';
import { Dump, linesFrom, parseDump, placesOf } from './links';
import { targetOf } from './programs';
import type { SourcePlace } from './reports';
import { needCompiler, runCompiler } from './tools';

/** Documents of this scheme are elaborated programs; the path is the source's, with a mark behind it. */
const SCHEME = 'ccl-elaborated';

/** An elaborated program that is shown. */
interface View {
  readonly source: vscode.Uri;
  readonly words: string[];
  text: string;
  dump: Dump | undefined;
}

/** Provides the command and keeps the views fresh. */
export function registerElaborated(
  extension: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
): vscode.Disposable[] {
  const views = new Map<string, View>();
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const mark = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor('editor.wordHighlightStrongBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.wordHighlightStrongForeground'),
    isWholeLine: true,
  });

  async function refresh(uri: vscode.Uri, view: View): Promise<void> {
    const compiler = needCompiler(extension);
    if (compiler === undefined) {
      return;
    }
    const words = ['dump', '--format', 'json', '--message-format', 'short', ...view.words, view.source.fsPath];
    const run = await runCompiler(compiler, words, view.source);
    output.debug([compiler, ...words].join(' '));
    view.dump = run.status === 0 ? parseDump(run.stdout) : undefined;
    view.text = view.dump?.text ?? failure(run.stderr);
    changed.fire(uri);
  }

  async function show(...named: unknown[]): Promise<void> {
    const target = await targetOf(...named);
    if (target === undefined) {
      return;
    }
    const source = target.document.uri;
    const uri = source.with({ scheme: SCHEME, path: `${source.path.replace(/\.ccl$/, '')} (elaborated).ccl` });
    const view: View = {
      source,
      words: target.words,
      text: '',
      dump: undefined,
    };
    views.set(uri.toString(), view);
    await refresh(uri, view);
    const document = await vscode.workspace.openTextDocument(uri);
    const shown = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false };
    await vscode.window.showTextDocument(document, shown);
    visible(source.toString()).forEach((editor) => select(editor, views, mark));
  }

  return [
    changed,
    mark,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: changed.event,
      provideTextDocumentContent: (uri) => views.get(uri.toString())?.text ?? '',
    }),
    vscode.commands.registerCommand('ccl.showElaborated', show),
    vscode.workspace.onDidSaveTextDocument((document) => {
      const stale = [...views].filter(([, view]) => view.source.toString() === document.uri.toString());
      stale.forEach(([uri, view]) => void refresh(vscode.Uri.parse(uri, true), view));
    }),
    vscode.workspace.onDidCloseTextDocument((document) => views.delete(document.uri.toString())),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
      if (kind !== undefined) {
        select(textEditor, views, mark);
      }
    }),
  ];
}

/** Marks, on the other side, what belongs to a selection. */
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
  for (const [elaborated, { source, dump }] of views) {
    if (source.toString() === uri && dump !== undefined) {
      const { start, end } = editor.selection;
      const lines = linesFrom(dump, source.fsPath, start.line, end.line);
      visible(elaborated).forEach((other) => markLines(other, lines, mark));
    }
  }
}

function selectSources(editor: vscode.TextEditor, view: View, mark: vscode.TextEditorDecorationType): void {
  if (view.dump === undefined) {
    return;
  }
  const { start, end } = editor.selection;
  const places = placesOf(view.dump, start.line, end.line);
  for (const other of visible(view.source.toString())) {
    const lines = places.filter((place) => place.file === view.source.fsPath).flatMap(linesOf);
    markLines(other, lines, mark);
  }
}

function linesOf(place: SourcePlace): number[] {
  return Array.from({ length: place.end_line - place.line + 1 }, (_, index) => place.line - 1 + index);
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

function failure(stderr: string): string {
  const lines = stderr.trimEnd().split('\n');
  return ['There is nothing to show, since the program has errors:', '', ...lines].map((line) => `// ${line}`).join('\n');
}
