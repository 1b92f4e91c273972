#!/usr/bin/env python3
"""Measures cclc against MSCCL++'s Python DSL: from source text to plan, the same programs, the same run.

    git clone https://github.com/microsoft/mscclpp
    cargo build --release
    benches/rival.py --mscclpp mscclpp

Each measurement is one process start. CPU time is user and system time together: of cclc's whole process, and of the DSL
without its import. Memory is the peak resident set. Both sides run alternately, and the best of each is kept. A Markdown
table goes to standard output, progress to standard error; with `--growth`, a second one shows how cclc's cost grows with
the number of ranks. Only the standard library of Python 3.9 is needed.

A process inherits the peak of the process that started it, so that peaks below this script's own size, some 15 MiB,
cannot be measured.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))

# The name of a program in benches/ and benches/dsl/, its title, and whether it has a parameter for nodes.
PROGRAMS = [
    ("ring_allgather", "ring AllGather", False),
    ("allpairs_allgather_packets", "all-pairs LL AllGather", False),
    ("two_level_allreduce", "two-level AllReduce, groups of 4", True),
    ("ring_allgather_legal", "ring AllGather, within the executor's limits", False),
]

# cclc writes plans that exceed the executor's limits, as the DSL does, and skips all checks that the DSL does not have.
UNCHECKED = ["--unproved", "--checks", "none"]
# Or it runs all checks.
CHECKED = ["--checks", "proof"]


def main():
    options = arguments()
    if options.child:
        return child(options)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, title, nodes in PROGRAMS:
            if options.only and name not in options.only:
                continue
            theirs, ours = [], []
            for turn in range(options.turns):
                ours.append(run_cclc(options, name, nodes, os.path.join(folder, "ours.json")))
                if turn < options.rival_turns:
                    theirs.append(run_dsl(options, name, os.path.join(folder, "theirs.json")))
            rows.append((title, best(theirs), best(ours)))
            print(f"{title}: {rows[-1][1:]}", file=sys.stderr)
        print(table(options, rows))
        if options.growth:
            print(growth(options, folder))
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mscclpp", required=True, metavar="PATH", help="a checkout of MSCCL++'s sources")
    parser.add_argument("--cclc", default=os.path.join(HERE, "..", "target", "release", "cclc"), metavar="PATH")
    parser.add_argument("--ranks", type=int, default=128)
    parser.add_argument("--ranks-per-node", type=int, default=8)
    parser.add_argument("--instances", type=int, default=8)
    parser.add_argument("--turns", type=int, default=5, help="process starts of each side")
    parser.add_argument("--rival-turns", type=int, metavar="N", help="process starts of the DSL, if fewer")
    parser.add_argument("--only", action="append", metavar="PROGRAM")
    parser.add_argument("--checked", action="store_true", help="let cclc make both checks, which the DSL does not have")
    parser.add_argument("--growth", action="store_true", help="measure cclc at half and twice the ranks, too")
    parser.add_argument("--child", metavar="PROGRAM", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rival_turns is None:
        options.rival_turns = options.turns
    return options


def child(options):
    """Runs one program of the DSL in this process, and prints the measurements."""
    stub_package(os.path.join(options.mscclpp, "python"))
    sys.path.insert(0, os.path.join(HERE, "dsl"))
    program = __import__(options.child)
    before = cpu_seconds(resource.getrusage(resource.RUSAGE_SELF))
    text = program.plan(options.ranks, options.ranks_per_node, options.instances)
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(text)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"cpu": cpu_seconds(usage) - before, "memory": peak_bytes(usage)}))
    return 0


def stub_package(python):
    """Replaces `mscclpp` by an empty package: the real one would load its C++ module, but the DSL needs only its files."""
    sys.path.insert(0, python)
    package = types.ModuleType("mscclpp")
    package.__path__ = [os.path.join(python, "mscclpp")]
    sys.modules["mscclpp"] = package


def run_dsl(options, name, out):
    command = [sys.executable, os.path.abspath(__file__), "--mscclpp", options.mscclpp, "--child", name, "--out", out]
    command += ["--ranks", str(options.ranks), "--ranks-per-node", str(options.ranks_per_node)]
    command += ["--instances", str(options.instances)]
    result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return result["cpu"], result["memory"], os.path.getsize(out)


def run_cclc(options, name, nodes, out, ranks=None):
    command = [options.cclc, "build", os.path.join(HERE, name + ".ccl"), "-D", f"ranks={ranks or options.ranks}"]
    command += ["-D", f"instances={options.instances}"]
    if nodes:
        command += ["-D", f"ranks_per_node={options.ranks_per_node}"]
    command += CHECKED if options.checked else UNCHECKED
    if os.path.exists(out):
        os.remove(out)
    with tempfile.TemporaryFile() as report:
        process = subprocess.Popen(command + ["-o", out], stdout=report, stderr=report)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if not os.path.exists(out):
            report.seek(0)
            sys.exit(f"{command} wrote no plan:\n{report.read().decode()}")
    return cpu_seconds(usage), peak_bytes(usage), os.path.getsize(out)


def cpu_seconds(usage):
    return usage.ru_utime + usage.ru_stime


def peak_bytes(usage):
    """The peak resident set; Linux counts in KiB, macOS in bytes."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def best(runs):
    """The minimum of each measure."""
    return tuple(min(values) for values in zip(*runs))


def table(options, rows):
    lines = [
        f"{options.ranks} ranks, {options.ranks_per_node} a node, {options.instances} instances; "
        f"best of {options.turns}" + ("" if options.rival_turns == options.turns else f" (DSL: {options.rival_turns})"),
        "",
        "| program | DSL, CPU | cclc, CPU | ratio | DSL, memory | cclc, memory | ratio | DSL, plan | cclc, plan |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for title, (their_cpu, their_memory, their_size), (our_cpu, our_memory, our_size) in rows:
        lines.append(
            f"| {title} | {their_cpu:.2f} s | {our_cpu:.3f} s | {their_cpu / max(our_cpu, 1e-3):.0f} "
            f"| {mib(their_memory)} | {mib(our_memory)} | {their_memory / our_memory:.1f} "
            f"| {mib(their_size)} | {mib(our_size)} |"
        )
    return "\n".join(lines)


def growth(options, folder):
    """The cost of cclc at several numbers of ranks, next to the size of its output."""
    lines = ["", "| program | ranks | CPU | memory | plan | CPU per MiB of plan |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for name, title, nodes in PROGRAMS:
        if options.only and name not in options.only:
            continue
        for ranks in (options.ranks // 2, options.ranks, options.ranks * 2):
            out = os.path.join(folder, "ours.json")
            cpu, memory, size = best([run_cclc(options, name, nodes, out, ranks) for _ in range(options.turns)])
            per = 1000 * cpu / (size / (1 << 20))
            lines.append(f"| {title} | {ranks} | {cpu:.3f} s | {mib(memory)} | {mib(size)} | {per:.2f} ms |")
    return "\n".join(lines)


def mib(size):
    return f"{size / (1 << 20):.1f} MiB"


if __name__ == "__main__":
    sys.exit(main())
