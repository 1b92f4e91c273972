/** What the language server reports, made ready to be seen: codes lead to their pages. */

import * as vscode from 'vscode';
import { vsdiag } from 'vscode-languageclient/node';
import { linkCode } from './explain';

/** The reports of a file. */
export function prepared(diagnostics: vscode.Diagnostic[]): vscode.Diagnostic[] {
  diagnostics.forEach(linkCode);
  return diagnostics;
}

/** The same for an answer of the server; one that says that nothing has changed is left alone. */
export function prepareReport<R extends vsdiag.DocumentDiagnosticReport>(report: R): R {
  if (report.kind === vsdiag.DocumentDiagnosticReportKind.full) {
    prepared(report.items);
  }
  return report;
}
