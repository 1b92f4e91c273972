// Tests the parts that do not depend on VS Code.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';

const HERE = path.resolve(import.meta.dirname, '..');

async function load(name) {
  const outfile = path.join(HERE, 'out/test', `${name}.mjs`);
  const entryPoints = [path.join(HERE, 'src', `${name}.ts`)];
  await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node', mainFields: ['module', 'main'] });
  return import(outfile);
}

const PLAN = `{ "collective": "allgather", "gpus": [
  { "id": 0, "threadblocks": [] },
  { "id": 1, "threadblocks": [
    { "id": 0, "ops": [
      {"name": "nop"},
      {"name": "pipeline", "ops": [{"name": "put"}, {"name": "signal"}]},
      {"name": "wait"}
    ] }
  ] }
] }`;

test('operations of plans are found in the text, those of pipelines counted', async () => {
  const { extentOf, planTree } = await load('planTree');
  const tree = planTree(PLAN);
  const text = (block, operation) => {
    const { offset, length } = extentOf(tree, { file: 'p', rank: 1, block, operation });
    return PLAN.slice(offset, offset + length);
  };
  assert.equal(text(0, 0), '{"name": "nop"}');
  assert.match(text(0, 1), /^\{"name": "pipeline".*signal"\}\]\}$/);
  assert.equal(text(0, 2), '{"name": "put"}');
  assert.equal(text(0, 4), '{"name": "wait"}');
  assert.equal(text(0, 5), '"id": 0');
  assert.equal(text(0, null), '"id": 0');
  assert.equal(text(null, null), '"id": 1');
  const whole = extentOf(tree, { file: 'p', rank: null, block: null, operation: null });
  assert.equal(PLAN.slice(whole.offset, whole.offset + whole.length), '"collective": "allgather"');
  assert.equal(extentOf(tree, { file: 'p', rank: 7, block: null, operation: null }), undefined);
});

test('plans are told from other JSON', async () => {
  const { looksLikePlan } = await load('planTree');
  assert.ok(looksLikePlan(PLAN));
  assert.ok(!looksLikePlan('{"gpus": 4}'));
  assert.ok(!looksLikePlan('["gpus"]'));
});

test('the lines of an elaborated program and of its source find each other', async () => {
  const { linesFrom, placesOf } = await load('links');
  const place = (uri, start, end) => ({ uri, range: { start: { line: start }, end: { line: end } } });
  const places = [place('a', 3, 4), place('a', 8, 8), place('b', 3, 3)];
  // A statement, the same statement with a call, and one in another file with that call.
  const links = [{ line: 10, places: [0] }, { line: 11, places: [0, 1] }, { line: 12, places: [2, 1] }];
  const program = { text: '', places, links };
  assert.deepEqual(linesFrom(program, 'a', 4, 4), [10, 11]);
  assert.deepEqual(linesFrom(program, 'a', 5, 8), [11, 12]);
  assert.deepEqual(linesFrom(program, 'b', 0, 9), [12]);
  assert.deepEqual(linesFrom(program, 'a', 5, 7), []);
  assert.deepEqual(placesOf(program, 11, 12), [places[0], places[2], places[1]]);
});

test('what is no report is passed over', async () => {
  const { parseReports } = await load('reports');
  const report = { version: 1, code: 'E0501', severity: 'error', message: 'm', primary: null, secondary: [], notes: [], helps: [] };
  const lines = [JSON.stringify(report), '{broken', 'text', JSON.stringify({ ...report, version: 2 })];
  assert.deepEqual(parseReports(lines.join('\n')).map(({ code }) => code), ['E0501']);
});

test('all comments above a program set its parameters, the lowest last', async () => {
  const { directives } = await load('directives');
  const text = [
    '// ccl: ranks=9',
    '',
    '// ccl: ranks=4, table=[[1, 2], [0, 3]]',
    '/// Documentation.',
    '// ccl: ranks=8',
    '#[allow(W0205)]',
    'program p(ranks: int = 2, table: int[][] = []) {',
  ];
  const expected = [
    ['ranks', '4'],
    ['table', '[[1, 2], [0, 3]]'],
    ['ranks', '8'],
  ];
  assert.deepEqual(directives(text, 6), expected);
  assert.deepEqual(directives(text.slice(0, 3), 2), []);
});

test('the parameters of a program are found, with and without types', async () => {
  const { parameterNames } = await load('directives');
  const text = [
    'let ranks = 1;',
    'program p(ranks = 4, k: int = if true { 1 } else { (2) }, // rows: of the table, (unused',
    '    table = [[1, ranks], [0, 3]], last: bool,',
    ') {',
    '    let none: int = 1;',
    '}',
  ];
  assert.deepEqual(parameterNames(text, 1), ['ranks', 'k', 'table', 'last']);
  assert.deepEqual(parameterNames(['program q() { f(a, b); }'], 0), []);
});

test('a file is as good as its worst program', async () => {
  const { summarize } = await load('verdicts');
  const file = (errors, ...programs) => summarize({ uri: 'a', version: 1, errors, programs });
  const proved = (name, ranks) => ({ name, verdict: 'proved', ranks });
  const open = { name: 'o', verdict: 'open', ranks: null };
  assert.deepEqual(file(0, proved('a', 8)), { icon: 'check', text: 'proved for 8', details: ['a: proved for 8'] });
  assert.equal(file(0, proved('a', 8), proved('b', 8)).text, 'proved for 8');
  assert.equal(file(0, proved('a', 8), proved('b', 4)).text, '2 programs proved');
  assert.deepEqual([file(0, proved('a', 8), open).icon, file(0, proved('a', 8), open).text], ['question', 'not fully checked']);
  assert.deepEqual([file(2, proved('a', 8)).icon, file(2, proved('a', 8)).text], ['error', '2 errors']);
  assert.equal(file(1).text, '1 error');
  assert.deepEqual([file(0).icon, file(0).text], ['circle-slash', 'no program']);
});
