#!/usr/bin/env python3
"""Compares the figures of the pages with what they are now.

    cargo build --release --locked
    benches/figures.py            # the short form: a few minutes
    benches/figures.py --long     # all rows
    benches/figures.py --update   # writes what is measured into the pages

A figure is compared within a bound, which depends on what it is:

* what is counted (blocks, operations) is the same, and the size of a plan within 2 %;
* memory, the peak of a process, differs by a quarter at most, or by 4 MiB;
* CPU time is at most three times what the page says, or 0.1 s more, because machines differ;
* the instructions of making a plan are at most 10 % more, and those of checking over those of making at most a quarter more, or 0.1.
  Valgrind counts them;
* answers of the language server take at most eight times as long, or 20 ms more, because whatever else runs delays them.

Each figure that is not within its bound is a complaint, and so is a row of a page that names a program that is not known here. A line for
each comparison goes to standard output, complaints to standard error; the exit status is 1 if there are any. Nothing but the standard
library of Python 3.9 is needed, and Valgrind, without which ratios are left out, with a word.
"""

import argparse
import concurrent.futures
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
import synthesis

ROOT = Path(__file__).resolve().parent.parent
PERFORMANCE, PORTS, SERVER = (ROOT / "docs" / name for name in ("performance.md", "ports.md", "language-server.md"))

# Where the programs of the table about many ranks are.
FOLDERS = ["stdlib/ccl/algorithms", "examples", "examples/algorithms", "examples/mscclpp"]
# The ranks up to which rows are in the short form.
SHORT = 128


class Figures:
    """The comparisons that were made, and the pages, whose figures are replaced where that is asked for."""

    def __init__(self, update):
        self.count, self.complaints = 0, []
        self.update = update

    def compare(self, what, page, now, most, least=0.0):
        """Compares a figure of a page with what was measured; `most` and `least` are the bounds for that."""
        self.count += 1
        print(f"{what}: {page:g} on the page, {now:g} now", flush=True)
        if not least <= now <= most and not self.update:
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

    def replace(self, page, row, now):
        """Writes other cells into a row of a page, where that is asked for."""
        if self.update:
            line, new = (cells_line(cells.values()) for cells in (row, {**row, **now}))
            text = page.read_text(encoding="utf-8")
            page.write_text(text.replace(f"\n{line}\n", f"\n{new}\n", 1), encoding="utf-8")


def cells_line(cells):
    return "| " + " | ".join(cells) + " |"


def table(page, columns):
    """The rows of the table of a page that has exactly these columns, as dictionaries."""
    lines = iter(page.read_text(encoding="utf-8").splitlines())
    if cells_line(columns) not in lines:
        sys.exit(f"{page}: no table has the columns {columns}")
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(dict(zip(columns, (cell.strip() for cell in line.strip("|").split("|")))))
    return rows


def number(cell):
    """A figure without its unit: `1,024`, `0.018 s`, `14.6 MiB`."""
    return float(re.match(r"[\d.,]+", cell)[0].replace(",", ""))


class Done:
    """What a command has printed on standard error, and what it took."""

    def __init__(self, said, usage):
        self.said = said
        self.seconds = usage.ru_utime + usage.ru_stime
        self.mebibytes = usage.ru_maxrss / 1024


def run(words):
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        errors.seek(0)
        said = errors.read().decode()
    if status:
        sys.exit(f"{' '.join(map(str, words))}: failed\n{said}")
    return Done(said, usage)


def parameters(path, ranks):
    """The arguments for a program with so many ranks, eight of them in a node if it has nodes."""
    words = ["-D", f"ranks={ranks}"]
    has_nodes = "ranks_per_node:" in (ROOT / path).read_text(encoding="utf-8")
    return words + (["-D", "ranks_per_node=8"] if has_nodes else [])


def growth(figures, cclc, long):
    """The table of `cclc` at half and twice as many ranks."""
    names = {title: name for name, title, _ in rival.PROGRAMS}
    for row in table(PERFORMANCE, ["program", "ranks", "CPU", "memory", "plan", "CPU per MiB of plan"]):
        ranks = int(number(row["ranks"]))
        if ranks > SHORT and not long:
            continue
        if row["program"] not in names:
            figures.complain(f"{PERFORMANCE}: {row['program']}: no such program is known")
            continue
        path = f"benches/{names[row['program']]}.ccl"
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder) / "plan.json"
            done = run([cclc, "build", path, "-o", plan, *parameters(path, ranks), "-D", "instances=8", *rival.UNCHECKED])
            size = plan.stat().st_size / (1 << 20)
        what = f"building {row['program']}, {ranks} ranks"
        figures.size(f"{what}: MiB of plan", number(row["plan"]), size)
        figures.seconds(f"{what}: seconds", number(row["CPU"]), done.seconds)
        figures.memory(f"{what}: MiB", number(row["memory"]), done.mebibytes)
        now = {"CPU": f"{done.seconds:.3f} s", "memory": f"{done.mebibytes:.1f} MiB", "plan": f"{size:.1f} MiB"}
        figures.replace(PERFORMANCE, row, {**now, "CPU per MiB of plan": f"{done.seconds * 1000 / size:.2f} ms"})


def checks(figures, cclc, long):
    """The table of checking over making."""
    if not shutil.which(costs.COUNTER[0]):
        print("NOT DONE: there is no valgrind, so checking over making is not compared")
        return

    def measured(row):
        path, ranks = row["file"].strip("`"), int(number(row["ranks"]))
        words = [cclc, "build", path, *parameters(path, ranks)]
        return [instructions([*words, *options]) for options in (rival.UNCHECKED, rival.CHECKED)]

    rows = table(PERFORMANCE, ["program", "file", "ranks", "making", "checking over making"])
    rows = [row for row in rows if long or number(row["ranks"]) <= SHORT]
    # Instructions are the same whatever runs beside it.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        found = list(workers.map(measured, rows))
    for row, (made, total) in zip(rows, found):
        path, ranks = row["file"].strip("`"), int(number(row["ranks"]))
        page, now = number(row["checking over making"]), (total - made) / made
        what = f"{path}, {ranks} ranks"
        figures.compare(f"{what}: checking over making", page, now, max(page * 1.25, page + 0.1))
        figures.compare(f"{what}: instructions of making, in millions", number(row["making"]), made / 1e6, number(row["making"]) * 1.1)
        figures.replace(PERFORMANCE, row, {"making": f"{made / 1e6:,.0f}", "checking over making": f"{now:.2f}"})


def instructions(words):
    """How many instructions a command takes that writes a plan."""
    with tempfile.TemporaryDirectory() as folder:
        said = run([*costs.COUNTER, *words, "-o", f"{folder}/plan.json"]).said
    return int(re.search(r"I\s+refs:\s+([\d,]+)", said)[1].replace(",", ""))


def many_ranks(figures, cclc):
    """The table of programs for many ranks."""
    for row in table(PORTS, ["program", "ranks", "blocks", "operations", "user time", "memory"]):
        name, ranks = row["program"].strip("`"), int(number(row["ranks"]))
        found = [path for folder in FOLDERS if (path := ROOT / folder / f"{name}.ccl").exists()]
        if not found:
            figures.complain(f"{PORTS}: {name}: no such program is known")
            continue
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder) / "plan.json"
            done = run([cclc, "build", found[0], *parameters(found[0], ranks), "-o", plan])
            # In a process of its own: what is started later inherits the peak of this one's memory.
            counted = subprocess.run([sys.executable, __file__, "--count", plan], capture_output=True, check=True, text=True)
            blocks, operations = map(int, counted.stdout.split())
        what = f"{name}, {ranks} ranks"
        figures.same(f"{what}: blocks", number(row["blocks"]), blocks)
        figures.same(f"{what}: operations", number(row["operations"]), operations)
        figures.seconds(f"{what}: seconds", number(row["user time"]), done.seconds)
        figures.memory(f"{what}: MiB", number(row["memory"]), done.mebibytes)
        now = {"blocks": str(blocks), "operations": str(operations), "memory": f"{done.mebibytes:.0f} MiB"}
        figures.replace(PORTS, row, {**now, "user time": f"{done.seconds:.2g} s"})


def count(plan):
    """Prints the most blocks of a rank and the most operations of a block of a plan."""
    blocks = [rank["threadblocks"] for rank in json.loads(Path(plan).read_text(encoding="utf-8"))["gpus"]]
    print(max(map(len, blocks)), max(count_operations(block["ops"]) for rank in blocks for block in rank))


def count_operations(ops):
    """How many operations there are, with the bodies of pipelines."""
    return sum(1 + count_operations(op.get("ops", [])) for op in ops)


def schedules(figures, cclc):
    """The rows of `cclc` in the table of tools that make schedules. All its rows are of one run of benches/synthesis.py, which also
    makes new ones: none is replaced here."""
    cases = {case.title: case for case in synthesis.CASES}
    for row in table(PERFORMANCE, synthesis.COLUMNS):
        if row["tool"] != "cclc":
            continue
        case = cases.get(row["question"])
        if case is None:
            figures.complain(f"{PERFORMANCE}: {row['question']}: `benches/synthesis.py` has no such question")
            continue
        done, found = synthesis.measure([cclc, *case.words()], 3, cwd=ROOT), synthesis.read_answer(case, cclc).describe()
        figures.seconds(f"{case.title}: seconds", number(row["CPU"]), done.cpu)
        figures.count += 1
        if row["what it finds"] != found:
            figures.complain(f"{PERFORMANCE}: {case.title}: the page says {row['what it finds']}, and it is {found}")


def latency(figures, server):
    """The tables of the language server's answers, with fewer edits."""
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
            figures.compare(f"{key}: ms", page, now[key], max(page * 8, page + 20))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cclc", default=str(ROOT / "target/release/cclc"))
    parser.add_argument("--server", help="ccl-lsp; without it, its answers are not measured")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--count", metavar="PLAN", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        count(options.count)
        return 0
    cclc, figures = Path(options.cclc).resolve(), Figures(options.update)
    many_ranks(figures, cclc)
    growth(figures, cclc, options.long)
    checks(figures, cclc, options.long)
    schedules(figures, cclc)
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
