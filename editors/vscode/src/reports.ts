/** Reports of `cclc --message-format json`, as `docs/diagnostics.md` of the compiler defines them. */

/** A place in source text. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly end_line: number;
  readonly end_column: number;
}

/** A place in a plan, or the whole plan. */
export interface PlanPlace {
  readonly file: string;
  readonly rank: number | null;
  readonly block: number | null;
  readonly operation: number | null;
}

/** A place with its label. */
export type LabeledPlace = (SourcePlace | PlanPlace) & { readonly label: string };

/** A report. */
export interface Report {
  readonly version: number;
  readonly code: string;
  readonly severity: 'error' | 'warning' | 'note';
  readonly message: string;
  readonly primary: LabeledPlace | null;
  readonly secondary: readonly LabeledPlace[];
  readonly notes: readonly string[];
  readonly helps: readonly string[];
}

/** The version of the format that this code understands. */
const VERSION = 1;

/** Whether a place is in source text. */
export function isSource(place: SourcePlace | PlanPlace): place is SourcePlace {
  return 'line' in place;
}

/** The reports in the lines of standard error. */
export function parseReports(stderr: string): Report[] {
  return stderr.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) {
      return [];
    }
    try {
      const report = JSON.parse(line) as Report;
      return report.version === VERSION ? [report] : [];
    } catch {
      return [];
    }
  });
}

/** The whole report as text. */
export function reportText(report: Report): string {
  const notes = report.notes.map((note) => `\nnote: ${note}`);
  const helps = report.helps.map((help) => `\nhelp: ${help}`);
  return [report.message, ...notes, ...helps].join('');
}
