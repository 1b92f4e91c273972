/**
 * Reads a program's parameters, and the comments above it that set them, such as `// ccl: ranks=16`, as the language
 * server does.
 */

/** The parameters in all such comments above a line, among documentation and attributes, from top to bottom. */
export function directives(lines: string[], line: number): [name: string, value: string][] {
  const found: [name: string, value: string][] = [];
  for (let above = line - 1; above >= 0 && /^\s*(\/\/|#\[)/.test(lines[above] ?? ''); above -= 1) {
    const settings = /^\/\/ ccl:(.*)$/.exec(lines[above]?.trimEnd() ?? '')?.[1];
    found.unshift(...topLevel(settings ?? '').map(assignment));
  }
  return found;
}

/** The names of the parameters of the program that begins on a line, whether they have types or not. */
export function parameterNames(lines: string[], line: number): string[] {
  const text = lines.slice(line).map((content) => content.replace(/\/\/.*$/, '')).join('\n');
  const start = text.indexOf('(') + 1;
  let end = start;
  for (let depth = 1; end < text.length && depth > 0; end += 1) {
    depth += nesting(text.charAt(end));
  }
  return topLevel(text.slice(start, end - 1)).flatMap((parameter) => /^\w+/.exec(parameter) ?? []);
}

function assignment(setting: string): [name: string, value: string] {
  const [name = '', ...value] = setting.split('=');
  return [name.trim(), value.join('=').trim()];
}

/** The parts between commas that are not inside brackets. */
function topLevel(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of text) {
    depth += nesting(character);
    if (character === ',' && depth === 0) {
      parts.push('');
    } else {
      parts[parts.length - 1] += character;
    }
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function nesting(character: string): number {
  return '([{'.includes(character) ? 1 : ')]}'.includes(character) ? -1 : 0;
}
