//! Random programs whose ranks do the same, relative to their own numbers combined with rank 0's by
//! XOR.

use super::{elaborated, loaded};
use compiler::check::{self, Ranks};
use compiler::interrupt::Interrupt;
use proptest::collection::vec;
use proptest::sample::select;
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::TestRunner;

/// Programs of random steps over the chunks of aligned groups of ranks; steps may lack the
/// synchronization that they need.
#[test]
fn reports_are_the_same_with_few_ranks_and_with_all() {
    let mut runner = TestRunner::deterministic();
    let strategy = (select(vec![4, 8]), proptest::bool::ANY, vec(step(), 1..5));
    let (mut right, mut wrong) = (0, 0);
    for _ in 0..600 {
        let (ranks, joined, steps) = strategy.new_tree(&mut runner).unwrap().current();
        let text = hypercube(ranks, joined, &steps);
        let unit = loaded("by_lot.ccl", text.clone());
        let id = unit.programs.ids().next().unwrap();
        let program = elaborated(&unit, id, (ranks, 1)).unwrap();
        if check::followed(&program) != 1 {
            continue;
        }
        let found = |ranks| check::check_following(&program, ranks, &Interrupt::default());
        let (few, all) = (found(Ranks::Few), found(Ranks::All));
        assert_eq!(few, all, "{text}");
        right += u32::from(all.is_empty());
        wrong += u32::from(!all.is_empty());
    }
    assert!(right > 50 && wrong > 200, "{right} right, {wrong} wrong");
}

/// One step of every rank: some synchronization, an operation over aligned chunks, more
/// synchronization.
fn step() -> impl Strategy<Value = String> {
    let name = select(vec!["output", "s"]);
    let before =
        select(vec!["", "", "sync; ", "signal d; wait d; ", "signal d relaxed; wait d relaxed; "]);
    let operation = select(vec![
        "copy input[own] -> A[own]; ",
        "copy input[own] -> A[own]; ",
        "copy A[own] -> B[own]; ",
        "put A[own] -> p.B[own] via d; ",
        "put input[own] -> p.A[own] via d; ",
        "get p.A[own] -> B[own] via d; ",
        "get p.A[theirs] -> A[theirs] via d; ",
        "reduce A[own], p.A[own] -> A[own] via d; ",
    ]);
    let after = select(vec!["", "", "signal d; wait d; ", "signal d; wait d; sync; "]);
    (before, operation, after, (0_u32..2, 0_u32..3), (name.clone(), name)).prop_map(
        |(before, operation, after, (level, size), (a, b))| {
            let n = 1 << size;
            let partner = format!("rank ^ {}", 1 << level);
            let own = format!("rank / {n} * {n} ..+ {n}");
            let theirs = format!("({partner}) / {n} * {n} ..+ {n}");
            format!("{before}{operation}{after}")
                .replace("p.", &format!("({partner})."))
                .replace("[own]", &format!("[{own}]"))
                .replace("[theirs]", &format!("[{theirs}]"))
                .replace('A', a)
                .replace('B', b)
                .replace(" d", &format!(" d[{level}]"))
        },
    )
}

/// A program whose ranks have channels to the ranks whose numbers differ in one of the last two
/// bits.
fn hypercube(ranks: u32, joined: bool, steps: &[String]) -> String {
    format!(
        "use std::collectives::unchecked;
program p(ranks: int = {ranks}) {{
    collective unchecked(ranks, inputs = ranks, outputs = ranks);
    options {{ auto_sync = {joined}; }}
    scratch s[ranks];
    channel d[k in 0..2] = memory(rank ^ (1 << k));
    block main {{
        signal d[*] relaxed; wait d[*] relaxed;
        {}
        signal d[*]; wait d[*];
    }}
}}
",
        steps.join("\n        ")
    )
}
