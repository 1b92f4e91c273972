//! The search finds in parts, and with fewer turns tried, what it finds in whole programs with all turns.

use super::model::Model;
use super::parts::list_blocks;
use super::{Explored, SharedCounters, explore, unsure};
use crate::events::{Events, SizeClass};
use crate::interpreter::{self, Outcome};
use crate::ir::build::{acquire, program, release, signal, to, wait};
use crate::ir::sharing::Sharing;
use crate::ir::{Action, ChannelKind, Program};
use fastrand::Rng;
use rustc_hash::FxHashSet;

/// How many programs are compared.
const PROGRAMS: u32 = 600;

/// Adds an operation at a random place.
fn insert(random: &mut Rng, ops: &mut Vec<Action>, action: Action) {
    ops.insert(random.usize(..=ops.len()), action);
}

/// Two ranks of two or three blocks, which give and take from a few counters as often.
fn any(random: &mut Rng) -> Program {
    let count = 2 + random.usize(..2);
    let mut ranks = vec![vec![Vec::new(); count]; 2];
    for _ in 0..3 + random.usize(..5) {
        let rank = random.usize(..2);
        let (from, into, given, taken) = match random.usize(..2) {
            0 => {
                let peer = 1 - rank;
                let (there, here) = (to(peer as u32, rank as u32), to(rank as u32, peer as u32));
                (peer, rank, signal([there], false), wait([here], false))
            }
            _ => {
                let id = random.usize(..2) as u32;
                (rank, rank, release(&[id]), acquire(&[id]))
            }
        };
        let (one, other) = (random.usize(..count), random.usize(..count));
        insert(random, &mut ranks[from][one], given);
        insert(random, &mut ranks[into][other], taken);
    }
    let initial = random.usize(..2) as i64;
    let empty = program(2, 1, 1, 0).mesh(ChannelKind::Memory).semaphores(2);
    let mut all =
        (0..count).fold(empty, |all, block| all.block(|rank| ranks[rank as usize][block].clone()));
    let semaphores = all.ranks.iter_mut().flat_map(|rank| rank.semaphores.iter_mut());
    semaphores.for_each(|semaphore| (semaphore.initial, semaphore.shared) = (initial, true));
    let channels = all.ranks.iter_mut().flat_map(|rank| rank.channels.iter_mut());
    channels.for_each(|channel| channel.shared = true);
    all
}

/// Whether some schedule stops half way, all of them tried; none if blocks share nothing.
fn stops(program: &Program) -> Option<bool> {
    let (sharing, blocks) = (Sharing::accepted(program), list_blocks(program));
    if sharing.is_empty() {
        return None;
    }
    let shared =
        SharedCounters { events: &Events::new(program, SizeClass::Outline), sharing: &sharing };
    assert_eq!(unsure::why(&shared, &blocks), None, "no lists, few steps");
    let model = Model::new(&shared, blocks);
    let (mut met, mut open) = (FxHashSet::default(), vec![model.start()]);
    while let Some(mut state) = open.pop() {
        model.settle(&mut state);
        if !met.insert(state.places.clone()) {
            continue;
        }
        let turns = (0..model.blocks.len()).filter_map(|block| model.turn(&state, block));
        let next: Vec<_> = turns.collect();
        if next.is_empty() && model.unfinished(&state).is_some() {
            return Some(true);
        }
        open.extend(next);
    }
    Some(false)
}

#[test]
fn fewer_turns_find_the_same() {
    let (mut random, mut found) = (Rng::with_seed(1), [0, 0]);
    for number in 0..PROGRAMS {
        let program = any(&mut random);
        // The search is for programs of which one schedule is known to come to its end.
        if !matches!(interpreter::run(&program, 1 << 20), Outcome::Finished(_)) {
            continue;
        }
        let Some(stops) = stops(&program) else { continue };
        let stuck = match explore(&program, &FxHashSet::default()) {
            Explored::Stuck(_) => true,
            Explored::Searched(undecided) => {
                assert!(undecided.is_empty(), "program {number} is small: {undecided:?}");
                false
            }
        };
        assert_eq!(stuck, stops, "program {number}: {program:#?}");
        found[usize::from(stuck)] += 1;
    }
    assert!(found.iter().all(|count| *count > 20), "both kinds are met: {found:?}");
}
