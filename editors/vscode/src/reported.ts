/** What the language server reports, made ready to be seen: codes lead to their pages, and the other place that a report
 * speaks of is underlined too. */

import * as vscode from 'vscode';
import { vsdiag } from 'vscode-languageclient/node';
import { linkCode } from './explain';

/** The reports of a file, and an underline for the other place in it that one speaks of. */
export function prepared(uri: vscode.Uri, diagnostics: vscode.Diagnostic[]): vscode.Diagnostic[] {
  diagnostics.forEach(linkCode);
  return [...diagnostics, ...diagnostics.flatMap((diagnostic) => counterparts(uri, diagnostic))];
}

/** The same for an answer of the server; one that says that nothing has changed is left alone. */
export function prepareReport<R extends vsdiag.DocumentDiagnosticReport>(uri: vscode.Uri, report: R): R {
  if (report.kind === vsdiag.DocumentDiagnosticReportKind.full) {
    report.items = prepared(uri, report.items);
  }
  return report;
}

function counterparts(uri: vscode.Uri, diagnostic: vscode.Diagnostic): vscode.Diagnostic[] {
  if (diagnostic.severity !== vscode.DiagnosticSeverity.Error) {
    return [];
  }
  // The first of the other places is the other side; what follows is what lies around.
  const others = (diagnostic.relatedInformation ?? []).slice(0, 1);
  const here = others.filter(
    ({ location }) => location.uri.toString() === uri.toString() && !location.range.isEqual(diagnostic.range),
  );
  return here.map(({ location, message }) => {
    const other = new vscode.Diagnostic(location.range, message, vscode.DiagnosticSeverity.Information);
    other.source = diagnostic.source;
    other.code = diagnostic.code;
    const back = new vscode.Location(uri, diagnostic.range);
    other.relatedInformation = [new vscode.DiagnosticRelatedInformation(back, firstLine(diagnostic.message))];
    return other;
  });
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
