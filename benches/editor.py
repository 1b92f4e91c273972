#!/usr/bin/env python3
"""Measures the language server as an editor experiences it: how soon it answers, and how much memory it takes.

    cargo build --release --locked -p ccl-lsp
    python3 -m venv ruff && ruff/bin/pip install ruff==0.17.5
    benches/editor.py --latency --ruff ruff/bin/ruff
    benches/editor.py --memory 100000

Latency: 5,000 lines of the library's programs at 8 ranks are open; ruff, if given, has as many lines of Python open in the
same run. Time runs from the write of an edit to the arrival of the diagnostics for its version. *Break* types or deletes one
`(`, so that every answer differs from the one before; in bursts, 20 such edits come 1 ms apart, and the time is that of the
last. *Value* makes a race and fixes it again, and its time runs until the race is shown or gone. Requests are made at random
names, while the server is at rest and while a program of 128 ranks is checked again and again.

Memory: 50 files of the repository are open and get random edits, with a request after every tenth. The resident set is read
after 1,000 edits and after the last.

Markdown goes to standard output, progress to standard error. A wrong answer, an old version after a newer one, or a server that
does not answer or end is an error. Only the standard library of Python 3.9 is needed; memory is read from /proc, on Linux.
"""

import argparse
import json
import os
import pathlib
import queue
import random
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATIENCE_S = 60
BURST = 20
WORD = re.compile(r"\b(mem|rank|ranks|peers|signal|put|collective)\b")
QUESTIONS = ["hover", "completion", "definition", "documentSymbol", "semanticTokens/full"]
TYPED = [" ", "(", "x", "\n", "// c\n", ";", "}", " relaxed", "1", "mem"]

SLOW = """
program slow(ranks: int = 128) {
    collective allgather(ranks, in_place = true);
    channel mem[p in peers] = memory(p);
    block main {
        signal mem[*] relaxed;
        wait mem[*] relaxed;
        for p in peers { put output[rank] -> p.output[rank] via mem[p]; }
        signal mem[*];
        wait mem[*];
    }
}
"""


def main():
    options = arguments()
    random.seed(1)
    if options.latency:
        latency(options)
    if options.memory:
        memory(options)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--latency", action="store_true", help="how soon edits and questions are answered")
    add("--memory", type=int, metavar="EDITS", help="what is held after so many edits")
    add("--server", default=str(ROOT / "target/release/ccl-lsp"), help="ccl-lsp")
    add("--ruff", help="the rival to measure in the same run")
    add("--lines", type=int, default=5000)
    add("--edits", type=int, default=200)
    options = parser.parse_args()
    if not options.latency and not options.memory:
        parser.error("nothing is asked for: --latency, --memory EDITS")
    return options


class Server:
    """A language server, and the messages that it has sent, each with the time of its arrival."""

    def __init__(self, command, settings=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.said = queue.Queue()
        self.answers = {}
        self.newest = {}
        self.asked = 0
        threading.Thread(target=self.listen, daemon=True).start()
        text = {"publishDiagnostics": {"versionSupport": True}, "documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}
        offered = {"textDocument": text, "general": {"positionEncodings": ["utf-16"]}}
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": offered, "initializationOptions": settings})
        self.tell("initialized", {})

    def listen(self):
        stream = self.process.stdout
        while True:
            length = None
            while (line := stream.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if length is None:
                return self.said.put((0, None))
            body = stream.read(length)
            # Before the body is parsed, because parsing takes Python longer than the server.
            self.said.put((time.perf_counter(), body))

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def hear(self, wanted):
        """The time and content of the first message that is wanted."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                at, body = self.said.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                sys.exit(f"no answer within {PATIENCE_S} s")
            if body is None:
                sys.exit("the server is gone")
            message = json.loads(body)
            self.note(message)
            if wanted(message):
                return at, message

    def note(self, message):
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            version = params.get("version", 0)
            if version < self.newest.get(params["uri"], 0):
                sys.exit(f"version {version} was published after {self.newest[params['uri']]}")
            self.newest[params["uri"]] = version

    def ask(self, method, params):
        """The time of a response in milliseconds, and the response."""
        self.asked += 1
        number, begin = self.asked, time.perf_counter()
        request = {"id": number, "method": method}
        self.send(request if params is None else {**request, "params": params})
        at, message = self.hear(lambda message: message.get("id") == number and "method" not in message)
        if "error" in message and message["error"]["code"] != -32801:
            sys.exit(f"{method}: {message['error']}")
        return (at - begin) * 1e3, message.get("result")

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def end(self):
        self.ask("shutdown", None)
        self.send({"method": "exit"})
        if self.process.wait(timeout=PATIENCE_S) != 0:
            sys.exit("the server does not end well")


class File:
    """A file that is open in a server."""

    def __init__(self, server, uri, language, text):
        self.server, self.uri, self.version, self.text = server, uri, 1, text
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        server.tell("textDocument/didOpen", {"textDocument": document})

    def change(self, start, end, new):
        """Replaces the text between two offsets; returns the time at which the change was sent."""
        place = {"start": position(self.text, start), "end": position(self.text, end)}
        self.text = self.text[:start] + new + self.text[end:]
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        begin = time.perf_counter()
        self.server.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"range": place, "text": new}]})
        return begin

    def diagnostics(self, wanted=lambda found: True):
        """The time at which the first wanted diagnostics for this version arrived, and these diagnostics."""

        def mine(message):
            params = message.get("params") or {}
            return (
                message.get("method") == "textDocument/publishDiagnostics"
                and (params["uri"], params.get("version")) == (self.uri, self.version)
                and wanted(params["diagnostics"])
            )

        at, message = self.server.hear(mine)
        return at, message["params"]["diagnostics"]

    def ask(self, what, offset):
        where = {"textDocument": {"uri": self.uri}, "position": position(self.text, offset)}
        return self.server.ask(f"textDocument/{what}", where)[0]


def position(text, offset):
    start = text.rfind("\n", 0, offset) + 1
    return {"line": text.count("\n", 0, offset), "character": len(text[start:offset].encode("utf-16-le")) // 2}


def latency(options):
    text = programs(options.lines)
    print("| server | edit | p50 | p90 | p99 | max |\n| --- | --- | ---: | ---: | ---: | ---: |")
    rivals = [("ccl-lsp", [options.server, "--stdio"], "ccl", text)]
    if options.ruff:
        rivals.append(("ruff", [options.ruff, "server"], "python", python(options.lines)))
    held = []
    for name, command, language, content in rivals:
        server, begin = Server(command), time.perf_counter()
        file = File(server, f"file:///tmp/measured.{language}", language, content)
        opened, base = file.diagnostics()
        note(f"{name}: {content.count(chr(10))} lines, {len(base)} diagnostics")
        time.sleep(2)
        held.append(f"{name}: shown after {opened - begin:.1f} s, {server.resident_mib():.0f} MiB")
        row(name, "break", breaks(file, options.edits))
        row(name, f"break, the last of {BURST} at 1 ms from each other", bursts(file, options.edits // BURST))
        if language == "ccl":
            row(name, "value", values(file, options.edits))
            questions(file, options.edits)
        server.end()
    print("\n" + "; ".join(held))
    print(f"{text.count('program ')} programs; load {os.getloadavg()[0]:.1f}")


def row(*cells):
    *names, times = cells
    print("| " + " | ".join([*names, *(f"{percentile(times, p):.1f} ms" for p in (50, 90, 99, 100))]) + " |", flush=True)


def percentile(times, percent):
    return sorted(times)[max(0, -(-len(times) * percent // 100) - 1)]


def breaks(file, edits):
    """Times of edits that type a parenthesis or delete it."""
    times = []
    _, base = settled(file)
    for number in range(edits // 2):
        at = line_start(file.text, number, edits // 2)
        for new in ("(", ""):
            begin = file.change(at, at + (not new), new)
            end, found = file.diagnostics()
            times.append((end - begin) * 1e3)
            if (found == base) == bool(new):
                sys.exit("the diagnostics are not those of the text")
    return times


def settled(file):
    """The diagnostics of the text without an edit."""
    file.change(0, 0, "\n")
    file.diagnostics()
    file.change(0, 1, "")
    return file.diagnostics()


def bursts(file, rounds):
    times = []
    for number in range(rounds):
        at = line_start(file.text, number, rounds)
        for edit in range(BURST):
            typed = edit % 2 == 0
            begin = file.change(at, at + (not typed), "(" if typed else "")
            time.sleep(0.001 if edit < BURST - 1 else 0)
        end, _ = file.diagnostics()
        times.append((end - begin) * 1e3)
        time.sleep(0.1)
    return times


def values(file, edits):
    """Times until a race is shown after an edit makes it (by relaxing a signal), or gone after an edit fixes it."""
    word = " relaxed"
    places = [found.end() for found in re.finditer(r"signal \w+\[\*\](?=;)", file.text)]
    raced = lambda found: any(str(one.get("code")).startswith("E05") for one in found)
    times = []
    for number in range(edits // 2):
        at = places[number % len(places)]
        for new, shown in ((word, raced), ("", lambda found: not raced(found))):
            begin = file.change(at, at + (0 if new else len(word)), new)
            end, _ = file.diagnostics(shown)
            times.append((end - begin) * 1e3)
    return times


def questions(file, times):
    """Times of requests, at rest and while a check runs."""
    print("\n| question | p50 | p90 | p99 | max |\n| --- | ---: | ---: | ---: | ---: |")
    names = [found.start() + 1 for found in WORD.finditer(file.text)]
    for what in QUESTIONS:
        row(what, [file.ask(what, random.choice(names)) for _ in range(times)])
    end = len(file.text)
    file.change(end, end, SLOW)
    inside = file.text.index("block main", end) + len("block main {")
    for what in QUESTIONS[:2]:
        taken = []
        for number in range(times):
            typed = number % 2 == 0
            file.change(inside, inside + (0 if typed else 6), " sync;" if typed else "")
            taken.append(file.ask(what, random.choice(names)))
        row(f"{what}, while 128 ranks are checked", taken)


def line_start(text, number, of):
    """The offset of the beginning of a line; lines are spread over the text."""
    lines = [found.start() for found in re.finditer(r"(?m)^[^\n]", text)]
    return lines[len(lines) * number // of]


def programs(wanted):
    """The library's programs at 8 ranks, repeated under new names until there are enough lines."""
    files = sorted((ROOT / "stdlib/ccl/algorithms").glob("*.ccl"))
    files += [ROOT / "examples/allreduce_halving_doubling.ccl", ROOT / "examples/hierarchical_allreduce.ccl"]
    uses, bodies, lines, turn = {}, [], 0, 0
    while lines < wanted:
        for file in files:
            body = renamed(file.read_text(), f"{file.stem}_{turn}", uses)
            bodies.append(body)
            lines += body.count("\n") + 1
            if lines >= wanted:
                break
        turn += 1
    imports = [f"use std::{module}::{{{', '.join(sorted(names))}}};" for module, names in sorted(uses.items())]
    return "\n".join([*imports, "", *bodies])


def renamed(text, suffix, uses):
    """A file's declarations, without comments and under new names; its imports go to `uses`."""
    for module, names in re.findall(r"(?m)^use std::(\w+)::(.*);$", text):
        uses.setdefault(module, set()).update(name.strip() for name in names.strip("{}").split(","))
    text = re.sub(r"(?m)^use .*\n", "", re.sub(r"(?m)[ \t]*//.*$", "", text))
    for name in re.findall(r"(?m)^(?:program|proc|fn|collective|let) (\w+)", text):
        text = re.sub(rf"(?<![\w:.]){name}\b", f"{name}_{suffix}", text)
    text = re.sub(r"\b(ranks: int = )\d+", r"\g<1>8", text)
    text = re.sub(r"\b(ranks_per_node: int = )\d+", r"\g<1>4", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def python(wanted):
    """The same number of lines of Python, with an unknown name here and there."""
    function = "def sum_{0}(first, second={0}):\n    total = first + second\n    for step in range({0}):\n        total += {1}\n    return total\n\n\n"
    return "".join(function.format(i, "unknown" if i % 50 == 0 else "step") for i in range(wanted // 7))


def memory(options):
    folders = ["stdlib/ccl/algorithms", "compiler/tests/cases/race", "compiler/tests/cases/deadlock"]
    paths = [path for folder in folders for path in sorted((ROOT / folder).glob("*.ccl"))]
    texts = [text for text in (path.read_text() for path in paths) if len(text) < 4000][:50]
    server = Server([options.server, "--stdio"], {"maxOperations": 20_000})
    files = [File(server, f"file:///tmp/edited_{i}.ccl", "ccl", text) for i, text in enumerate(texts)]
    early = None
    for edit in range(1, options.memory + 1):
        index = random.randrange(len(files))
        file, text = files[index], texts[index]
        if random.random() < 0.1 or len(file.text) > 6000:
            file.change(0, len(file.text), text)
        else:
            at = random.randrange(len(file.text) + 1)
            file.change(at, at, random.choice(TYPED))
        if edit % 10 == 0:
            file.ask(random.choice(["hover", "definition", "documentSymbol", "foldingRange"]), random.randrange(len(file.text)))
        if edit == 1000:
            time.sleep(3)
            early = server.resident_mib()
        if edit % 10_000 == 0:
            note(f"{edit} edits: {server.resident_mib():.1f} MiB")
    time.sleep(3)
    late = server.resident_mib()
    first = f"after 1,000 edits of {len(files)} files {early:.1f} MiB, " if early else ""
    print(f"memory: {first}after {options.memory:,} {late:.1f} MiB" + (f", {late / early:.2f} times" if early else ""))
    server.end()


def note(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
