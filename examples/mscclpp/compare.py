#!/usr/bin/env python3
"""Compares the ports with MSCCL++'s Python DSL at parameters that no recorded plan has.

    git clone https://github.com/microsoft/mscclpp
    cargo build --release
    examples/mscclpp/compare.py --mscclpp mscclpp

    examples/mscclpp/compare.py --page docs/ports.md

For each case the DSL makes a plan from the original, and cclc one from the port; `cclc list --normal` of both must be equal.
`cclc verify` must find nothing in the DSL's plan; where the original goes wrong, the port in `defective/` is compared, and
verify must report what goes wrong. `--record` writes what the DSL's plans are to `compared.tsv`: digests of their listings, and what
verify finds. Without `--mscclpp`, the ports are compared with that. `--page` also compares the table with that of a page.

A Markdown table goes to standard output, one line for each case to standard error; the exit
status is 1 if something is not as expected. Only the standard library of Python 3.9 is needed, and no GPU.
"""

import argparse
import collections
import hashlib
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = "python/mscclpp/language/tests/"
# Bytes of a chunk in listings: within the bounds that all plans set.
CHUNK = "65536"
RECORDED = os.path.join(HERE, "compared.tsv")
HEADER = "original\targuments\tlines\tsha256\tverify"
ALGORITHMS = "python/mscclpp/default_algos/"


class Case:
    """An original with its arguments, and a port with its own; `codes` are what verify reports, if anything."""

    def __init__(self, original, dsl, port, program, ours, codes=()):
        self.original, self.dsl = original, dsl
        self.port, self.program, self.ours = port, program, ours
        self.codes = set(codes)

    def key(self):
        return self.original, " ".join(f"{name}={value}" for name, value in self.dsl.items())


class Row:
    """What is known of all plans of an original."""

    def __init__(self):
        self.plans = self.equal = self.judged = 0
        self.expected = collections.Counter()

    def says(self):
        if len(self.expected) == 1:
            return next(iter(self.expected))
        return ", ".join(f"{code} of {count}" for code, count in sorted(self.expected.items()))


class Plan:
    """What is known of a plan of the DSL: its normal listing by number of lines and digest, and what verify finds."""

    def __init__(self, lines, digest, verdict):
        self.lines, self.digest, self.verdict = lines, digest, verdict


def cases():
    yield from single_node()
    yield from multi_node()
    yield from default_algorithms()


def single_node():
    for ranks in (3, 5, 6, 7, 8, 9):
        for script, program in [
            ("allgather_pkt", "allgather_packets"),
            ("allgather_pkt_rppkt", "allgather_read_packets"),
            ("allreduce", "allreduce_blocks"),
            ("allreduce_naivy", "allreduce_naive"),
            ("allreduce_pkt", "allreduce_packets"),
        ]:
            codes = ["E0810"] if script == "allreduce_pkt" and ranks in (3, 6, 7) else []
            yield Case(f"{TESTS}single_node/{script}.py", {"num_gpus": ranks}, f"single_node_{script}.ccl", program, {"ranks": ranks}, codes)
        yield Case(
            f"{TESTS}single_node/allreduce_nvls_zero_copy.py",
            {"num_gpus": ranks},
            "defective/single_node_nvls_zero_copy.ccl",
            "allreduce_nvls",
            {"ranks": ranks},
            ["E0512"],
        )
        for script, program in [
            ("alltoall", "alltoall_blocks"),
            ("alltoall_pipeline", "alltoall_windows"),
            ("alltoall_ring", "alltoall_ring"),
            ("alltoall_ring_oop", "alltoall_ring_out_of_place"),
            ("alltoall_ring_peers", "alltoall_pairs"),
        ]:
            if program == "alltoall_pairs" and ranks & (ranks - 1):
                continue
            yield Case(f"{TESTS}single_node/alltoall/{script}.py", {"num_gpus": ranks}, "single_node_alltoall.ccl", program, {"ranks": ranks})
    for ranks, instances in [(3, 1), (5, 3), (8, 4), (9, 2)]:
        both = {"num_gpus": ranks, "instances": instances}
        ours = {"ranks": ranks, "instances": instances}
        yield Case(
            f"{TESTS}single_node/allgather_nvls_zero_copy.py",
            both,
            "defective/single_node_nvls_zero_copy.ccl",
            "allgather_nvls",
            ours,
            ["E0512"],
        )
        yield Case(
            f"{TESTS}single_node/allgather_nvls_zero_copy_pkt.py",
            dict(both, min_message_size=1 << 16),
            "single_node_allgather_nvls_zero_copy_pkt.ccl",
            "allgather_nvls_packets",
            ours,
            ["E0810"] if (ranks, instances) == (5, 3) else [],
        )


def multi_node():
    for per_node in (3, 5, 6):
        ours = {"ranks": 2 * per_node, "ranks_per_node": per_node}
        for script, program, folder, codes in [
            ("allgather", "allgather_nodes", "", []),
            ("allgather_pkt", "allgather_nodes_packets", "", []),
            ("reducescatter_pkt", "reducescatter_packets", "", ["E0810"]),
            ("reducescatter", "reducescatter_2nodes", "defective/", ["E0512"]),
        ]:
            yield Case(f"{TESTS}multi_node/{script}.py", {"gpus_per_node": per_node}, f"{folder}multi_node_{script}.ccl", program, ours, codes)
    for ranks, per_node, width in [(6, 2, 2), (6, 3, 2), (8, 2, 3), (12, 4, 1), (10, 5, 2)]:
        yield Case(
            f"{TESTS}multi_node/allgather_tbg.py",
            # The original takes one for the other.
            {"num_gpus": ranks, "gpus_per_node": width, "tbg_size": per_node},
            "multi_node_allgather_tbg.ccl",
            "allgather_groups",
            {"ranks": ranks, "ranks_per_node": per_node, "width": width},
        )
    for nodes, per_node, mask, instances in [(3, 1, 0, 4), (5, 1, 0, 1), (2, 4, 3, 2), (3, 4, 1, 1), (4, 2, 0, 3)]:
        yield Case(
            f"{TESTS}multi_node/send_recv.py",
            {"nnodes": nodes, "gpus_per_node": per_node, "split_mask": mask, "instances": instances},
            "defective/multi_node_send_recv.ccl",
            "send_recv",
            {"ranks": nodes * per_node, "ranks_per_node": per_node, "split_mask": mask, "instances": instances},
            ["E0512"],
        )


def default_algorithms():
    for ranks, per_node in [(6, 2), (6, 3), (9, 3), (16, 4), (16, 8), (10, 5)]:
        ours = {"ranks": ranks, "ranks_per_node": per_node}
        for in_place in (True, False):
            yield Case(
                f"{ALGORITHMS}allgather_multi_nodes.py",
                {"collective": "AllGather", "ranks": ranks, "per_node": per_node, "in_place": in_place},
                "default_algos_allgather_multi_nodes.ccl",
                "allgather_multi_nodes",
                dict(ours, in_place=str(in_place).lower()),
            )
        for width in (1, 2, 3):
            yield Case(
                f"{ALGORITHMS}reducescatter_multi_nodes.py",
                {"collective": "ReduceScatter", "ranks": ranks, "per_node": per_node, "width": width},
                "defective/default_algos_reducescatter_multi_nodes.ccl",
                "reducescatter_multi_nodes",
                dict(ours, width=width),
                ["E0503"],
            )
            # The language has no words for packets put over a port channel: the mended port, see `mended`.
            yield Case(
                f"{ALGORITHMS}allreduce_multi_nodes.py",
                {"collective": "AllReduce", "ranks": ranks, "per_node": per_node, "width": width},
                "default_algos_allreduce_multi_nodes.ccl",
                "allreduce_multi_nodes",
                dict(ours, tbg=width),
                ["E0807"],
            )


def main():
    options = arguments()
    if options.child:
        return child(options)
    recorded = read_recorded()
    rows, made = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if options.only and options.only not in case.original:
                continue
            if options.mscclpp:
                theirs = made[case.key()] = plan_of_original(options, case, folder)
            elif case.key() in recorded:
                theirs = recorded[case.key()]
            else:
                print(f"{' '.join(case.key())}: not in {RECORDED}; `--mscclpp PATH --record` writes it", file=sys.stderr)
                return 1
            listing, verdict = compare(options, case, theirs, folder), theirs.verdict
            expected = ", ".join(sorted(case.codes)) or "right"
            given = ", ".join(f"{key} {value}" for key, value in case.ours.items())
            print(f"{case.original}, {given}: {listing}, {verdict}", file=sys.stderr)
            row = rows.setdefault(case.original, Row())
            row.plans += 1
            row.equal += listing == "equal"
            row.judged += verdict == expected
            row.expected[expected] += 1
    if options.record:
        write_recorded(made)
    return report(rows, options.page)


def read_recorded():
    with open(RECORDED, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if lines[:1] != [HEADER]:
        sys.exit(f"{RECORDED}: the first line must be {HEADER!r}")
    cells = (line.split("\t") for line in lines[1:])
    return {(original, given): Plan(int(length), digest, verdict) for original, given, length, digest, verdict in cells}


def write_recorded(plans):
    lines = ("\t".join([*key, str(plan.lines), plan.digest, plan.verdict]) for key, plan in plans.items())
    with open(RECORDED, "w", encoding="utf-8") as file:
        file.write("\n".join([HEADER, *lines]) + "\n")


def report(rows, page):
    table = ["| original | plans | equal | verify says | of |", "| --- | ---: | ---: | --- | ---: |"]
    for original, row in rows.items():
        name = original.replace(TESTS, "").replace(ALGORITHMS, "default_algos/")
        table.append(f"| {name} | {row.plans} | {row.equal} | {row.says()} | {row.judged} |")
    plans, equal, judged = (sum(getattr(row, name) for row in rows.values()) for name in ("plans", "equal", "judged"))
    table.append(f"| **all** | {plans} | {equal} | | {judged} |")
    print("\n".join(table))
    return 0 if plans == equal == judged and has_table(page, table) else 1


def has_table(page, table):
    """Whether a page, if one is given, has this table."""
    if not page:
        return True
    with open(page, encoding="utf-8") as file:
        found = "\n".join(table) in file.read()
    if not found:
        print(f"{page}: has not the table above", file=sys.stderr)
    return found


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mscclpp", metavar="PATH", help="a checkout of MSCCL++'s sources; otherwise its plans are those of `compared.tsv`")
    parser.add_argument("--record", action="store_true", help="write `compared.tsv`, with `--mscclpp`")
    parser.add_argument("--page", metavar="FILE", help="a page that must have the table")
    parser.add_argument("--cclc", default=os.path.join(HERE, "..", "..", "target", "release", "cclc"), metavar="PATH")
    parser.add_argument("--keep", metavar="FOLDER", help="where the DSL's plans go, to be judged by other means")
    parser.add_argument("--only", metavar="TEXT", help="originals with this in their path")
    parser.add_argument("--child", metavar="SCRIPT", help=argparse.SUPPRESS)
    parser.add_argument("--set", action="append", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.mscclpp and (options.record or options.keep):
        parser.error("`--record` and `--keep` need `--mscclpp`")
    if options.only and (options.record or options.page):
        parser.error("`--record` and `--page` are about all originals, without `--only`")
    return options


def plan_of_original(options, case, folder):
    """What the DSL makes of an original."""
    plan = os.path.join(folder, "theirs.json")
    original(options, case, plan)
    if options.keep:
        words = [os.path.splitext(os.path.basename(case.original))[0]] + [f"{key}{value}" for key, value in case.dsl.items()]
        shutil.copy(plan, os.path.join(options.keep, "_".join(words) + ".json"))
    lines = listing_of(options, plan)
    if "E0807" in case.codes:
        lines = [mended(line) for line in lines]
    lines = without_scratch(case, lines)
    return Plan(len(lines), digest_of(lines), verify(options, plan))


def compare(options, case, theirs, folder):
    """Whether the port's plan has the same listing."""
    plan = os.path.join(folder, "ours.json")
    build = ["build", os.path.join(HERE, case.port), "--root", HERE, "--program", case.program, "-O", "name=compared", "-o", plan]
    build += [word for key, value in case.ours.items() for word in ("-D", f"{key}={value}")]
    if case.codes - {"E0810"}:
        build += ["--unproved", "--checks", "none"]
    built = subprocess.run([options.cclc] + build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if built.returncode:
        print(built.stdout, file=sys.stderr)
        return "not built"
    lines = without_scratch(case, listing_of(options, plan))
    if digest_of(lines) == theirs.digest:
        return "equal"
    print(f"{case.original} {case.ours}: {len(lines)} lines, and {theirs.lines} of the original", file=sys.stderr)
    return "different"


def without_scratch(case, lines):
    """A listing without the size of scratch, where the original's halves begin within packets and the port has more of it."""
    if "E0810" not in case.codes:
        return lines
    return [re.sub(r"^(rank \d+ chunks in \d+ out \d+ scratch) \d+ ", r"\1 ", line) for line in lines]


def listing_of(options, plan):
    command = [options.cclc, "list", "--normal", "--chunk-bytes", CHUNK, plan]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def digest_of(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def mended(line):
    """A line of a listing, with packets read and put where the original puts over a port what it takes for packets; these
    have one source for all destinations."""
    line = re.sub(r"^  ppkt\(3\) via port", "  rppkt(4) via port", line)
    return re.sub(r"^(  rppkt\(4\) via port .* in\[)(\S+)( \2)+\]", r"\1\2]", line)


def verify(options, plan):
    command = [options.cclc, "verify", plan, "--message-format", "short"]
    report = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ", ".join(sorted(set(re.findall(r"\b(E\d{4})\b", report.stdout)))) or "right"


def original(options, case, plan):
    """Lets the DSL make a plan, in a process of its own: some of its state goes on from one program to the next."""
    command = [sys.executable, os.path.abspath(__file__), "--mscclpp", options.mscclpp, "--child", case.original]
    command += [word for key, value in case.dsl.items() for word in ("--set", f"{key}={value}")]
    with open(plan, "w", encoding="utf-8") as out:
        subprocess.run(command, check=True, stdout=out)


def child(options):
    """Runs one original in this process; it prints its plan."""
    python = os.path.join(options.mscclpp, "python")
    sys.path.insert(0, python)
    # An empty `mscclpp` in the place of the real one, which would load its C++ module: the DSL needs only files.
    package = types.ModuleType("mscclpp")
    package.__path__ = [os.path.join(python, "mscclpp")]
    sys.modules["mscclpp"] = package
    script = os.path.join(options.mscclpp, options.child)
    given = dict(pair.split("=") for pair in options.set)
    if options.child.startswith(ALGORITHMS):
        print(algorithm(script, given))
    else:
        words = [word for key, value in given.items() for word in (f"--{key}", value)]
        sys.argv = [script, "--name", "compared"] + words
        runpy.run_path(script, run_name="__main__")
    return 0


def algorithm(script, given):
    """The plan of a default algorithm, with the options that MSCCL++ builds it with."""
    from mscclpp.language import collectives, utils

    ranks, per_node = int(given["ranks"]), int(given["per_node"])
    in_place = given.get("in_place", "True") == "True"
    collective = getattr(collectives, given["collective"])(ranks, 1, in_place)
    spec = utils.AlgoSpec(
        name="compared",
        collective=collective,
        nranks_per_node=per_node,
        world_size=ranks,
        in_place=in_place,
        instances=1,
        protocol="LL",
        auto_sync=False,
        reuse_resources=True,
        use_double_scratch_buffer=True,
        min_message_size=1 << 10,
        max_message_size=8 << 20,
    )
    name = os.path.splitext(os.path.basename(script))[0]
    function = runpy.run_path(script)[name]
    width = [int(given["width"])] if "width" in given else []
    return function(spec, *width).to_json()


if __name__ == "__main__":
    sys.exit(main())
