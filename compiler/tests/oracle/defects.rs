//! Defects that the oracle itself must find: small programs that are wrong in a known way, each next to one that is
//! right.

use crate::corpus::{Form, text};
use crate::machine::Verdict;
use crate::mutants::{Count, mutants};
use crate::schedule::{Effort, exhaust, explore};
use compiler::ir::Program;

/// Each rank writes a chunk to the other one, in every launch.
const SENDRECV: &str = "
use std::collectives::sendrecv;
program p(ranks: int = 2) {
    collective sendrecv(ranks);
    channel mem = memory(1 - rank);
    block main {
        signal mem relaxed;
        wait mem relaxed;
        put input[0] -> (1 - rank).output[0] via mem;
        signal mem;
        wait mem;
    }
}";

/// Each rank writes a chunk to its own scratch, where the other one reads it.
const PULL: &str = "
use std::collectives::sendrecv;
program p(ranks: int = 2) {
    collective sendrecv(ranks);
    scratch part[1];
    channel mem = memory(1 - rank);
    block main {
        copy input[0] -> part[0];
        signal mem;
        wait mem;
        get (1 - rank).part[0] -> output[0] via mem;
        signal mem;
        wait mem;
    }
}";

/// The same over a port.
const PORT: &str = "
use std::collectives::sendrecv;
program p(ranks: int = 2) {
    collective sendrecv(ranks);
    channel far = port(1 - rank);
    block main {
        signal far;
        wait far;
        put_with_signal_and_flush input[0] -> (1 - rank).output[0] via far;
        wait far;
    }
}";

/// The same with packets.
const PACKETS: &str = "
use std::collectives::sendrecv;
program p(ranks: int = 2) {
    collective sendrecv(ranks);
    options { protocol = LL; double_scratch = true; }
    scratch inbox[1];
    channel mem = memory(1 - rank);
    block main {
        put_packets input[0] -> (1 - rank).inbox[0] via mem;
        unpack_packets inbox[0] -> output[0];
    }
}";

/// Two blocks of one rank pass a chunk on.
const BLOCKS: &str = "
collective copies(ranks: int) {
    input[1];
    output[1];
    ensures { output[0] == rank.input[0] }
}
program p(ranks: int = 1) {
    collective copies(ranks);
    scratch stage[1];
    semaphore full;
    semaphore empty = 1;
    block first { acquire empty; copy input[0] -> stage[0]; release full; }
    block second { acquire full; copy stage[0] -> output[0]; release empty; }
}";

/// Blocks that acquire a semaphore and release it again.
const TAKERS: &str = "
collective nothing(ranks: int) { input[1]; output[1]; }
program p(ranks: int = 1) {
    collective nothing(ranks);
    semaphore one = 1;
    block a { acquire one; release one; }
    block b { acquire one; release one; }
}";

/// The program of a text, after some words are replaced.
fn program(source: &str, changes: &[(&str, &str)], form: Form) -> Program {
    let mut source = source.to_owned();
    for (old, new) in changes {
        assert!(source.contains(old), "no {old} in {source}");
        source = source.replacen(old, new, 1);
    }
    text(&source, form).pop().expect("a program")
}

/// The verdict of runs that check for races, and of runs that compare values: the first word of each, for both forms.
fn verdicts(source: &str, changes: &[(&str, &str)]) -> [String; 2] {
    let both = [Form::Written, Form::Passed(1)].map(|form| {
        let program = program(source, changes, form);
        let efforts = [
            Effort { checked: 4, weak: 0, show: false },
            Effort { checked: 0, weak: 40, show: false },
        ];
        efforts.map(|effort| {
            let found = format!("{:?}", explore(&program, effort, 1).verdict);
            found.split([' ', '(']).next().unwrap_or_default().to_owned()
        })
    });
    assert_eq!(both[0], both[1], "{changes:?} as written and after all passes");
    both[0].clone()
}

#[test]
fn right_programs_are_right_in_every_schedule() {
    for source in [SENDRECV, PULL, PORT, PACKETS, BLOCKS, TAKERS] {
        assert_eq!(verdicts(source, &[]), ["Ok", "Ok"], "{source}");
        let program = program(source, &[], Form::Passed(1));
        assert_eq!(exhaust(&program, 2, 300_000), Some(Verdict::Ok), "{source}");
    }
}

#[test]
fn missing_orders_are_races_and_show_in_values() {
    let cases: [(&str, &[(&str, &str)]); 11] = [
        // No rank knows that the other one has started; no rank is told that the data has arrived; the signal is
        // relaxed.
        (SENDRECV, &[("signal mem relaxed;", ""), ("wait mem relaxed;", "")]),
        (SENDRECV, &[("signal mem;", ""), ("wait mem;", "")]),
        (SENDRECV, &[("signal mem;", "signal mem relaxed;"), ("wait mem;", "wait mem relaxed;")]),
        (SENDRECV, &[("signal mem;", "signal mem relaxed;")]),
        // The threads do not join: before the put, after it.
        (SENDRECV, &[("wait mem relaxed;", "wait mem relaxed sync = before;")]),
        (SENDRECV, &[("signal mem;", "signal mem sync = after;")]),
        // The signal does not publish what a rank has stored to its own memory.
        (PULL, &[("signal mem;", "signal mem relaxed;"), ("wait mem;", "wait mem relaxed;")]),
        (PULL, &[("signal mem;", "signal mem relaxed;")]),
        // The proxy is still reading when the kernel ends; the proxy writes before the other rank has started.
        (PORT, &[("_and_flush", "")]),
        (PORT, &[("signal far;", ""), ("wait far;", "")]),
        // One block writes, the other reads.
        (BLOCKS, &[("acquire full;", ""), ("release full;", "")]),
    ];
    for (source, changes) in cases {
        assert_eq!(verdicts(source, changes), ["Race", "WrongValue"], "{changes:?}");
    }
    // The end of a launch gives enough order.
    let changes = [("acquire empty;", ""), ("release empty;", "")];
    assert_eq!(verdicts(BLOCKS, &changes), ["Ok", "Ok"]);
}

#[test]
fn packets_of_one_launch_may_overtake_those_of_another() {
    let single = [(" double_scratch = true;", "")];
    assert_eq!(verdicts(PACKETS, &single), ["Race", "Deadlock"]);
    // The answer shows that the packets were read.
    let answered = [
        (" double_scratch = true;", ""),
        ("scratch inbox[1];", "scratch own[1]; scratch inbox[1]; scratch back[1];"),
        (
            "unpack_packets inbox[0] -> output[0];",
            "unpack_packets inbox[0] -> output[0]; sync;
            put_packets output[0] -> (1 - rank).back[0] via mem;
            unpack_packets back[0] -> own[0];",
        ),
    ];
    assert_eq!(verdicts(PACKETS, &answered), ["Ok", "Ok"]);
}

#[test]
fn counters_that_do_not_end_as_they_began_are_found() {
    let twice = [("wait mem;", "wait mem; signal mem;")];
    let once = exhaust(&program(SENDRECV, &twice, Form::Passed(1)), 1, 300_000);
    assert!(matches!(once, Some(Verdict::CounterLeft { .. })), "{once:?}");
    // In the next launch the wait does not wait.
    assert_eq!(verdicts(SENDRECV, &twice), ["Race", "WrongValue"]);
    let never = [("signal mem relaxed;", "")];
    assert_eq!(verdicts(SENDRECV, &never), ["Deadlock", "Deadlock"]);
    let kept = [("release empty;", "")];
    assert_eq!(verdicts(BLOCKS, &kept), ["Deadlock", "Deadlock"]);
}

#[test]
fn a_semaphore_of_several_takers_loses_a_wake_up() {
    let one = "block a { acquire one; release one; }";
    let two = "block a { acquire one; release one; acquire one; release one; }";
    let lost = exhaust(&program(TAKERS, &[(one, two)], Form::Passed(1)), 1, 300_000);
    assert!(matches!(lost, Some(Verdict::Deadlock { .. })), "{lost:?}");
    let three = format!("{one} block c {{ acquire one; release one; }}");
    let lost = exhaust(&program(TAKERS, &[(one, &three)], Form::Passed(1)), 1, 300_000);
    assert!(matches!(lost, Some(Verdict::Deadlock { .. })), "{lost:?}");
    let given = [
        ("semaphore one = 1;", "semaphore one;"),
        (one, "block a { acquire one; }"),
        (
            "block b { acquire one; release one; }",
            "block b { acquire one; } block c { release one; release one; }",
        ),
    ];
    let clean = exhaust(&program(TAKERS, &given, Form::Passed(1)), 1, 300_000);
    assert_eq!(clean, Some(Verdict::Ok));
}

#[test]
fn a_search_overlooks_nothing_that_every_schedule_shows() {
    let mut searched = [0, 0];
    for source in [SENDRECV, PORT, PACKETS, BLOCKS] {
        let program = program(source, &[], Form::Passed(1));
        for mutant in mutants(&program, Count { most: 2, rare: 4 }, 1) {
            let effort = Effort { checked: 4, weak: 8, show: false };
            let found = explore(&mutant.program, effort, 1);
            let Some(every) = exhaust(&mutant.program, 2, 20_000) else { continue };
            let right = found.verdict == Verdict::Ok;
            searched[usize::from(right)] += 1;
            let what = format!("{} at {} of {source}", mutant.kind, mutant.place);
            assert!(!right || every == Verdict::Ok, "{what}: {every:?} was overlooked");
        }
    }
    assert!(searched.iter().all(|count| *count > 10), "{searched:?}");
}

#[test]
fn a_schedule_can_be_run_again() {
    let program = program(PORT, &[("_and_flush", "")], Form::Passed(1));
    let effort = Effort { checked: 0, weak: 40, show: false };
    let found = explore(&program, effort, 7);
    let schedule = found.schedule.expect("it goes wrong");
    let code = crate::code::code(&program, schedule.size).expect("it stays in its buffers");
    let promised = crate::user::promised(&program, &code);
    let again = crate::schedule::run(&code, &promised, schedule, crate::schedule::LAUNCHES);
    assert_eq!(again.verdict, found.verdict);
}
