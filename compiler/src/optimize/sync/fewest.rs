//! Tests that no fewer joins would do, against all ways to place them, on many small random blocks and pipelines.
//!
//! Each pair of operations is tested on its own for whether a join is needed between them. The fewest joins that serve
//! all pairs are then found by trying every set of gaps.

use super::lanes::{Context, Mark, effects};
use super::others::Others;
use super::pending::Pending;
use crate::ir::build::{acquire, input, local, output, pipeline, program, release, scratch};
use crate::ir::sharing::Sharing;
use crate::ir::{Action, BlockId, Program, RankId, Verb};
use fastrand::Rng;

fn action(random: &mut Rng) -> Action {
    let at = random.u32(..3);
    match random.u32(..8) {
        0 => acquire(&[at]),
        1 => acquire(&[at, at + 1]),
        2 => release(&[at]),
        3 => release(&[at + 1, at]),
        4 => local(Verb::Copy, &[input(at, 2)], &[scratch(at, 2)]),
        5 => local(Verb::Copy, &[scratch(at, 2)], &[output(at, 2)]),
        6 => local(Verb::CopyPackets, &[output(at, 1)], &[scratch(at, 1)]),
        _ => local(Verb::UnpackPackets, &[scratch(at, 1)], &[output(at, 1)]),
    }
}

fn actions(random: &mut Rng) -> Vec<Action> {
    (0..random.u32(2..7)).map(|_| action(random)).collect()
}

fn base() -> Program {
    program(1, 8, 8, 8).semaphores(8)
}

/// Whether a join is needed between two operations; the marks say in which turn of a loop each of them runs.
fn needs(program: &Program, (a, first): (&Action, Mark), (b, second): (&Action, Mark)) -> bool {
    let context = Context {
        ranks: &program.ranks,
        block: (RankId(0), BlockId(0)),
        options: &program.options,
        others: &Others::of(program),
        sharing: &Sharing::of(program),
    };
    let mut pending = Pending::default();
    pending.add(context, effects(context, a, first));
    pending.blocks(context, &effects(context, b, second))
}

/// The size of the smallest set of gaps that contains at least one of each list.
fn fewest(gaps: usize, needed: &[Vec<usize>]) -> u32 {
    let serves = |set: &u32| needed.iter().all(|list| list.iter().any(|gap| set & (1 << gap) != 0));
    (0..1_u32 << gaps).filter(serves).map(u32::count_ones).min().unwrap()
}

fn joins(program: Program) -> u32 {
    let program = super::sync(program);
    let ops = &program.ranks[RankId(0)].blocks[BlockId(0)].ops;
    let joins = |ops: &[crate::ir::Op]| ops.iter().filter(|op| op.action == Action::Sync).count();
    let inside = ops.iter().map(|op| {
        let Action::Pipeline(pipeline) = &op.action else { return 0 };
        joins(&pipeline.body)
    });
    (joins(ops) + inside.sum::<usize>()) as u32
}

#[test]
fn in_a_line() {
    let mut random = Rng::with_seed(1);
    let mut some = 0;
    for _ in 0..2000 {
        let (program, ops) = (base(), actions(&mut random));
        let mut needed = Vec::new();
        let mark = Mark::default();
        for (j, b) in ops.iter().enumerate() {
            let before = ops.iter().enumerate().take(j);
            needed.extend(
                before
                    .filter(|(_, a)| needs(&program, (a, mark), (b, mark)))
                    .map(|(i, _)| (i + 1..=j).collect()),
            );
        }
        let least = fewest(ops.len(), &needed);
        assert_eq!(joins(program.block(|_| ops.clone())), least, "{ops:?}");
        some += least;
    }
    assert!(some > 1000, "hardly any joins were needed");
}

#[test]
fn in_a_circle() {
    let mut random = Rng::with_seed(2);
    let mut some = 0;
    for _ in 0..2000 {
        let (program, ops) = (base(), actions(&mut random));
        let (this, next) = (Mark { pipeline: 1, turn: 0 }, Mark { pipeline: 1, turn: 1 });
        let mut needed = Vec::new();
        for (i, a) in ops.iter().enumerate() {
            for (j, b) in ops.iter().enumerate() {
                if i < j && needs(&program, (a, this), (b, this)) {
                    needed.push((i + 1..=j).collect());
                }
                if needs(&program, (a, this), (b, next)) {
                    needed.push((i + 1..ops.len()).chain(0..=j).collect());
                }
            }
        }
        let least = fewest(ops.len(), &needed);
        assert_eq!(joins(program.block(|_| vec![pipeline(64, 2, ops.clone())])), least, "{ops:?}");
        some += least;
    }
    assert!(some > 1000, "hardly any joins were needed");
}
