#!/usr/bin/env python3
"""Judges the programs that `cclc synth` writes: machines of topologies.tsv x collectives x goals.

    cargo build --release
    compiler/tests/synthesized/judge.py --cclc target/release/cclc

Each program has to pass `cclc check` without a report, to be formatted, to be the same text when it is written again, and to
run right in 50 schedules at two sizes. What has no program must say why; how often that is so, and why, is printed. With
`--plans DIR` the plans are kept, for the interpreter of compiler/tests/oracle.rs:

    ORACLE_PLANS=DIR cargo test --release -p ccl-compiler --test oracle the_plans_of_others_are_judged

Only the standard library of Python 3.9 is needed.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COLLECTIVES = ["allgather", "reducescatter", "allreduce", "alltoall",
               "broadcast(root=1)", "reduce(root=1)", "scatter(root=1)", "gather(root=1)"]
# `size` is that of topologies.tsv.
GOALS = ["latency", "bandwidth", "size"]
# The smallest message, and one that takes several windows of pipelines where it has few chunks.
SIZES = ["16", "192KiB"]
SCHEDULES = 50
# What `cclc synth` ends with if everything is proved, and if something is not settled.
STATUSES = (0, 3)


class Failed(Exception):
    pass


def main():
    options = arguments()
    cases = [(machine, collective)
             for machine in machines(options.max_ranks) if options.only in machine.name
             for collective in COLLECTIVES if options.collective in collective]
    if not cases:
        sys.exit("no machine and collective fit")
    programs, reasons, failures = 0, collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, result in zip(cases, pool.map(lambda case: judge(options, *case), cases)):
            name = f"{case[1]} on {case[0].name}"
            programs += result.programs
            reasons.update(result.unwritten)
            failures += [f"{name}: {failure}" for failure in result.failures]
            print(f"{name}: {result.programs} programs" + "".join(f"; {why}" for why in result.failures), file=sys.stderr)
    for why, count in sorted(reasons.items()):
        print(f"{count} without a program: {why}")
    print(f"{programs} programs of {len(cases)} machines and collectives, {len(failures)} failures")
    for failure in failures:
        print(failure)
    sys.exit(1 if failures or programs < len(cases) / 2 else 0)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cclc", required=True, help="the compiler")
    parser.add_argument("--max-ranks", type=int, default=16, help="leave larger machines out (default: 16)")
    parser.add_argument("--only", default="", help="machines whose names contain this")
    parser.add_argument("--collective", default="", help="collectives whose names contain this")
    parser.add_argument("--goals", nargs="*", default=GOALS, help="what is looked for")
    parser.add_argument("--schedules", type=int, default=SCHEDULES, help="in how many schedules each program runs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at once")
    parser.add_argument("--plans", help="a folder for the plans")
    options = parser.parse_args()
    options.cclc = os.path.abspath(options.cclc)
    if options.plans:
        os.makedirs(options.plans, exist_ok=True)
    return options


Machine = collections.namedtuple("Machine", "name on ranks size")
# What was found: its program, or why there is none.
Found = collections.namedtuple("Found", "program failure")


def machines(max_ranks):
    with open(os.path.join(HERE, "topologies.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    all_machines = [Machine(name, on, int(ranks), size) for name, on, ranks, size in rows]
    assert len(all_machines) >= 40, len(all_machines)
    return [machine for machine in all_machines if machine.ranks <= max_ranks]


class Result:
    def __init__(self):
        self.programs = 0
        self.unwritten = []
        self.failures = []


def judge(options, machine, collective):
    result = Result()
    seen = set()
    with tempfile.TemporaryDirectory() as folder:
        for goal in options.goals:
            try:
                judge_goal(options, machine, collective, goal, os.path.join(folder, goal), seen, result)
            except Failed as failure:
                result.failures.append(f"--goal {goal}: {failure}")
    return result


def judge_goal(options, machine, collective, goal, folder, seen, result):
    is_choice = goal == "size"
    if is_choice:
        goal = f"size:{machine.size}"
    command = [options.cclc, "synth", collective, "--topology", machine.name, "--goal", goal, "--json"]
    if machine.on:
        command += ["--on", machine.on]
    answer = answer_of(command + ["-o", folder])
    again = folder + "_again"
    answer_of(command + ["-o", again])
    if answer["ranks"] != machine.ranks:
        raise Failed(f"{answer['ranks']} ranks")
    found = [Found(point["program"], point["failure"]) for point in answer["points"]]
    if "tree_program" in answer:
        found.append(Found(answer["tree_program"], answer["tree_failure"]))
    if not found:
        raise Failed(f"nothing was found: {answer['notes']}")
    # What is not the best for a size has no program, and no reason why.
    if is_choice:
        found = [one for one in found if one != Found(None, None)]
        if len(found) != 1:
            raise Failed(f"{len(found)} are the best")
    result.unwritten += [one.failure for one in found if one.program is None]
    for one in found:
        if (one.program is None) == (one.failure is None):
            raise Failed(f"a program or a reason is missing: {one}")
        if one.program is not None and not os.path.isfile(one.program):
            raise Failed(f"{one.program} is missing")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            text = file.read()
        with open(os.path.join(again, name), "rb") as file:
            if file.read() != text:
                raise Failed(f"{name} is another text the second time")
        digest = hashlib.sha256(text).digest()
        if digest in seen:
            continue
        seen.add(digest)
        judge_program(options, os.path.join(folder, name), result)


def judge_program(options, path, result):
    name = os.path.basename(path)
    checked = run([options.cclc, "check", path])
    if checked.returncode != 0 or "warning" in checked.stderr or "error" in checked.stderr:
        raise Failed(f"{name} is refused: {checked.stderr[:2000]}")
    formatted = run([options.cclc, "fmt", "--check", path])
    if formatted.returncode != 0:
        raise Failed(f"{name} is not formatted")
    for size in SIZES:
        ran = run([options.cclc, "run", path, "--size", size, "--schedules", str(options.schedules)])
        if ran.returncode != 0:
            raise Failed(f"{name} goes wrong at {size}: {(ran.stdout + ran.stderr)[:2000]}")
    plan = path[:-len(".ccl")] + ".json"
    built = run([options.cclc, "build", path, "-o", plan])
    if built.returncode != 0:
        raise Failed(f"{name} has no plan: {built.stderr[:2000]}")
    if options.plans:
        shutil.copy(plan, options.plans)
    result.programs += 1


def answer_of(command):
    done = run(command)
    if done.returncode not in STATUSES:
        raise Failed(f"exit status {done.returncode}: {done.stderr[:2000]}")
    return json.loads(done.stdout)


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
