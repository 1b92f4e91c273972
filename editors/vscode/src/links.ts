/** A dump as JSON, and which of its lines belong to which lines of the source. */

import type { SourcePlace } from './reports';

/** What `cclc dump --format json` writes. */
export interface Dump {
  readonly version: number;
  readonly text: string;
  readonly links: readonly Link[];
}

/** A line of a dump, from 1, its statement, and the calls that led there. */
export interface Link {
  readonly line: number;
  readonly places: readonly SourcePlace[];
}

/** The lines of the dump, from 0, that come from a line of a file, from 0, by a statement or a call there. */
export function linesFrom(dump: Dump, file: string, first: number, last: number): number[] {
  const covers = (place: SourcePlace) => place.file === file && place.line - 1 <= last && first <= place.end_line - 1;
  return dump.links.filter((link) => link.places.some(covers)).map((link) => link.line - 1);
}

/** The places that lines of the dump come from, from 0, the statements before the calls, each once. */
export function placesOf(dump: Dump, first: number, last: number): SourcePlace[] {
  const links = dump.links.filter((link) => first <= link.line - 1 && link.line - 1 <= last);
  const places = [...links.map((link) => link.places[0]), ...links.flatMap((link) => link.places.slice(1))];
  const seen = new Set<string>();
  return places.filter((place): place is SourcePlace => {
    const key = place && `${place.file}:${place.line}:${place.column}`;
    return key !== undefined && !seen.has(key) && seen.add(key) !== undefined;
  });
}

/** A dump from what the compiler wrote, or undefined where it is none. */
export function parseDump(text: string): Dump | undefined {
  try {
    const dump = JSON.parse(text) as Dump;
    return dump.version === 1 ? dump : undefined;
  } catch {
    return undefined;
  }
}
