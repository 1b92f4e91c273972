/** Plans in JSON get the reports of `cclc verify`: when they are opened, when they are saved, and on request. */

import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Node } from 'jsonc-parser';
import { explainUri } from './explain';
import { extentOf, looksLikePlan, planTree } from './planTree';
import { settingsFor } from './programs';
import { isSource, LabeledPlace, parseReports, Report, reportText } from './reports';
import { findCompiler, folderOf, needCompiler, runCompiler } from './tools';

/** Starts verifying plans. */
export function registerPlans(
  extension: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
): vscode.Disposable[] {
  const found = vscode.languages.createDiagnosticCollection('cclc verify');

  async function verify(document: vscode.TextDocument, compiler: string | undefined): Promise<Report[] | undefined> {
    if (compiler === undefined) {
      return undefined;
    }
    const version = document.version;
    const text = document.getText();
    // If the plan is read from its file, cclc finds the map next to it, and the reports name the
    // source.
    const input = document.isDirty || document.uri.scheme !== 'file' ? '-' : document.uri.fsPath;
    const words = ['verify', '--message-format', 'json', ...settingsFor('verify', document.uri), input];
    const run = await runCompiler(compiler, words, document.uri, text);
    if (run.status !== 0 && run.status !== 1) {
      output.error(`cclc verify: ${run.stderr}`);
      return undefined;
    }
    const reports = parseReports(run.stderr);
    if (!document.isClosed && document.version === version) {
      found.set(document.uri, diagnosticsOf(document, reports));
    }
    return reports;
  }

  const whenOn = (document: vscode.TextDocument) => {
    const on = vscode.workspace.getConfiguration('ccl', document.uri).get<boolean>('verifyPlans', true);
    if (on && isPlan(document)) {
      void verify(document, findCompiler(extension));
    } else {
      found.delete(document.uri);
    }
  };

  vscode.workspace.textDocuments.forEach(whenOn);
  return [
    found,
    vscode.workspace.onDidOpenTextDocument(whenOn),
    vscode.workspace.onDidSaveTextDocument(whenOn),
    vscode.workspace.onDidCloseTextDocument((document) => found.delete(document.uri)),
    vscode.commands.registerCommand('ccl.verifyPlan', () => verifyActive(extension, verify)),
  ];
}

async function verifyActive(
  extension: vscode.ExtensionContext,
  verify: (document: vscode.TextDocument, compiler: string | undefined) => Promise<Report[] | undefined>,
): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined || !isJson(document)) {
    void vscode.window.showInformationMessage('Open an execution plan first.');
    return;
  }
  const compiler = needCompiler(extension);
  const reports = compiler && (await verify(document, compiler));
  if (!reports) {
    return;
  }
  const errors = reports.filter((report) => report.severity === 'error').length;
  if (errors === 0) {
    void vscode.window.showInformationMessage('The plan is verified: no race, no deadlock, no wrong result.');
  } else {
    await vscode.commands.executeCommand('workbench.actions.view.problems');
  }
}

function isJson(document: vscode.TextDocument): boolean {
  return document.languageId === 'json' || document.languageId === 'jsonc';
}

function isPlan(document: vscode.TextDocument): boolean {
  return isJson(document) && document.uri.scheme === 'file' && looksLikePlan(document.getText());
}

/** The reports of a run of the compiler on a plan or program, for that file. */
export function diagnosticsOf(document: vscode.TextDocument, reports: Report[]): vscode.Diagnostic[] {
  const tree = isJson(document) ? planTree(document.getText()) : undefined;
  return reports.map((report) => {
    const at = report.primary && locate(document, tree, report.primary);
    const range = at?.uri === document.uri ? at.range : new vscode.Range(0, 0, 0, 1);
    const diagnostic = new vscode.Diagnostic(range, reportText(report), severity(report));
    diagnostic.source = 'cclc';
    diagnostic.code = { value: report.code, target: explainUri(report.code) };
    diagnostic.relatedInformation = report.secondary.map(
      (place) => new vscode.DiagnosticRelatedInformation(locate(document, tree, place), place.label),
    );
    return diagnostic;
  });
}

function severity(report: Report): vscode.DiagnosticSeverity {
  switch (report.severity) {
    case 'error':
      return vscode.DiagnosticSeverity.Error;
    case 'warning':
      return vscode.DiagnosticSeverity.Warning;
    case 'note':
      return vscode.DiagnosticSeverity.Information;
  }
}

/** The location of a place: in the plan, or in a source file that the plan was built from. */
function locate(document: vscode.TextDocument, tree: Node | undefined, place: LabeledPlace): vscode.Location {
  if (!isSource(place)) {
    const { offset, length } = extentOf(tree, place) ?? { offset: 0, length: 1 };
    const range = new vscode.Range(document.positionAt(offset), document.positionAt(offset + length));
    return new vscode.Location(document.uri, range);
  }
  const range = new vscode.Range(place.line - 1, place.column - 1, place.end_line - 1, place.end_column - 1);
  const file = path.resolve(folderOf(document.uri), place.file);
  const here = place.file === '<stdin>' || file === document.uri.fsPath;
  return new vscode.Location(here ? document.uri : vscode.Uri.file(file), range);
}
