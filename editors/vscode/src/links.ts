/** An elaborated program, and the mapping between its lines and those of the source. */

/** The language server's answer to `ccl/elaborated`. */
export interface Elaborated {
  readonly text: string;
  /** The source locations of the lines. */
  readonly places: readonly Place[];
  readonly links: readonly Link[];
}

/** A place in a source file. */
export interface Place {
  readonly uri: string;
  readonly range: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
}

/** A line of the text, from 0, with its statement and the calls that led there, as indices into the list of places. */
export interface Link {
  readonly line: number;
  readonly places: readonly number[];
}

/** The lines of the text that come from a range of lines of a file, by a statement or a call there. */
export function linesFrom(program: Elaborated, uri: string, first: number, last: number): number[] {
  const covers = program.places.map(
    ({ uri: file, range }) => file === uri && range.start.line <= last && first <= range.end.line,
  );
  return program.links.filter((link) => link.places.some((place) => covers[place])).map((link) => link.line);
}

/** The places that lines of the text come from, statements before calls, each once. */
export function placesOf(program: Elaborated, first: number, last: number): Place[] {
  const links = program.links.filter((link) => first <= link.line && link.line <= last);
  const places = [...links.flatMap((link) => link.places.slice(0, 1)), ...links.flatMap((link) => link.places.slice(1))];
  return [...new Set(places)].flatMap((place) => program.places[place] ?? []);
}
