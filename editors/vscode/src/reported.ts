/** Prepares the language server's diagnostics for display: their codes become links to pages. */

import * as vscode from 'vscode';
import { vsdiag } from 'vscode-languageclient/node';
import { linkCode } from './explain';

/** The diagnostics of a file. */
export function prepared(diagnostics: vscode.Diagnostic[]): vscode.Diagnostic[] {
  diagnostics.forEach(linkCode);
  return diagnostics;
}

/** The same for a response to a request; one that says that nothing has changed is returned as it is. */
export function prepareReport<R extends vsdiag.DocumentDiagnosticReport>(report: R): R {
  if (report.kind === vsdiag.DocumentDiagnosticReportKind.full) {
    prepared(report.items);
  }
  return report;
}
