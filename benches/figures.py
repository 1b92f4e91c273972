#!/usr/bin/env python3
"""Compares the figures of the pages with what they are now.

    cargo build --release --locked
    benches/figures.py            # the short form: a few minutes
    benches/figures.py --long     # all rows

A figure is compared within a bound, which depends on what it is:

* what is counted (blocks, operations) is the same, and the size of a plan within 2 %;
* memory, the peak of a process, differs by a quarter at most, or by 4 MiB;
* CPU time is at most three times what the page says, or 0.1 s more, because machines differ;
* the cost of checking over that of making is at most half as much again, or 0.15 more. It is counted in instructions here, with
  Valgrind, where the page has CPU time;
* answers of the language server take at most five times as long, or 10 ms more.

Each figure that is not within its bound is a complaint, and so is a row of a page that names a program that is not known here. A line for
each comparison goes to standard output, complaints to standard error; the exit status is 1 if there are any. Nothing but the standard
library of Python 3.9 is needed, and Valgrind, without which ratios are left out, with a word.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import costs
import rival

ROOT = Path(__file__).resolve().parent.parent
PERFORMANCE, PORTS, SERVER = (ROOT / "docs" / name for name in ("performance.md", "ports.md", "language-server.md"))

# The programs of the table about checks, by their titles: `benches/subject.rs` has the same.
CHECKED = {
    "ring AllGather": "benches/ring_allgather.ccl",
    "ring AllGather, ten steps a block": "stdlib/ccl/algorithms/allgather_ring.ccl",
    "two-level AllReduce": "stdlib/ccl/algorithms/allreduce_nodes.ccl",
    "two-level AllReduce, rings": "examples/hierarchical_allreduce.ccl",
    "two-level AllReduce, LL, groups of 4": "benches/two_level_allreduce.ccl",
    "all-pairs AllGather, LL": "benches/allpairs_allgather_packets.ccl",
    "all-pairs AllReduce, LL": "benches/allpairs_allreduce_packets.ccl",
}
# Where the programs of the table about many ranks are.
FOLDERS = ["stdlib/ccl/algorithms", "examples", "examples/algorithms", "examples/mscclpp"]
# The ranks up to which rows are in the short form.
SHORT = 128


class Figures:
    """The comparisons that were made."""

    def __init__(self):
        self.count, self.complaints = 0, []

    def compare(self, what, page, now, most, least=0.0):
        """Compares a figure of a page with what was measured; `most` and `least` are the bounds for that."""
        self.count += 1
        print(f"{what}: {page:g} on the page, {now:g} now", flush=True)
        if not least <= now <= most:
            self.complain(f"{what}: the page says {page:g}, and it is {now:g}; it should be between {least:g} and {most:g}")

    def same(self, what, page, now):
        self.compare(what, page, now, page, page)

    def size(self, what, page, now):
        self.compare(what, page, now, page * 1.02 + 0.1, page * 0.98 - 0.1)

    def memory(self, what, page, now):
        self.compare(what, page, now, max(page * 1.25, page + 4), min(page * 0.75, page - 4))

    def seconds(self, what, page, now):
        self.compare(what, page, now, max(page * 3, page + 0.1))

    def complain(self, text):
        self.complaints.append(text)


def table(page, columns):
    """The rows of the table of a page that has exactly these columns, as dictionaries."""
    lines = iter(page.read_text(encoding="utf-8").splitlines())
    header = "| " + " | ".join(columns) + " |"
    if header not in lines:
        sys.exit(f"{page}: no table has the columns {columns}")
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(dict(zip(columns, (cell.strip() for cell in line.strip("|").split("|")))))
    return rows


def number(cell):
    """A figure without its unit: `1,024`, `0.018 s`, `14.6 MiB`, `82 thousand`, `5.2 million`."""
    value = float(re.match(r"[\d.,]+", cell)[0].replace(",", ""))
    return value * {"thousand": 1e3, "million": 1e6}.get(cell.split()[-1], 1)


def run(words):
    """Runs a command: its standard error, CPU time in seconds, and peak memory in MiB."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        errors.seek(0)
        said = errors.read().decode()
    if status:
        sys.exit(f"{' '.join(map(str, words))}: failed\n{said}")
    return said, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def growth(figures, cclc, long):
    """The table of `cclc` at half and twice as many ranks."""
    names = {title: (name, nodes) for name, title, nodes in rival.PROGRAMS}
    for row in table(PERFORMANCE, ["program", "ranks", "CPU", "memory", "plan", "CPU per MiB of plan"]):
        ranks = int(number(row["ranks"]))
        if ranks > SHORT and not long:
            continue
        if row["program"] not in names:
            figures.complain(f"{PERFORMANCE}: {row['program']}: no such program is known")
            continue
        name, nodes = names[row["program"]]
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder) / "plan.json"
            words = [cclc, "build", f"benches/{name}.ccl", "-o", plan, "-D", f"ranks={ranks}", "-D", "instances=8", *rival.UNCHECKED]
            words += ["-D", "ranks_per_node=8"] if nodes else []
            _, seconds, mebibytes = run(words)
            what = f"building {row['program']}, {ranks} ranks"
            figures.size(f"{what}: MiB of plan", number(row["plan"]), plan.stat().st_size / (1 << 20))
        figures.seconds(f"{what}: seconds", number(row["CPU"]), seconds)
        figures.memory(f"{what}: MiB", number(row["memory"]), mebibytes)


def checks(figures, cclc, long):
    """The table of checked over made."""
    if not shutil.which(costs.COUNTER[0]):
        print("NOT DONE: there is no valgrind, so checked over made is not compared")
        return
    columns = ["program", "ranks", "followed", "operations", "made", "checked", "ratio", "memory", "of its budget"]
    for row in table(PERFORMANCE, columns):
        title, ranks = row["program"].split(" (`")[0], int(number(row["ranks"]))
        if ranks > (256 if long else SHORT):
            continue
        if title not in CHECKED:
            figures.complain(f"{PERFORMANCE}: {title}: no such program is known")
            continue
        path = CHECKED[title]
        words = [cclc, "build", path, "-D", f"ranks={ranks}"]
        words += ["-D", "ranks_per_node=8"] if "ranks_per_node:" in (ROOT / path).read_text(encoding="utf-8") else []
        made, total = (instructions([*words, *options]) for options in (rival.UNCHECKED, rival.CHECKED))
        page = number(row["ratio"])
        figures.compare(f"checking {title}, {ranks} ranks: over making", page, (total - made) / made, max(page * 1.5, page + 0.15))


def instructions(words):
    """How many instructions a command takes that writes a plan."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*costs.COUNTER, *words, "-o", f"{folder}/plan.json"]
        said, _, _ = run(command)
    return int(re.search(r"I\s+refs:\s+([\d,]+)", said)[1].replace(",", ""))


def many_ranks(figures, cclc):
    """The table of programs for many ranks."""
    for row in table(PORTS, ["program", "ranks", "blocks", "operations", "user time", "memory"]):
        name, ranks = row["program"].strip("`"), int(number(row["ranks"]))
        found = [path for folder in FOLDERS if (path := ROOT / folder / f"{name}.ccl").exists()]
        if not found:
            figures.complain(f"{PORTS}: {name}: no such program is known")
            continue
        words = ["-D", f"ranks={ranks}"]
        words += ["-D", "ranks_per_node=8"] if "ranks_per_node:" in found[0].read_text(encoding="utf-8") else []
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder) / "plan.json"
            _, seconds, mebibytes = run([cclc, "build", found[0], *words, "-o", plan])
            blocks = [rank["threadblocks"] for rank in json.loads(plan.read_text(encoding="utf-8"))["gpus"]]
        what = f"{name}, {ranks} ranks"
        figures.same(f"{what}: blocks", number(row["blocks"]), max(map(len, blocks)))
        operations = max(count_operations(block["ops"]) for rank in blocks for block in rank)
        figures.same(f"{what}: operations", number(row["operations"]), operations)
        figures.seconds(f"{what}: seconds", number(row["user time"]), seconds)
        figures.memory(f"{what}: MiB", number(row["memory"]), mebibytes)


def count_operations(ops):
    """How many operations there are, with the bodies of pipelines."""
    return sum(1 + count_operations(op.get("ops", [])) for op in ops)


def latency(figures, server):
    """The tables of the language server's answers, with fewer edits in a smaller file, which is why only an upper bound is compared."""
    words = [sys.executable, ROOT / "benches/editor.py", "--latency", "--edits", "40", "--server", server]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"benches/editor.py failed\n{done.stderr}")
    now = {}
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[-1].endswith(" ms"):
            now[" ".join(cells[:-4])] = number(cells[-4])
    for columns in (["server", "edit", "p50", "p90", "p99", "max"], ["request", "p50", "p90", "p99", "max"]):
        for row in table(SERVER, columns):
            key = " ".join(row[column] for column in columns[:-4])
            if key.startswith("ruff"):
                continue
            if key not in now:
                figures.complain(f"{SERVER}: {key}: `benches/editor.py` has no such row: {sorted(now)}")
                continue
            page = number(row["p50"])
            figures.compare(f"{key}: ms", page, now[key], max(page * 5, page + 10))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cclc", default=str(ROOT / "target/release/cclc"))
    parser.add_argument("--server", help="ccl-lsp; without it, its answers are not measured")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    cclc, figures = Path(options.cclc).resolve(), Figures()
    many_ranks(figures, cclc)
    growth(figures, cclc, options.long)
    checks(figures, cclc, options.long)
    if options.server:
        latency(figures, Path(options.server).resolve())
    else:
        print("NOT DONE: `--server` is not given, so its answers are not measured")
    print(f"{figures.count} figures, {len(figures.complaints)} complaints")
    for complaint in figures.complaints:
        print(complaint, file=sys.stderr)
    return 1 if figures.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
