// The parts that know nothing of VS Code.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';

const HERE = path.resolve(import.meta.dirname, '..');
const CCLC = process.env.CCLC ?? path.join(HERE, '../../target/debug/cclc');

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
  assert.equal(extentOf(tree, { file: 'p', rank: 7, block: null, operation: null }), undefined);
});

test('plans are told from other JSON', async () => {
  const { looksLikePlan } = await load('planTree');
  assert.ok(looksLikePlan(PLAN));
  assert.ok(!looksLikePlan('{"gpus": 4}'));
  assert.ok(!looksLikePlan('["gpus"]'));
});

test('the lines of a dump and of its source find each other', async () => {
  const { linesFrom, parseDump, placesOf } = await load('links');
  const file = path.join(HERE, '../../examples/allgather_allpairs.ccl');
  const dump = parseDump(execFileSync(CCLC, ['dump', '--format', 'json', '-D', 'ranks=3', file], { encoding: 'utf8' }));
  const put = 14;
  const lines = linesFrom(dump, file, put, put);
  const text = dump.text.split('\n');
  assert.equal(lines.length, 6);
  assert.ok(lines.every((line) => text[line].includes('put output')));
  assert.deepEqual(placesOf(dump, lines[0], lines[1]).map((place) => place.line - 1), [put]);
  assert.deepEqual(linesFrom(dump, file, 0, 0), []);
});

test('what is no report is passed over', async () => {
  const { parseReports } = await load('reports');
  const report = { version: 1, code: 'E0501', severity: 'error', message: 'm', primary: null, secondary: [], notes: [], helps: [] };
  const lines = [JSON.stringify(report), '{broken', 'text', JSON.stringify({ ...report, version: 2 })];
  assert.deepEqual(parseReports(lines.join('\n')).map(({ code }) => code), ['E0501']);
});
