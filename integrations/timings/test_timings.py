"""Perfetto opens the output of `--timings`. CCLC names the compiler, PERFETTO a folder with Perfetto's browser interface."""

import json
import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CCLC = Path(os.environ.get("CCLC", ROOT / "target/release/cclc"))
ERRORS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
RING = ROOT / "stdlib/ccl/algorithms/allgather_ring.ccl"


def ask(trace, question):
    """The rows that Perfetto's trace processor returns."""
    command = ["node", HERE / "query.mjs", os.environ["PERFETTO"], trace, question]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def run(folder, *arguments):
    """The trace of a run, and the events in it."""
    trace = folder / "trace.json"
    subprocess.run([CCLC, *arguments, "--timings", trace], cwd=folder, check=False, capture_output=True)
    return trace, json.loads(trace.read_text())["traceEvents"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["build", RING, "-D", "ranks=4", "-o", "ring.json"], id="build"),
        pytest.param(["check", RING, "-D", "ranks=2..=5"], id="sweep"),
        pytest.param(["check", "mistaken.ccl"], id="mistake"),
        pytest.param(["run", RING], id="run"),
    ],
)
def test_every_phase_is_a_slice(tmp_path, arguments):
    (tmp_path / "mistaken.ccl").write_text("let a = ;\n")
    trace, events = run(tmp_path, *arguments)
    assert ask(trace, ERRORS) == []
    slices = ask(trace, "select name, category, ts, dur, depth from slice order by ts, depth")
    begun = [event for event in events if event["ph"] == "B"]
    assert len(begun) == len([event for event in events if event["ph"] == "E"]) > 0
    assert sorted((it["name"], it["category"]) for it in slices) == sorted((it["name"], it["cat"]) for it in begun)
    # A slice that does not end has a duration of -1.
    assert all(it["dur"] >= 0 for it in slices)
    assert ask(trace, "select distinct p.name from process p join thread t using (upid) join thread_track k using (utid)") == [
        {"name": "cclc"}
    ]


def test_numbers_are_arguments_and_phases_lie_in_each_other(tmp_path):
    trace, events = run(tmp_path, "build", RING, "-D", "ranks=4", "-o", "ring.json")
    lexed = next(after for event, after in zip(events, events[1:]) if event["ph"] == "B" and event["name"] == "lex")
    (row,) = ask(trace, "select int_value from slice join args using (arg_set_id) where slice.name = 'lex' and key = 'args.bytes' limit 1")
    assert row["int_value"] == lexed["args"]["bytes"] > 0
    inside = ask(trace, "select p.name from slice s join slice p on s.parent_id = p.id where s.name = 'lex'")
    assert inside and all(it["name"].startswith("file ") for it in inside)


def test_a_phase_that_does_not_end_would_be_noticed(tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"traceEvents": [{"ph": "B", "name": "a", "cat": "a", "ts": 1, "pid": 1, "tid": 1}]}))
    assert ask(trace, "select dur from slice") == [{"dur": -1}]
