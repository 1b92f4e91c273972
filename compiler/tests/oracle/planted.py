#!/usr/bin/env python3
"""Plants mistakes in how operations become steps, one at a time, and looks whether the interpreter's comparison finds each.

    git worktree add ../planted && cd ../planted
    compiler/tests/oracle/planted.py [NUMBER..]

Everything behind the passes reads steps, so a mistake there would be invisible to all of it; `steps.rs` compares them with what the
interpreter makes of the same operations. Each mistake is one replacement in a file. The compiler is built without optimization, which
takes about a minute for each. Files are put back as they were. The exit status is 1 if a mistake is not found, or no longer fits the source.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LOWER = "compiler/src/events/lower.rs"
CODE = "compiler/src/events/code.rs"
CLASS = "compiler/src/events/class.rs"
EVENTS = "compiler/src/events.rs"

# What is wrong, the file, the text, and what takes its place.
MISTAKES = [
    ("a wait on a port may be relaxed", LOWER, "strength_of(signal.relaxed && !self.is_port(end))", "strength_of(signal.relaxed)"),
    ("a wait is never relaxed", LOWER, "strength_of(signal.relaxed && !self.is_port(end))", "strength_of(false)"),
    ("a port's signal is relaxed", LOWER, "let signal = Some(self.give_over(end, thread, Strength::Strong));", "let signal = Some(self.give_over(end, thread, Strength::Relaxed));"),
    ("a signal is never relaxed", LOWER, "sink.give(self.give_over(end, thread, strength_of(signal.relaxed)));", "sink.give(self.give_over(end, thread, strength_of(false)));"),
    ("a signal over a port is the block's own", LOWER, "if self.is_port(end) {\n                let signal", "if false {\n                let signal"),
    ("a flush of a plan waits", LOWER, "if !self.program.flush_waits {", "if false {"),
    ("a flush is not awaited", LOWER, "ProxyRequest { awaited: true, ..", "ProxyRequest { awaited: false, .."),
    ("a barrier is for one more", LOWER, "arrivals: *arrivals });", "arrivals: *arrivals + 1 });"),
    ("barriers of all ranks are one", LOWER, "MeetingId(self.first(here).meeting + id.0)", "MeetingId(id.0)"),
    ("all acquires are the first thread's", LOWER, "sink.take(Take { counter, thread, strength: Strength::Strong });", "sink.take(Take { counter, thread: thread * 0, strength: Strength::Strong });"),
    ("releases are the next thread's", LOWER, "sink.give(Give { counter, channel: None, thread, strength", "sink.give(Give { counter, channel: None, thread: thread + 1, strength"),
    ("packets are not seen before they are pushed", LOWER, "&& occurrence.site.part == 0;", "&& occurrence.site.part == 9;"),
    ("a single source is seen for each destination", LOWER, "self.transfer.verb.reduces() || self.is_observing && self.has_single_source()", "self.transfer.verb.reduces()"),
    ("a reduction is a move for each destination", LOWER, "self.transfer.verb.reduces() || self.is_observing && self.has_single_source()", "self.is_observing && self.has_single_source()"),
    ("all destinations get the first source", LOWER, "let source = if self.has_single_source() { 0 } else { entry };", "let source = 0 * entry;"),
    ("extents begin at the operand", LOWER, "self.visit_extents(OperandSide::Source, number, operand, covered.start, sink);", "self.visit_extents(OperandSide::Source, number, operand, 0, sink);"),
    ("a slice goes on to the end of the one before", LOWER, "elements: covered.end.saturating_sub(covered.start),", "elements: covered.end,"),
    ("slices are ignored", LOWER, "self.events.class.covered(slice, window, chunks)", "self.events.class.covered(None, window, chunks)"),
    ("windows are ignored", LOWER, "self.events.class.covered(slice, window, chunks)", "self.events.class.covered(slice, None, chunks)"),
    ("buffers in place are two", LOWER, "home(row.alias, operand.buffer, operand.index)", "home(None, operand.buffer, operand.index)"),
    ("extents are a cell too far", LOWER, "self.events.class.cells(chunk).saturating_add(first)", "self.events.class.cells(chunk).saturating_add(first + 8)"),
    ("a peer's memory is the rank's own", LOWER, "Where::Remote(_) => MemoryReach::Peer,", "Where::Remote(_) => MemoryReach::Own,"),
    ("a group is its first rank", LOWER, "for rank in ranks_of(ranks, self.here, operand.place) {", "for rank in ranks_of(ranks, self.here, operand.place).take(1) {"),
    ("packets are written plain", LOWER, "OperandSide::Destination if writes_packets(verb, number) => CellForm::Packets,", "OperandSide::Destination if writes_packets(verb, 1) && number > 0 => CellForm::Packets,"),
    ("a proxy waits for packets", LOWER, "CellForm::SeenPackets", "CellForm::Packets"),
    ("a proxy sends packets as plain data", LOWER, "=> CellForm::RawPackets,", "=> CellForm::Plain,"),
    ("a request moves nothing", LOWER, "put: ((thread as usize) < moves).then_some(thread),", "put: None.filter(|_: &u32| moves > 0),"),
    ("a put sends no signal", LOWER, "verb.signals().then(", "(verb.signals() && verb.flushes()).then("),
    ("a put is not awaited", LOWER, "awaited: verb.flushes(),", "awaited: false,"),
    ("a signal arrives where it is sent", LOWER, "EndOfRank { rank: row.peer()?, channel: row.partner? }", "EndOfRank { rank: end.rank, channel: row.partner.map(|_| end.channel)? }"),
    ("the parts of an operation are not joined", CODE, "occurrence.site.part > 0\n            || before", "false\n            || before"),
    ("operations are never joined", CODE, "self.program.meets_between(before, occurrence.op)", "self.program.meets_between(before, before) && before.sync.is_some()"),
    ("the steps behind a pipeline are counted wrong", CODE, "FoundPlace { op: long.op + 1 + behind as u32, rest: 0 }", "FoundPlace { op: long.op + 1, rest: behind * 0 }"),
    ("windows begin one later", CLASS, "Some(turn.saturating_mul(unit)..turn.saturating_add(1).saturating_mul(unit))", "Some((turn + 1).saturating_mul(unit)..turn.saturating_add(2).saturating_mul(unit))"),
    ("the last window is left out", CLASS, ".saturating_mul(chunk).div_ceil(pipeline.unit.max(1))", ".saturating_mul(chunk) / pipeline.unit.max(1)"),
    ("slices end anywhere", CLASS, "let part = covered(slice, None, length / slice_unit);", "let slice_unit = slice_unit.min(1);\n        let part = covered(slice, None, length / slice_unit);"),
    ("semaphores begin where channels do", EVENTS, "CounterId(self.first(rank).counter + channels + semaphore.0)", "CounterId(self.first(rank).counter + channels * 0 + semaphore.0)"),
]
COMMAND = [
    "cargo", "test", "-p", "ccl-compiler", "--test", "oracle", "--locked",
    "--config", "profile.dev.package.ccl-compiler.opt-level=0", "--config", "profile.dev.debug=0",
    "steps_are_the_instructions",
]  # fmt: skip


def run_comparison():
    """Whether the comparison fails; none if the compiler does not build."""
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True)
    if "running 1 test" not in done.stdout:
        return None, done.stderr[-2000:]
    return done.returncode != 0, done.stdout[-2000:]


def main():
    numbers = [int(word) for word in sys.argv[1:]] or range(len(MISTAKES))
    failed, said = run_comparison()
    if failed is not False:
        sys.exit(f"the comparison does not pass without a mistake:\n{said}")
    complaints = 0
    for number in numbers:
        what, file, old, new = MISTAKES[number]
        path = ROOT / file
        text = path.read_text()
        if old not in text:
            print(f"{number} NO LONGER FITS: {what}", flush=True)
            complaints += 1
            continue
        try:
            path.write_text(text.replace(old, new))
            failed, said = run_comparison()
        finally:
            path.write_text(text)
        word = {True: "found", False: "NOT FOUND", None: "DOES NOT BUILD"}[failed]
        print(f"{number} {word}: {what}", flush=True)
        if failed is not True:
            complaints += 1
            if failed is None:
                print(said, file=sys.stderr)
    print(f"{len(numbers)} mistakes, {complaints} complaints")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
