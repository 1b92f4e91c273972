#!/usr/bin/env python3
"""What it costs to make and to check every program of the library and every port, compared with `costs.tsv`.

    benches/costs.py [--cclc PATH] [--long] [--update] [WORD..]

"Made" is elaborating, the passes and writing the plan; "checked" is both checks. Their ratio is that of instructions, counted with
the checks and without. What takes more than a second is measured in CPU time of the thread instead (`--timings`), as the median of
several runs, each of which measures both: counting takes fifty times as long. Three things are compared:

* the ratio at 128 ranks, and with `--long` at 512, with the bound that is stored for the program. A program that exceeds a
  limit of the executor must say so, with the codes that are stored;
* with `--long`, what `cclc check` takes for the library at 1,024 ranks: it is proved within 10 s and 1 GiB, or refused within 1 s;
* how many instructions it takes to make the plan for 16 ranks, start of the process included, with the number that is stored.
  Valgrind counts them; without it, this is left out, and said.

Programs whose number of ranks is fixed are measured with that number, by instructions only. Numbers of ranks that a program
does not accept are left out. WORDs select programs by parts of their paths. `--update` writes what was measured as the new
bounds, with room for noise; ratios are bounded by the goals all the same, except for the programs in COSTLIER.
"""

import argparse
import concurrent.futures
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "benches/costs.tsv"
HEADER = "file\tprogram\tranks\twhat\tbound"
FOLDERS = ["stdlib/ccl/algorithms", "examples/mscclpp"]

# The most that checking may cost, as a multiple of making, by the number of ranks.
BARS = {128: 1.0, 512: 1.5}
# Programs that cost more, with the reason.
COSTLIER = {
    "examples/mscclpp/default_algos_allreduce_multi_nodes.ccl":
        "groups of 4 and 28 blocks share packets, so several sizes of slices are checked, with every rank of a node followed",
    "examples/mscclpp/single_node_allgather_nvls_zero_copy_pkt.ccl":
        "the block that sends also takes what rank 0 has sent, so no rank is like another, and every rank is followed",
}
# The number of ranks for which instructions are counted.
COUNTED = 16
# How much more than what is stored making may cost: compilers and libraries of C differ a little.
GROWTH = 1.1
# At 1,024 ranks: seconds and MiB for what is proved, seconds for what is refused.
MOST = 1024
PROVED = (10.0, 1024)
REFUSED = 1.0
# Every measurement is the median of so many runs, and is made again so often if it is above its bound.
RUNS = 3
TRIES = 3
# The least ratio that is stored as a bound: below, noise decides.
LEAST = 0.3
# What takes fewer seconds than these is measured in instructions: systems count the time of threads in ticks, and beside other
# work checking, which reads more memory, slows down more than making.
SHORT = 1.0
# Counts instructions, and nothing else.
COUNTER = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]

MADE = ("elaborate", "passes", "write the plan")
CHECKED = ("limits", "check the program", "check what is written")


class Subject:
    """A program of a file, and the parameters that it has."""

    def __init__(self, path, name, text, parameters):
        self.path, self.name = path, name
        self.parameters = re.findall(r"(\w+):", parameters)
        self.two_nodes = "nodes == 2" in text
        fixed = re.search(r"require ranks == (\d+)", text)
        self.fixed = int(fixed[1]) if fixed else None

    def arguments(self, ranks):
        words = ["--program", self.name, "-D", f"ranks={ranks}"]
        if "ranks_per_node" in self.parameters:
            width = ranks // 2 if self.two_nodes else min(8, ranks)
            words += ["-D", f"ranks_per_node={width}"]
        return words

    @property
    def is_of_library(self):
        return self.path.startswith(FOLDERS[0])


def subjects(words):
    """Every program with a number of ranks, once for each file."""
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).glob("*.ccl")):
            short, text = str(path.relative_to(ROOT)), path.read_text()
            # A file's programs may have requirements of their own.
            for piece in re.split(r"^(?=program )", text, flags=re.M):
                head = re.match(r"program (\w+)\(([^)]*)\)", piece)
                if head and "ranks:" in head[2]:
                    found.append(Subject(short, head[1], piece, head[2]))
    return [one for one in found if not words or any(word in one.path for word in words)]


class Run:
    """One run of `cclc`: the codes of errors, and what it took."""

    def __init__(self, cclc, subject, ranks, folder, only_check=False):
        trace, plan = folder / "trace.json", folder / "plan.json"
        command = [cclc, "check" if only_check else "build", subject.path, *subject.arguments(ranks), "--timings", trace]
        command += ["--message-format", "short", *([] if only_check else ["-o", plan])]
        reports = folder / "reports"
        with reports.open("w") as out:
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=out)
            usage = os.wait4(process.pid, 0)[2]
        self.seconds, self.mebibytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        self.errors = sorted(set(re.findall(r"error\[(\w+)\]", reports.read_text())))
        self.made, self.checked = 0.0, 0.0
        if trace.exists():
            self.read(json.loads(trace.read_text())["traceEvents"])

    def read(self, events):
        """Adds up the phases that are in no other one."""
        open_phases = []
        for event in events:
            if event["ph"] == "B":
                open_phases.append(event)
            elif event["ph"] == "E":
                begin = open_phases.pop()
                # Where the system does not say how long a thread has run, the clock has to do.
                clock = "tts" if "tts" in event and "tts" in begin else "ts"
                took = (event[clock] - begin[clock]) / 1e6
                if not open_phases and begin["cat"] in MADE:
                    self.made += took
                elif not open_phases and begin["cat"] in CHECKED:
                    self.checked += took

    @property
    def exceeds(self):
        """Whether it is refused for limits of the executor only."""
        return bool(self.errors) and all(code.startswith("E08") for code in self.errors)

    @property
    def is_impossible(self):
        """Whether the program does not accept this number of ranks."""
        return "E0302" in self.errors


class Measured:
    """A row: what was measured, as a number or as codes, and the bound that is stored."""

    def __init__(self, subject, ranks, what, value):
        self.key = (subject.path, subject.name, str(ranks), what)
        self.value = value

    def bound(self):
        """The bound that this measurement suggests."""
        if isinstance(self.value, str):
            return self.value
        if self.key[3] == "instructions":
            return str(self.value)
        most = math.inf if self.key[0] in COSTLIER else BARS[int(self.key[2])]
        return f"{min(max(LEAST, self.value * 1.4), most):.2f}"

    def complaint(self, stored):
        known = stored.get(self.key)
        row = " ".join(self.key[:3])
        if known is None:
            return f"{row}: nothing is stored for it; `--update` stores it"
        if isinstance(self.value, str) or not re.fullmatch(r"[\d.]+", known):
            same = str(self.value) == known
            return None if same else f"{row}: {self.value}, where {known} is stored"
        most = float(known) * (GROWTH if self.key[3] == "instructions" else 1)
        if self.value > most:
            return f"{row}: {self.key[3]}: {self.value}, and at most {most:.2f} is stored"
        return None


def ratios(cclc, chosen, ranks, stored, folder):
    """The rows for checked over made, as they come; none for a program that does not accept the number of ranks, or
    that cannot be measured."""
    short = []
    for subject in chosen:
        first = Run(cclc, subject, ranks, folder)
        if first.is_impossible:
            continue
        if first.errors:
            yield Measured(subject, ranks, "ratio", " ".join(first.errors))
        elif first.made + first.checked < SHORT:
            short.append(subject)
        else:
            yield timed_ratio(cclc, subject, ranks, stored, folder)
    # Instructions are the same whatever runs beside it.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        yield from filter(None, workers.map(lambda subject: counted_ratio(cclc, subject, ranks), short))


def counted_ratio(cclc, subject, ranks):
    """The row for checked over made in instructions; none if nothing can count them."""
    made, total = (counted(cclc, subject, ranks, options) for options in (UNCHECKED, []))
    if made is None or total is None:
        return None
    return Measured(subject, ranks, "ratio", round((total - made) / made, 2))


def timed_ratio(cclc, subject, ranks, stored, folder):
    """The row for checked over made in CPU time."""
    found = None
    for _ in range(TRIES):
        runs = [Run(cclc, subject, ranks, folder) for _ in range(RUNS)]
        value = round(statistics.median(run.checked / max(run.made, 1e-6) for run in runs), 2)
        found = value if found is None else min(found, value)
        row = Measured(subject, ranks, "ratio", found)
        if row.complaint(stored) is None:
            break
    return row


def most_ranks(cclc, subject, folder):
    """A complaint about the largest number of ranks; none if all is well."""
    run = Run(cclc, subject, MOST, folder, only_check=True)
    if run.is_impossible:
        return None
    cost = f"{subject.path} {MOST}: {run.seconds:.2f} s, {run.mebibytes:.0f} MiB, {' '.join(run.errors) or 'proved'}"
    print(cost, flush=True)
    if run.exceeds:
        return cost if run.seconds > REFUSED else None
    return cost if run.errors or run.seconds > PROVED[0] or run.mebibytes > PROVED[1] else None


# Options with which nothing is checked.
UNCHECKED = ["--unproved", "--checks", "none"]


def counted(cclc, subject, ranks, options):
    """How many instructions building takes; none if nothing is built, or nothing can count them."""
    if not shutil.which(COUNTER[0]):
        return None
    with tempfile.TemporaryDirectory() as folder:
        command = [*COUNTER, cclc, "build", subject.path, *subject.arguments(ranks), "-o", f"{folder}/plan.json", *options]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    count = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    return int(count[1].replace(",", "")) if done.returncode == 0 and count else None


def instructions(cclc, subject, ranks):
    """The row for the instructions that making the plan takes, in thousands; none if the program is not made."""
    count = counted(cclc, subject, ranks, UNCHECKED)
    return None if count is None else Measured(subject, ranks, "instructions", round(count / 1000))


def read_stored():
    rows = [line.split("\t") for line in STORED.read_text().splitlines()[1:]] if STORED.exists() else []
    return {tuple(row[:4]): row[4] for row in rows}


def write_stored(stored):
    order = lambda key: (key[0], key[1], key[3], int(key[2]))
    rows = ["\t".join([*key, stored[key]]) for key in sorted(stored, key=order)]
    STORED.write_text("\n".join([HEADER, *rows]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cclc", default=str(ROOT / "target/release/cclc"))
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    cclc, stored = str(Path(options.cclc).resolve()), read_stored()
    chosen = subjects(options.words)
    rows, complaints = [], []
    if shutil.which(COUNTER[0]):
        with concurrent.futures.ThreadPoolExecutor() as workers:
            count = lambda one: instructions(cclc, one, one.fixed or COUNTED)
            rows += [row for row in workers.map(count, chosen) if row]
    else:
        print(f"NOT DONE: there is no valgrind, so instructions are not counted, and what takes less than {SHORT} s is left out")
    numbers = list(BARS) if options.long else list(BARS)[:1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scalable = [one for one in chosen if not one.fixed]
        for ranks in numbers:
            for row in ratios(cclc, scalable, ranks, stored, folder):
                print(*row.key[:3], row.value, flush=True)
                rows.append(row)
        if options.long:
            complaints += filter(None, (most_ranks(cclc, one, folder) for one in scalable if one.is_of_library))
    if options.update:
        write_stored(stored | {row.key: row.bound() for row in rows})
    else:
        complaints += filter(None, (row.complaint(stored) for row in rows))
    print(f"{len(rows)} measurements, {len(complaints)} complaints")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
