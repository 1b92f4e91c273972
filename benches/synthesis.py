#!/usr/bin/env python3
"""Measures `cclc synth` beside other tools that make schedules for a machine, in the same run, and compares what they find.

    git clone https://github.com/microsoft/msccl-tools
    git clone https://github.com/liangyuRain/ForestColl
    git clone https://github.com/astra-sim/tacos
    python3 -m venv venv
    venv/bin/pip install z3-solver argcomplete lxml humanfriendly tabulate igraph networkx
    cargo build --release
    benches/synthesis.py --msccl-tools msccl-tools --forestcoll ForestColl --tacos tacos --python venv/bin/python

Each measurement is one process start, from the start of the command to its end. CPU time is user and system time together. What takes less
than five seconds is repeated, and the run with the least CPU time is kept. A tool whose checkout is not given is left out, with a word.

A Markdown table goes to standard output, progress and complaints to standard error. The exit status is 1 if there are complaints:

* `cclc` takes longer than the bar of a question, does not settle it, or `cclc proof` refuses its proof;
* its trees do not reach every rank, or are deeper than ForestColl's;
* tools that solve the same question exactly find different values, or one that does not is better than what `cclc` says is the least.

Only the standard library of Python 3.9 is needed here; what the tools need is in the environment of `--python`. TACOS is compiled with g++.
"""

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MACHINES = "benches/machines.ccl"
COLUMNS = ["question", "tool", "CPU", "wall", "what it finds"]

# What takes longer is run once.
LONG_SECONDS = 5.0


@dataclass
class Published:
    """Figures that a tool's authors publish, of their own machine."""

    tool: str
    solver_seconds: float
    # How long their schedule takes to gather 1 GB, latencies included.
    milliseconds: float
    note: str = ""


@dataclass
class Case:
    """A question that is put to `cclc` and to others."""

    title: str
    machine: str
    # The seconds that `cclc` may take: the user's part of its CPU time, on a machine without other work.
    bar: float
    collective: str = "allgather"
    goal: str = "bandwidth"
    # Whether the proofs are written and checked as well.
    is_proved: bool = False
    # What msccl-tools calls the collective.
    msccl_tools: str = ""
    # What `make_graph` calls the machine.
    forestcoll: str = ""
    # The arguments of tacos.cpp.
    tacos: list = field(default_factory=list)
    published: list = field(default_factory=list)

    def words(self):
        """The arguments of `cclc`, which runs in the root of the repository."""
        return ["synth", self.collective, "--topology", self.machine, "--goal", self.goal, "--dry-run"]


TECCL = "TE-CCL, published"
CASES = [
    Case("DGX-1: AllGather, in steps", "dgx1", 0.05, goal="latency", is_proved=True, msccl_tools="Allgather", tacos=["dgx1", "6"]),
    Case("DGX-1: AllToAll, in steps", "dgx1", 0.05, "alltoall", "latency", is_proved=True, msccl_tools="Alltoall"),
    Case("DGX-1: AllGather, trees", "dgx1", 0.05, forestcoll="dgx1"),
    Case("2 DGX H100, 16 GPUs: trees", "dgx_h100(boxes=2)", 0.05, forestcoll="dgx_h100 2"),
    Case("4 DGX H100, 32 GPUs: trees", "dgx_h100(boxes=4)", 0.05, forestcoll="dgx_h100 4"),
    Case("16 DGX H100, 128 GPUs: trees", "dgx_h100(boxes=16)", 0.05),
    Case("128 DGX H100, 1,024 GPUs: trees", "dgx_h100(boxes=128)", 0.3),
    Case("2 DGX A100, two networks: trees", f"{MACHINES}::dgx_a100_two_networks(boxes=2)", 0.1, forestcoll="dgx_a100 2"),
    Case("2 MI250, 32 dies: trees", "mi250(boxes=2)", 0.15, forestcoll="mi250 2"),
    Case("torus of 8 x 8: AllGather, in steps", "torus(rows=8, columns=8)", 0.1, goal="latency", tacos=["torus", "8", "8", "4"]),
    Case("torus of 16 x 16: AllGather, in steps", "torus(rows=16, columns=16)", 0.8, goal="latency", tacos=["torus", "16", "16", "4"]),
    Case("torus of 16 x 32: AllGather, in steps", "torus(rows=16, columns=32)", 2.0, goal="latency", tacos=["torus", "16", "32", "4"]),
    Case(
        "2 NDv2, 16 GPUs: trees",
        f"{MACHINES}::teccl_ndv2(boxes=2)",
        0.05,
        published=[
            Published(f"{TECCL} (epochs of slow links)", 4.58, 50.0, "15 GPUs"),
            Published(f"{TECCL} (epochs of fast links)", 43.42, 43.75, "15 GPUs"),
        ],
    ),
    Case(
        "4 NDv2, 32 GPUs: trees",
        f"{MACHINES}::teccl_ndv2(boxes=4)",
        0.05,
        published=[
            Published(f"{TECCL} (epochs of slow links)", 221.51, 65.0),
            Published(f"{TECCL} (epochs of fast links)", 30854.98, 66.25),
        ],
    ),
    Case(
        "2 DGX-2, 32 GPUs: trees",
        f"{MACHINES}::teccl_dgx2",
        0.2,
        published=[
            Published(f"{TECCL} (epochs of slow links)", 11.79, 10.0),
            Published(f"{TECCL} (epochs of fast links)", 2699.87, 7.75),
        ],
    ),
]


@dataclass
class Run:
    """What a command printed, and what it took."""

    output: str
    # User and system time, and the user's part of it.
    cpu: float
    user: float
    wall: float
    # Whether it was ended because it had used up its CPU time.
    is_cut: bool = False


class Failed(Exception):
    """A command ended with an error."""


def run(words, limit=None, **options):
    """Runs a command once, at most for so many seconds of CPU time."""

    def set_limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))

    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        before = time.monotonic()
        process = subprocess.Popen(words, stdout=output, stderr=errors, preexec_fn=set_limits, **options)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - before
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        said, complained = output.read().decode(), errors.read().decode()
    cpu = usage.ru_utime + usage.ru_stime
    is_cut = process.returncode == -signal.SIGXCPU
    if process.returncode and not is_cut:
        raise Failed(f"{' '.join(map(str, words))}: exit status {process.returncode}\n{said}{complained}")
    return Run(said, cpu, usage.ru_utime, wall, is_cut)


def measure(words, turns, limit=None, **options):
    """The best of several runs; one, if it is long."""
    runs = [run(words, limit, **options)]
    while runs[0].cpu < LONG_SECONDS and len(runs) < turns:
        runs.append(run(words, limit, **options))
    return min(runs, key=lambda one: one.cpu)


@dataclass
class Found:
    """What `cclc` finds, in the units of others."""

    # (steps, rounds, chunks) of each schedule.
    points: list
    # Whether nothing else can be better.
    is_complete: bool
    # For trees: the time for each shard on a link of 1 GB/s, as a fraction; how many there are for each root; how deep.
    rho: Fraction = None
    k: int = 0
    depth: int = 0
    ranks: int = 0

    def describe(self):
        if self.rho is not None:
            return describe_trees(self.ranks, self.rho, self.k, self.depth)
        rest = "nothing else is better" if self.is_complete else "not complete"
        return f"{describe_points(self.points)}; {rest}"

    def find_least(self):
        """The least rounds for each chunk."""
        return min(Fraction(rounds, chunks) for _, rounds, chunks in self.points)


def describe_points(points):
    """As SCCL writes them: steps, rounds, chunks."""
    return ", ".join(f"({steps}, {rounds}, {chunks})" for steps, rounds, chunks in points)


def describe_trees(ranks, rho, k, depth):
    return f"{float(ranks / rho):.1f} GB/s, {k} tree{'s' if k > 1 else ''} for each root, depth {depth}"


def read_answer(case, cclc):
    """What `cclc` answers to a question, from one more run; its trees are followed here, not believed."""
    answer = json.loads(run([cclc, *case.words(), "--json"], cwd=ROOT).output)
    points = [(point["steps"], point["rounds"], point["chunks"]) for point in answer["points"]]
    is_complete = answer["complete"] and all(point["status"] == "optimal" for point in answer["points"])
    found = Found(points, is_complete, ranks=answer["ranks"])
    if "trees" in answer:
        found.rho = Fraction(answer["rho"]) / read_rate(answer["round"])
        found.k = answer["k"]
        found.depth = max(measure_depth(tree, found.ranks) for tree in answer["trees"])
        for root in range(found.ranks):
            weight = sum(tree["weight"] for tree in answer["trees"] if tree["root"] == root)
            if weight != found.k:
                raise Failed(f"{case.title}: the trees of rank {root} carry {weight} pieces of {found.k}")
    return found


def read_rate(text):
    """What a link carries in a round, in GB/s, or in chunks."""
    number, unit = re.search(r"([\d.]+)([KMGT]?)", text).groups()
    return Fraction(number) * {"": 1, "K": Fraction(1, 10**6), "M": Fraction(1, 1000), "G": 1, "T": 1000}[unit]


def measure_depth(tree, ranks):
    """How many hops away from its root a tree's farthest rank is."""
    parents = {to: source for source, to in tree["edges"]}
    if len(parents) != ranks - 1 or len(tree["edges"]) != ranks - 1 or tree["root"] in parents:
        raise Failed(f"a tree of rank {tree['root']} does not reach every rank once")
    depths = {tree["root"]: 0}
    for rank in parents:
        path = []
        while rank not in depths:
            if rank in path or rank not in parents:
                raise Failed(f"a tree of rank {tree['root']} has a part that is not joined to it")
            path.append(rank)
            rank = parents[rank]
        for steps, rank in enumerate(reversed(path), depths[rank] + 1):
            depths[rank] = steps
    return max(depths.values())


def write_seconds(seconds):
    digits = 3 if seconds < 10 else 1 if seconds < 1000 else 0
    return f"{seconds:,.{digits}f} s"


class Benchmark:
    """The rows of the table, and what is wrong."""

    def __init__(self, options):
        self.options, self.rows, self.complaints, self.missing = options, [], [], []
        self.cclc = Path(options.cclc).resolve()

    def add(self, case, tool, measured, what):
        """Adds a row; for published figures there is only wall time."""
        cpu = "" if measured.cpu is None else write_seconds(measured.cpu)
        if measured.is_cut:
            cpu = f"> {self.options.limit} s"
        wall = write_seconds(measured.wall)
        self.rows.append([case.title, tool, cpu, wall, what])
        print(" | ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def complain(self, case, text):
        self.complaints.append(f"{case.title}: {text}")

    def ask(self, case):
        """Puts a question to `cclc`, and then to all others."""
        turns = self.options.turns
        ours = measure([self.cclc, *case.words()], turns, cwd=ROOT)
        found = read_answer(case, self.cclc)
        self.add(case, "cclc", ours, found.describe())
        if ours.user > case.bar:
            self.complain(case, f"cclc takes {ours.user:.3f} s of user time, and should take {case.bar} s at most")
        if not found.is_complete:
            self.complain(case, "cclc does not settle it")
        if case.is_proved:
            self.prove(case, found)
        if case.msccl_tools and self.options.msccl_tools:
            self.ask_msccl_tools(case, found)
        if case.forestcoll and self.options.forestcoll:
            self.ask_forestcoll(case, found)
        if case.tacos and self.options.tacos:
            self.ask_tacos(case, found)
        for own in case.published:
            self.cite(case, own, found)

    def prove(self, case, found):
        """The same question, with its proofs written, and then checked."""
        with tempfile.TemporaryDirectory() as folder:
            proof = Path(folder) / "proof"
            command = '"$0" "${@:2}" --prove "$1" && "$0" proof "$1"'
            words = ["bash", "-ec", command, self.cclc, proof, *case.words()]
            both = measure(words, self.options.turns, cwd=ROOT)
        self.add(case, "cclc, proofs checked", both, found.describe())
        if both.user > case.bar:
            self.complain(case, f"with proofs cclc takes {both.user:.3f} s of user time, and should take {case.bar} s at most")

    def ask_msccl_tools(self, case, found):
        words = [self.options.python, "-m", "msccl", "solve", "pareto-optimal", "DGX1", case.msccl_tools, "--no-save"]
        environment = {**os.environ, "PYTHONPATH": str(self.options.msccl_tools), "PYTHONDONTWRITEBYTECODE": "1"}
        theirs = measure(words, self.options.rival_turns, self.options.limit, env=environment)
        points = prune(read_solved(theirs.output))
        if theirs.is_cut:
            last = re.findall(r"Solving instance (steps=\S+)\.\.\. ?$", theirs.output.strip())
            asked = f"; ended at {last[-1].rstrip('.')}" if last else ""
            what = f"{describe_points(points) or 'nothing'} so far{asked}"
        else:
            what = describe_points(points)
            if points != found.points:
                self.complain(case, f"msccl-tools finds {what}, and cclc {describe_points(found.points)}")
        for steps, rounds, chunks in points:
            if not any(own[0] <= steps and Fraction(own[1], own[2]) <= Fraction(rounds, chunks) for own in found.points):
                self.complain(case, f"msccl-tools finds {(steps, rounds, chunks)}, and cclc nothing that is as good")
        self.add(case, "msccl-tools (z3)", theirs, what)

    def ask_forestcoll(self, case, found):
        words = [self.options.python, __file__, "--forestcoll", self.options.forestcoll, "--child", case.forestcoll]
        # The order of Python's sets decides about its trees.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        theirs = measure(words, self.options.rival_turns, self.options.limit, env=environment)
        if theirs.is_cut:
            self.add(case, "ForestColl", theirs, "nothing so far")
            return
        answer = json.loads(theirs.output)
        rho, k, depth = Fraction(answer["rho"]), answer["k"], answer["depth"]
        bound = f"; {answer['bound_seconds']:.2f} s of it for the bound"
        self.add(case, "ForestColl", theirs, describe_trees(found.ranks, rho, k, depth) + bound)
        if rho != found.rho:
            self.complain(case, f"ForestColl's bound is {rho}, and that of cclc {found.rho}")
        if depth < found.depth:
            self.complain(case, f"ForestColl's trees have depth {depth}, and those of cclc {found.depth}")

    def ask_tacos(self, case, found):
        """TACOS draws lots: the best of its schedules is kept."""
        words = [self.options.tacos_binary, *case.tacos]
        runs = [run(words, self.options.limit)]
        while runs[0].cpu < LONG_SECONDS and len(runs) < self.options.rival_turns:
            runs.append(run(words, self.options.limit))
        theirs = min(runs, key=lambda one: one.cpu)
        if theirs.is_cut:
            self.add(case, "TACOS", theirs, "nothing so far")
            return
        rounds, chunks = min(Fraction(one.output.strip()) for one in runs), int(case.tacos[-1])
        self.add(case, "TACOS", theirs, f"{float(rounds):g} rounds for {chunks} chunks; no bound")
        if rounds / chunks < found.find_least():
            self.complain(case, f"TACOS takes {rounds / chunks} rounds for a chunk, less than {found.find_least()}")

    def cite(self, case, own, found):
        """A row of published figures, with what ours takes for the same."""
        least = float(found.rho / found.ranks) * 1000
        note = f", {own.note}" if own.note else ""
        measured = Run("", None, None, own.solver_seconds)
        self.add(case, own.tool, measured, f"1 GB in {own.milliseconds:g} ms{note}; the least is {least:g} ms")
        if not own.note and own.milliseconds < least * (1 - 1e-9):
            self.complain(case, f"{own.tool}: 1 GB in {own.milliseconds} ms, and cclc says {least} ms is the least")


def read_solved(log):
    """(steps, rounds, chunks) of what msccl-tools says it has solved."""
    solved = re.findall(r"Solving instance steps=(\d+)(?:,rounds=(\d+))?(?:,chunks=(\d+))?\.\.\. synthesized", log)
    return [(int(steps), int(rounds or steps), int(chunks or 1)) for steps, rounds, chunks in solved]


def prune(points):
    """The points than which no other one is as good in steps and in rounds for each chunk."""

    def key(point):
        return point[0], Fraction(point[1], point[2])

    best = []
    for point in sorted(points, key=key):
        if not best or key(point)[1] < key(best[-1])[1]:
            best.append(point)
    return best


def solve_with_forestcoll(options):
    """Runs ForestColl in this process, and prints what it finds."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(options.forestcoll))
    import pipeline_allgather as forestcoll

    spent = []
    search = forestcoll.OptimalBranchingsAlgo.binary_search

    def search_timed(self):
        before = time.process_time()
        found = search(self)
        spent.append(time.process_time() - before)
        return found

    forestcoll.OptimalBranchingsAlgo.binary_search = search_timed
    graph, ranks = make_graph(options.child)
    (time_for_k, k), (trees, _) = forestcoll.optimal_pipeline_spanning_trees(graph, compute_nodes=ranks)
    depth = 0
    for (root, _), paths in trees.items():
        edges = [[path[0][0], path[-1][-1]] for path in paths]
        depth = max(depth, measure_depth({"root": root, "edges": edges}, len(ranks)))
    rho = Fraction(time_for_k / k).limit_denominator(10**6)
    print(json.dumps({"rho": str(rho), "k": k, "depth": depth, "bound_seconds": spent[0]}))


def make_graph(name):
    """A machine as ForestColl takes it: its own model where it has one, and otherwise vertices that it sorts as its own."""
    import networkx
    import topologies

    machine, *boxes = name.split()
    if machine == "dgx_a100":
        return topologies.a100_topology(int(boxes[0]))
    if machine == "mi250":
        return topologies.mi250_topology(int(boxes[0]))
    graph, ranks = networkx.DiGraph(), []
    if machine == "dgx1":
        ranks = [(0, "GPU", rank) for rank in range(8)]
        pairs = {1: "02 03 12 15 37 46 47 56", 2: "01 04 13 23 26 45 57 67"}
        for links, pair in ((links, pair) for links, all_pairs in pairs.items() for pair in all_pairs.split()):
            one, other = (ranks[int(digit)] for digit in pair)
            graph.add_edge(one, other, capacity=25 * links)
            graph.add_edge(other, one, capacity=25 * links)
        return graph, ranks
    if machine != "dgx_h100":
        sys.exit(f"{name}: no such machine")
    for box in range(int(boxes[0])):
        for local in range(8):
            rank = (box, "GPU", local)
            ranks.append(rank)
            for switch, rate in (((box, "NVSwitch", 0), 450), ((-1, "IB", local), 50)):
                graph.add_edge(rank, switch, capacity=rate)
                graph.add_edge(switch, rank, capacity=rate)
    return graph, ranks


def compile_tacos(checkout, folder):
    """TACOS's sources with a main function that puts our questions, as its own build makes them: optimized, without assertions."""
    binary = Path(folder) / "tacos"
    sources = [path for path in (checkout / "src").rglob("*.cpp") if path.name != "main.cpp"]
    words = ["g++", "-std=c++17", "-O3", "-DNDEBUG", f"-I{checkout / 'include'}", ROOT / "benches/tacos.cpp", *sources]
    run([*words, "-o", binary])
    return binary


def find_versions(options):
    """What the tools are: the commits of the checkouts, and the version of z3."""
    versions = []
    for name in ("msccl_tools", "forestcoll", "tacos"):
        checkout = getattr(options, name)
        if checkout:
            commit = subprocess.run(["git", "-C", checkout, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
            versions.append(f"{name.replace('_', '-')} {commit.stdout.strip() or 'without a commit'}")
    if options.msccl_tools:
        words = [options.python, "-c", "import z3; print(z3.get_version_string())"]
        versions.append(f"z3 {run(words).output.strip()}")
    words = [options.python, "-c", "import platform; print('Python', platform.python_version())"]
    return ", ".join([*versions, run(words).output.strip()])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cclc", default=str(ROOT / "target/release/cclc"), metavar="PATH")
    for name in ("--msccl-tools", "--forestcoll", "--tacos"):
        parser.add_argument(name, type=lambda text: Path(text).resolve(), metavar="DIR", help="a checkout")
    parser.add_argument("--python", default=sys.executable, metavar="PATH", help="runs msccl-tools and ForestColl")
    parser.add_argument("--turns", type=int, default=9, metavar="N", help="process starts of cclc")
    parser.add_argument("--rival-turns", type=int, default=3, metavar="N", help="process starts of the others")
    parser.add_argument("--limit", type=int, default=300, metavar="SECONDS", help="CPU time after which another tool is ended")
    parser.add_argument("--only", action="append", metavar="TEXT", help="only questions that contain this")
    parser.add_argument("--child", metavar="MACHINE", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = arguments()
    if options.child:
        solve_with_forestcoll(options)
        return 0
    benchmark = Benchmark(options)
    missing = [name for name in ("msccl-tools", "forestcoll", "tacos") if not getattr(options, name.replace("-", "_"))]
    with tempfile.TemporaryDirectory() as folder:
        if options.tacos:
            options.tacos_binary = compile_tacos(options.tacos, folder)
        for case in CASES:
            if options.only and not any(text in case.title for text in options.only):
                continue
            try:
                benchmark.ask(case)
            except Failed as failure:
                benchmark.complain(case, str(failure))
    print(find_versions(options), "", sep="\n")
    print("| " + " | ".join(COLUMNS) + " |", "| --- | --- | ---: | ---: | --- |", sep="\n")
    for row in benchmark.rows:
        print("| " + " | ".join(row) + " |")
    for name in missing:
        print(f"NOT DONE: `--{name}` is not given, so that tool is not measured")
        print(f"NOT DONE: {name} is not measured", file=sys.stderr)
    for complaint in benchmark.complaints:
        print(complaint, file=sys.stderr)
    return 1 if benchmark.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
