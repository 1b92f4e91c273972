//! An independent judge of programs: an interpreter that executes them and searches for schedules that go wrong.
//!
//! It is built from what the operations do on the machine, and shares nothing with the checks but `ir`:
//! - [`code`]: turns a program into instructions of threads, for a small message and few threads;
//! - [`machine`], [`element`], [`proxy`], [`user`]: the agents, and what each does next;
//! - [`memory`], [`view`]: the contents of cells, and which accesses an agent can rely on;
//! - [`schedule`]: which agent goes next, and the search.
//!
//! A program is wrong if an output does not hold what the collective promises, if no agent can go on, if a counter does
//! not end as it began, if memory is read that was not written in the launch, or if two accesses conflict and nothing
//! orders them. Races are judged in separate runs. Other runs delay stores and let loads return old copies; a test
//! requires that every wrong value found there is explained by a race.
//!
//! The compiler's own way from operations to steps is compared with this one ([`steps`]).
//!
//! The interpreter judges all programs of this project and plans that others made, which must be right except for those
//! known to be wrong ([`WRONG`], [`WRONG_PLANS`]), and small defects ([`defects`]), which it must find. It also judges
//! the checker: on [`mutants`] and random programs ([`random`]), both must say the same ([`agreement`]); of small
//! programs with shared counters, all schedules are run ([`shared`]); launches of two sizes take turns ([`sizes`]); programs of
//! many chunks, and pipelines with windows of several sizes, are run at many sizes in the emulator of `cclc run` ([`many`],
//! [`pipelines`]); changes that must not matter to the checker are
//! made ([`metamorphic`]); and the witnesses in reports are replayed ([`replay`]) and must show what the reports say
//! ([`witnesses`]). Random promises are kept in a run exactly where the checks say so ([`promises`]).

#![expect(clippy::indexing_slicing, reason = "a test may panic")]
#![expect(clippy::print_stderr, reason = "the statistics are for people to read")]

#[path = "oracle/code.rs"]
mod code;
#[path = "oracle/corpus.rs"]
mod corpus;
#[path = "oracle/element.rs"]
mod element;
#[path = "oracle/lot.rs"]
mod lot;
#[path = "oracle/machine.rs"]
mod machine;
#[path = "oracle/memory.rs"]
mod memory;
#[path = "oracle/mutants.rs"]
mod mutants;
#[path = "oracle/proxy.rs"]
mod proxy;
#[path = "oracle/random.rs"]
mod random;
#[path = "oracle/schedule.rs"]
mod schedule;
#[path = "oracle/user.rs"]
mod user;
#[path = "oracle/view.rs"]
mod view;
#[path = "oracle/wide.rs"]
mod wide;

#[path = "oracle/replay.rs"]
mod replay;

#[path = "oracle/agreement.rs"]
mod agreement;
#[path = "oracle/breadth.rs"]
mod breadth;
#[path = "oracle/defects.rs"]
mod defects;
#[path = "oracle/many.rs"]
mod many;
#[path = "oracle/metamorphic.rs"]
mod metamorphic;
#[path = "oracle/pipelines.rs"]
mod pipelines;
#[path = "oracle/promises.rs"]
mod promises;
#[path = "oracle/shared.rs"]
mod shared;
#[path = "oracle/sizes.rs"]
mod sizes;
#[path = "oracle/steps.rs"]
mod steps;
#[path = "oracle/witnesses.rs"]
mod witnesses;

use corpus::{Form, corpus};
use machine::Verdict;
use schedule::{Effort, explore};

/// Whether to run everything, however long it takes: `ORACLE=full`.
fn is_full() -> bool {
    std::env::var_os("ORACLE").is_some_and(|value| value == "full")
}

/// Programs of the corpus that are wrong: the verdict, and why.
const WRONG: [(&str, &str, &str); 1] =
    [("unit_tests/reduce_copy_send_packets", "Deadlock", "nobody writes the packets")];

#[test]
fn the_corpus_is_right_as_written_and_after_all_passes() {
    let (ranks, effort): (&[u32], Effort) = if is_full() {
        (&[2, 3, 4, 5, 6], Effort { checked: 4, weak: 12, show: true })
    } else {
        (&[2, 3, 4], Effort { checked: 1, weak: 1, show: false })
    };
    let mut surprises = Vec::new();
    let mut count = 0;
    for form in [Form::Written, Form::Passed(1), Form::Passed(2)] {
        for entry in corpus(ranks, form) {
            // With four ranks, only the form that is built is run; these runs would otherwise take most of the time.
            if !is_full() && entry.program.ranks.len() > 3 && form != Form::Passed(1) {
                continue;
            }
            count += 1;
            let name = format!("{} {form:?}", entry.name);
            let found = explore(&entry.program, effort, 1);
            let known = WRONG.iter().find(|(wrong, _, _)| name.starts_with(wrong));
            let wanted = known.map_or("Ok", |(_, verdict, _)| verdict);
            if !format!("{:?}", found.verdict).starts_with(wanted) {
                surprises.push(format!("{name}: {found:?}"));
            }
        }
    }
    assert!(surprises.is_empty(), "{} of {count}:\n{}", surprises.len(), surprises.join("\n"));
    assert!(count > 300, "only {count} programs");
}

/// Plans from MSCCL++ that are wrong: the beginnings of their names, and the verdicts.
const WRONG_PLANS: [(&str, &str); 18] = [
    ("default_algos_reducescatter_multi_nodes__world4_per2_inplace1_tbg1", "Race"),
    ("default_algos_reducescatter_multi_nodes__world4_per2_inplace1_tbg4", "Race"),
    ("executor-tests_reduce_nvls__", "Race"),
    ("executor-tests_reduce_nvls_pipeline__", "Race"),
    ("executor-tests_reduce_tbg__", "Race"),
    ("multi_node_reducescatter__", "Race"),
    ("multi_node_send_recv__", "Race"),
    ("single_node_allgather_nvls_zero_copy__", "Race"),
    ("single_node_allreduce_nvls_zero_copy__", "Race"),
    ("unit_tests_put_put_fuse_test__", "Race"),
    ("unit_tests_put_put_with_signal_test__", "Race"),
    ("unit_tests_read_put_packet_test__", "Deadlock"),
    ("unit_tests_reduce_copy_", "Deadlock"),
    ("unit_tests_reduce_packet_", "Deadlock"),
    ("unit_tests_reduce_send_packet_test__", "Deadlock"),
    ("unit_tests_signal_wait_", "Deadlock"),
    ("unit_tests_switch_broadcast_test__", "Race"),
    ("unit_tests_tbg_tbg_reduce_send_test__", "Race"),
];

/// Plans from MSCCL++ that the compiler cannot read and therefore refuses, as MSCCL++'s loader does: a load-reduce
/// without a store does not exist.
const UNREAD_PLANS: [&str; 1] = ["unit_tests_switch_reduce_test__default"];

/// Checks the interpreter's verdict on each plan, and that the checks refuse exactly the wrong ones. `ORACLE_PLANS`
/// names a folder of other plans, of which nothing is known in advance; `ORACLE_PART` takes a part of them.
#[test]
fn the_plans_of_others_are_judged() {
    let known_before = std::env::var_os("ORACLE_PLANS").is_none();
    let (part, parts) = agreement::part();
    let plans = (0..).zip(corpus::plans()).filter(|(i, _): &(u64, _)| i % parts == part);
    let (checked, weak) = if is_full() { (4, 12) } else { (1, 2) };
    let effort = Effort { checked, weak, show: false };
    let (mut surprises, mut unread) = (Vec::new(), Vec::new());
    let (mut judged, mut wrong) = (0, 0);
    for (_, (name, program)) in plans {
        let Some(program) = program else {
            unread.push(name);
            continue;
        };
        let found = explore(&program, effort, 1);
        let goes_wrong = found.verdict != Verdict::Ok || found.stale;
        let refused = agreement::codes(&program);
        eprintln!("{name}: {:?}, the checks say {refused:?}", found.verdict);
        let expected = !known_before || format!("{:?}", found.verdict).starts_with(known(&name));
        if !expected || refused.is_empty() == goes_wrong {
            surprises.push(format!("{name}: {found:?}, the checks say {refused:?}"));
        }
        judged += 1;
        wrong += u32::from(goes_wrong);
    }
    eprintln!("{judged} plans, {wrong} of them wrong; not read: {unread:?}");
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    assert!(judged > 0, "no plan");
    if known_before && parts == 1 {
        assert_eq!(unread, UNREAD_PLANS);
    }
}

/// The beginning of the expected verdict on a golden plan.
fn known(name: &str) -> &'static str {
    let fused = name.starts_with("unit_tests_signal_wait_") && !name.contains("wait_fuse_test");
    let row = WRONG_PLANS.iter().find(|(wrong, _)| name.starts_with(wrong) && !fused);
    row.map_or("Ok", |(_, verdict)| verdict)
}
