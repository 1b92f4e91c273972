// Tests the TextMate grammar with the library that VS Code reads it with.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';

const require = createRequire(import.meta.url);
const oniguruma = require('vscode-oniguruma');
const textmate = require('vscode-textmate');
const ROOT = path.resolve(import.meta.dirname, '../../..');

const wasm = readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm'));
const onigLib = oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length)).then(() => ({
  createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
  createOnigString: (text) => new oniguruma.OnigString(text),
}));
const INJECTED = 'markdown.ccl.codeblock';
const read = (file) => textmate.parseRawGrammar(readFileSync(path.join(ROOT, file), 'utf8'), file);
const grammars = {
  'source.ccl': () => read('grammar/ccl.tmLanguage.json'),
  [INJECTED]: () => read('editors/vscode/syntaxes/markdown.tmLanguage.json'),
  // In place of VS Code's grammar for Markdown.
  'text.html.markdown': () => textmate.parseRawGrammar('{"scopeName": "text.html.markdown", "patterns": []}', 'm.json'),
};
const registry = new textmate.Registry({
  onigLib,
  loadGrammar: async (scope) => grammars[scope]?.(),
  getInjections: (scope) => (scope === 'text.html.markdown' ? [INJECTED] : undefined),
});
const grammar = await registry.loadGrammar('source.ccl');

/** The pieces of a text with their innermost scopes. */
function pieces(text, grammar) {
  let state = textmate.INITIAL;
  return text.split('\n').flatMap((line) => {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
    state = ruleStack;
    return tokens.map(({ startIndex, endIndex, scopes }) => [line.slice(startIndex, endIndex).trim(), scopes.at(-1)]);
  });
}

function scopes(text, reader = grammar) {
  return Object.fromEntries(pieces(text, reader).filter(([piece]) => piece !== ''));
}

test('words get the colors of their kinds', () => {
  const found = scopes('    put output[rank] -> p.output[0] via mem[p] relaxed; // why');
  assert.equal(found['put'], 'support.function.verb.ccl');
  assert.equal(found['->'], 'keyword.operator.ccl');
  assert.equal(found['via'], 'keyword.control.ccl');
  assert.equal(found['rank'], 'variable.language.ccl');
  assert.equal(found['0'], 'constant.numeric.ccl');
  assert.equal(found['mem'], 'variable.other.ccl');
  assert.equal(found['// why'], 'comment.line.double-slash.ccl');
  assert.equal(scopes('program copy(n: rank = 512KiB)')['copy'], 'entity.name.function.ccl');
  assert.equal(scopes('program copy(n: rank = 512KiB)')['rank'], 'support.type.ccl');
  assert.equal(scopes('program copy(n: rank = 512KiB)')['512KiB'], 'constant.numeric.ccl');
  assert.equal(scopes('flow f;')['flow'], 'invalid.illegal.reserved.ccl');
});

test('words of topologies are words where they stand, and names elsewhere', () => {
  const link = scopes('    link r in 0..8: r <-> s, bandwidth = 12.5GBps, abilities = [memory, port];');
  assert.equal(link['link'], 'keyword.declaration.ccl');
  assert.equal(link['<->'], 'keyword.operator.ccl');
  assert.equal(link['bandwidth'], 'variable.language.ccl');
  assert.equal(link['12.5GBps'], 'constant.numeric.ccl');
  assert.equal(link['abilities'], 'variable.language.ccl');
  assert.equal(link['memory'], 'constant.language.ccl');
  assert.equal(link['port'], 'constant.language.ccl');
  assert.equal(scopes('    switch leaf[b in 0..2] {')['switch'], 'keyword.declaration.ccl');
  assert.equal(scopes('channel c = switch(0..2, port);')['switch'], 'support.function.ccl');
  assert.equal(scopes('channel c = switch(0..2, port);')['port'], 'variable.other.ccl');
  assert.equal(scopes('topology box(cable: rate)')['box'], 'entity.name.function.ccl');
  assert.equal(scopes('topology box(cable: rate)')['rate'], 'support.type.ccl');
});

test('nothing in a sound program is marked as wrong', () => {
  const listed = execFileSync('git', ['ls-files', 'examples', 'stdlib', 'compiler/tests/language'], { cwd: ROOT, encoding: 'utf8' });
  const files = listed.split('\n').filter((file) => file.endsWith('.ccl'));
  assert.ok(files.length > 40);
  for (const file of files) {
    const wrong = pieces(readFileSync(path.join(ROOT, file), 'utf8'), grammar).filter(([, scope]) => scope.startsWith('invalid'));
    assert.deepEqual(wrong, [], file);
  }
});

test('programs in Markdown have the colors of programs', async () => {
  const markdown = await registry.loadGrammar('text.html.markdown');
  const found = scopes('Text put.\n\n```ccl fragment\n    put output[rank];\n```\nwait\n```c\nsignal\n```', markdown);
  assert.equal(found['put'], 'support.function.verb.ccl');
  assert.equal(found['rank'], 'variable.language.ccl');
  assert.equal(found['ccl'], 'fenced_code.block.language.markdown');
  assert.equal(found['wait'], 'text.html.markdown');
  assert.equal(found['signal'], 'text.html.markdown');
});
