//! Runs of small programs built by hand.

use super::{Awaits, Element, Outcome, Settings, TooLarge, Trial, with_reduction};
use crate::interrupt::Interrupt;
use crate::ir::build::{
    all, copy_of, input, local, memory, on, output, port, program, scratch, signal, wait,
};
use crate::ir::{Action, ChannelKind, Joins, Program, RankId, ReduceOp, Verb};

fn settings() -> Settings {
    Settings {
        chunk_bytes: [256].into(),
        element: Element::F32,
        launches: 3,
        max_bytes: 1 << 20,
        entries: usize::MAX,
        inexact: false,
    }
}

fn outcomes(program: &Program) -> Vec<Outcome> {
    let mut trial = Trial::new(program, settings()).unwrap();
    (0..40).map(|seed| trial.run(seed, &Interrupt::default())).collect()
}

fn wrongs(program: &Program) -> usize {
    outcomes(program).iter().filter(|outcome| matches!(outcome, Outcome::Wrong(_))).count()
}

fn right(program: &Program) -> bool {
    outcomes(program).iter().all(|outcome| matches!(outcome, Outcome::Right))
}

/// Two ranks, each of which puts its input into the other's output. `ready` and `arrived` say whether they signal
/// before and after that, and `relaxed` whether the signals after it are relaxed.
fn exchange(ready: bool, arrived: bool, relaxed: bool) -> Program {
    let mut program = program(2, 2, 2, 0).mesh(ChannelKind::Memory).block(|r| {
        let (put, channels) = (on(1 - r, output(0, 2)), || all(r, 2));
        let mut ops = Vec::new();
        if ready {
            ops.extend([signal(channels(), true), wait(channels(), true), Action::Sync]);
        }
        ops.push(memory(r, Verb::Put, &[input(0, 2)], &[put]));
        if arrived {
            ops.push(Action::Sync);
            ops.extend([signal(channels(), relaxed), wait(channels(), relaxed)]);
        }
        ops
    });
    program.joins = Joins::Explicit;
    program.promise(|r, c| vec![(1 - r, c)])
}

#[test]
fn what_is_right_is_right_in_every_schedule() {
    assert!(right(&exchange(true, true, false)));
}

#[test]
fn what_is_missing_shows_in_some_schedule() {
    assert!(wrongs(&exchange(true, false, false)) > 20);
    assert!(wrongs(&exchange(false, true, false)) > 0);
    // A relaxed signal does not order data: only late stores can show that.
    assert!(wrongs(&exchange(true, true, true)) > 0);
}

/// Two ranks, each of which copies its input into its own scratch, from where it copies it on and the other rank gets it.
/// `relaxed` says whether they signal relaxed in between.
fn pull(relaxed: bool) -> Program {
    let mut program = program(2, 1, 2, 1).mesh(ChannelKind::Memory).block(|r| {
        let (there, channels) = (on(1 - r, scratch(0, 1)), || all(r, 2));
        vec![
            local(Verb::Copy, &[input(0, 1)], &[scratch(0, 1)]),
            Action::Sync,
            signal(channels(), relaxed),
            wait(channels(), relaxed),
            Action::Sync,
            local(Verb::Copy, &[scratch(0, 1)], &[output(0, 1)]),
            memory(r, Verb::Get, &[there], &[output(1, 1)]),
            Action::Sync,
            signal(channels(), false),
            wait(channels(), false),
        ]
    });
    program.joins = Joins::Explicit;
    program.promise(|r, c| vec![(if c == 0 { r } else { 1 - r }, 0)])
}

/// Who stores to its own memory sees that at once, a peer only if it is published.
#[test]
fn stores_to_own_memory_can_come_late_to_a_peer() {
    assert!(right(&pull(false)));
    let outcomes = outcomes(&pull(true));
    let wrong = |outcome: &Outcome| {
        if let Outcome::Wrong(wrong) = outcome { Some(wrong.chunk) } else { None }
    };
    let chunks: Vec<u32> = outcomes.iter().filter_map(wrong).collect();
    assert!(!chunks.is_empty() && chunks.iter().all(|chunk| *chunk == 1), "{chunks:?}");
}

#[test]
fn a_wrong_element_is_told_with_who_wrote_it() {
    let mut program =
        program(2, 1, 1, 0).block(|_| vec![copy_of(0)]).promise(|r, c| vec![(1 - r, c)]);
    program.joins = Joins::Explicit;
    let outcomes = outcomes(&program);
    let Some(Outcome::Wrong(wrong)) = outcomes.first() else { panic!("{outcomes:?}") };
    assert_eq!((wrong.launch, wrong.chunk, wrong.element), (0, 0, 0));
    let writers: Vec<RankId> = wrong.writers.iter().map(|writer| writer.rank).collect();
    assert_eq!(writers, [wrong.rank]);
    assert_ne!(wrong.found, wrong.expected);
}

#[test]
fn what_waits_for_ever_is_told() {
    let mut program =
        program(2, 1, 1, 0).mesh(ChannelKind::Memory).block(|r| vec![wait(all(r, 2), false)]);
    program.joins = Joins::Explicit;
    for outcome in outcomes(&program) {
        let Outcome::Stuck(stuck) = outcome else { panic!("{outcome:?}") };
        assert_eq!(stuck.len(), 2);
        assert!(stuck.iter().all(|one| matches!(one.awaits, Awaits::Signal(_))));
    }
}

/// A put over a port; the next launch overwrites what was put.
fn over_port(verb: Verb) -> Program {
    let mut program = program(2, 1, 2, 0).mesh(ChannelKind::Port).block(|r| {
        let channels = || all(r, 2);
        vec![
            copy_of(0),
            signal(channels(), false),
            wait(channels(), false),
            Action::Sync,
            port(r, verb, &[output(0, 1)], &[on(1 - r, output(1, 1))]),
            wait(channels(), false),
            Action::Sync,
        ]
    });
    program.joins = Joins::Explicit;
    program.promise(|r, c| vec![(if c == 0 { r } else { 1 - r }, 0)])
}

#[test]
fn a_proxy_takes_its_time() {
    assert!(right(&over_port(Verb::PutWithSignalAndFlush)));
    // The next launch begins while the proxy may still read the last one's output.
    assert!(wrongs(&over_port(Verb::PutWithSignal)) > 0);
}

#[test]
fn an_access_beyond_a_buffer_ends_the_run() {
    let mut program = program(1, 1, 1, 0).block(|_| vec![copy_of(1)]);
    program.joins = Joins::Explicit;
    assert!(outcomes(&program).iter().all(|outcome| matches!(outcome, Outcome::Outside(..))));
}

#[test]
fn every_type_and_reduction_comes_out_exact() {
    let all_types =
        [Element::F32, Element::F16, Element::Bf16, Element::I32, Element::U32, Element::U8];
    let mut base = program(5, 1, 1, 0).mesh(ChannelKind::Memory).block(|r| {
        let others = (0..5).filter(|p| *p != r).map(|p| on(p, input(0, 1)));
        let sources: Vec<_> = std::iter::once(input(0, 1)).chain(others).collect();
        let (ready, read) = (|| all(r, 5), || all(r, 5));
        vec![
            signal(ready(), true),
            wait(ready(), true),
            Action::Sync,
            memory(r, Verb::Reduce, &sources, &[output(0, 1)]),
            Action::Sync,
            signal(read(), false),
            wait(read(), false),
        ]
    });
    base.joins = Joins::Explicit;
    let base = base.promise(|_, c| (0..5).map(|p| (p, c)).collect());
    for op in [ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max] {
        let program = with_reduction(base.clone(), op);
        for element in all_types {
            let mut trial = Trial::new(&program, Settings { element, ..settings() }).unwrap();
            let outcome = trial.run(1, &Interrupt::default());
            assert!(matches!(outcome, Outcome::Right), "{element:?} {op:?}: {outcome:?}");
        }
        // The other reduction is not what is promised.
        let mut other = program.clone();
        other.collective.op = if op == ReduceOp::Sum { ReduceOp::Max } else { ReduceOp::Sum };
        assert!(wrongs(&other) == 40);
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let small = Settings { max_bytes: 100, ..settings() };
    let program = exchange(true, true, false);
    // Two ranks with two chunks in and two out, and the remembered outputs of three launches.
    let bytes = 256 * (2 * 4 + 3 * 4);
    assert_eq!(Trial::new(&program, small).err(), Some(TooLarge::Memory(bytes)));
}

#[test]
fn the_time_can_be_up() {
    let interrupt = Interrupt::default();
    interrupt.set();
    let mut program = program(2, 1, 1, 0).block(|_| (0..2000).map(|_| copy_of(0)).collect());
    program.joins = Joins::Explicit;
    let outcome = Trial::new(&program, settings()).unwrap().run(0, &interrupt);
    assert!(matches!(outcome, Outcome::Interrupted), "{outcome:?}");
}

#[test]
fn entries_beyond_a_blocks_threads_are_nobodys() {
    let mut program = program(3, 1, 1, 0)
        .mesh(ChannelKind::Memory)
        .block(|r| vec![signal(all(r, 3), false), wait(all(r, 3), false)]);
    program.joins = Joins::Explicit;
    let ends = |entries: usize| {
        let mut trial = Trial::new(&program, Settings { entries, ..settings() }).unwrap();
        trial.run(0, &Interrupt::default())
    };
    assert!(matches!(ends(2), Outcome::Right));
    // Ranks 1 and 2 signal only rank 0, and wait for it; rank 0 signals rank 1.
    assert!(matches!(ends(1), Outcome::Stuck(_)));
}

#[test]
fn a_rank_that_ends_too_early_is_told() {
    let waits = |from: u32| {
        let mut program =
            program(2, 1, 1, 0).mesh(ChannelKind::Memory).block(|r| match r == from {
                true => vec![signal(all(r, 2), true)],
                false => vec![wait(all(r, 2), true)],
            });
        program.joins = Joins::Explicit;
        program.ranks[RankId(1)].begun = [RankId(0)].into();
        program
    };
    assert!(right(&waits(0)));
    let early = outcomes(&waits(1)).into_iter().find(|one| !matches!(one, Outcome::Right));
    let Some(Outcome::Early { ended, begins, .. }) = early else { panic!("{early:?}") };
    assert_eq!((ended, begins), (RankId(1), RankId(0)));
}
