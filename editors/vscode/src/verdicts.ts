/** What the language server knows about the programs of a file, in words. */

/** The server's notification `ccl/verdicts`. */
export interface FileVerdicts {
  readonly uri: string;
  /** The version of the text; null once the file is closed. */
  readonly version: number | null;
  readonly errors: number;
  readonly programs: readonly Verdict[];
}

/** The verdict about a program. */
export interface Verdict {
  readonly name: string;
  readonly verdict: 'proved' | 'open' | 'wrong';
  /** For how many ranks it is proved. */
  readonly ranks: number | null;
}

/** What a status item shows. */
export interface Shown {
  readonly icon: 'check' | 'error' | 'question' | 'circle-slash';
  readonly text: string;
  /** A line for each program. */
  readonly details: readonly string[];
}

/** A file's verdict: its errors, or what is proved. */
export function summarize({ errors, programs }: FileVerdicts): Shown {
  const details = programs.map(({ name, ...one }) => `${name}: ${words(one)}`);
  if (errors > 0) {
    return { icon: 'error', text: `${errors} error${errors > 1 ? 's' : ''}`, details };
  }
  const [first, ...others] = programs;
  if (first === undefined) {
    return { icon: 'circle-slash', text: 'no program', details };
  }
  const open = programs.find(({ verdict }) => verdict !== 'proved');
  if (open !== undefined) {
    return { icon: 'question', text: words(open), details };
  }
  const same = others.every(({ ranks }) => ranks === first.ranks);
  const text = same ? words(first) : `${programs.length} programs proved`;
  return { icon: 'check', text, details };
}

function words({ verdict, ranks }: Omit<Verdict, 'name'>): string {
  switch (verdict) {
    case 'proved':
      return `proved for ${ranks}`;
    case 'open':
      return 'not fully checked';
    case 'wrong':
      return 'wrong';
  }
}
