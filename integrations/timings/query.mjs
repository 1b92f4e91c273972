// Runs a query on a trace with Perfetto's trace processor: node query.mjs UI TRACE SQL
//
// UI is a folder with Perfetto's browser interface, whose engine is used here: a worker that exchanges messages
// of `protos/perfetto/trace_processor/trace_processor.proto`. Out: the rows of the result, as JSON.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [UI, TRACE, SQL] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3;
const NULL = 1, VARINT = 2, FLOAT = 3, STRING = 4;

/** A number as protobuf writes it. */
function varint(number) {
    const bytes = [];
    for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
    return Buffer.from([...bytes, number]);
}

/** A field: a number, or bytes with their length. */
function field(tag, value) {
    if (typeof value === 'number') return Buffer.concat([varint(tag * 8), varint(value)]);
    return Buffer.concat([varint(tag * 8 + 2), varint(value.length), value]);
}

/** The number at a place, and the place after it. */
function number(bytes, at) {
    let value = 0n, shift = 0n;
    for (;; shift += 7n) {
        const byte = BigInt(bytes[at++]);
        value |= (byte & 127n) << shift;
        if (byte < 128n) return [Number(BigInt.asIntN(64, value)), at];
    }
}

/** The fields of a message, in order. */
function* fields(bytes) {
    for (let at = 0, tag, value; at < bytes.length;) {
        [tag, at] = number(bytes, at);
        if (tag % 8 === 0) [value, at] = number(bytes, at);
        else if (tag % 8 === 1) [value, at] = [bytes.subarray(at, at + 8), at + 8];
        else {
            const [length, start] = number(bytes, at);
            [value, at] = [bytes.subarray(start, start + length), start + length];
        }
        yield [Math.floor(tag / 8), value];
    }
}

const all = (bytes, tag) => [...fields(bytes)].filter(([found]) => found === tag).map(([, value]) => value);

function* packed(bytes) {
    for (let at = 0, value; at < bytes.length;) {
        [value, at] = number(bytes, at);
        yield value;
    }
}

/** Rows of one part of an answer: kinds of cells, and the cells of each kind. */
function* rows(batch, columns) {
    const numbers = all(batch, 2).flatMap((part) => [...packed(part)]).values();
    const floats = all(batch, 3).flatMap((part) => Array.from({ length: part.length / 8 }, (_, n) => part.readDoubleLE(8 * n))).values();
    const strings = all(batch, 5).flatMap((part) => part.toString().split('\0').slice(0, -1)).values();
    const cell = { [NULL]: () => null, [VARINT]: () => numbers.next().value, [FLOAT]: () => floats.next().value, [STRING]: () => strings.next().value };
    const cells = all(batch, 1).flatMap((part) => [...packed(part)]).map((kind) => cell[kind]());
    while (cells.length > 0) yield Object.fromEntries(cells.splice(0, columns.length).map((value, n) => [columns[n], value]));
}

/** The engine as a worker of a browser, of which it needs little. */
async function engine() {
    const waiting = [];
    const port = { postMessage: (bytes) => waiting.shift()(Buffer.from(bytes)) };
    const worker = {
        TextDecoder, TextEncoder, URL, performance, setTimeout, console: new console.Console(process.stderr),
        WorkerGlobalScope: true, importScripts() {}, location: { href: '' },
        XMLHttpRequest: class {
            open(_, name) { this.name = name; }
            send() { this.response = readFileSync(path.join(UI, path.basename(this.name))); }
        },
    };
    worker.self = vm.createContext(worker);
    const Bytes = vm.runInContext('Uint8Array', worker);
    vm.runInContext(readFileSync(path.join(UI, 'engine_bundle.js'), 'utf8'), worker);
    worker.onmessage({ data: port });
    // Everything that it waits for before it listens is available.
    await new Promise(setImmediate);
    let sequence = 0;
    return (method, ...content) => new Promise((resolve) => {
        const message = Buffer.concat([field(1, sequence++), field(2, method), ...content]);
        waiting.push(resolve);
        port.onmessage({ data: Bytes.from(field(1, message)) });
    });
}

const call = await engine();
/** The answer of one kind in what came back. */
const answer = (bytes, tag) => all(all(bytes, 1)[0], tag)[0] ?? Buffer.of();

function refuse(messages) {
    if (messages.length > 0) throw new Error(messages.join('\n'));
}

refuse(all(answer(await call(APPEND, field(101, readFileSync(TRACE))), 201), 2));
await call(FINALIZE);
const result = answer(await call(QUERY, field(103, field(1, Buffer.from(SQL)))), 203);
refuse(all(result, 2));
const columns = all(result, 1).map(String);
console.log(JSON.stringify(all(result, 3).flatMap((batch) => [...rows(batch, columns)])));
process.exit(0);
