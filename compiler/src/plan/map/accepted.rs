//! Channels and semaphores that several blocks may use, as their author accepts.
//!
//! In: a program with what `#[allow(shared)]` says of it. Out: rows of a map; and a plan's program in which they are marked.
//! A plan has no word for it. Nothing is taken on trust: what is marked is looked at in every schedule, or it is said that
//! this was too much.

use super::Map;
use crate::ir::{self, ChannelKind};
use serde::{Deserialize, Serialize};

/// What is counted apart in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Counted {
    Memory,
    Port,
    Switch,
    Semaphore,
}

/// A channel or semaphore of a rank, by its number before copies are made.
pub(super) type SharedRow = (Counted, u32);

/// What several blocks may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    instances: u32,
    ranks: Vec<Vec<SharedRow>>,
}

impl Map {
    /// What the author of the plan's program accepts that several blocks use.
    #[must_use]
    pub fn accepted(&self) -> Accepted {
        Accepted { instances: self.instances, ranks: self.shared.clone() }
    }
}

impl Accepted {
    /// Marks it in the program of a plan.
    pub fn mark(&self, program: &mut ir::Program) {
        for (rank, rows) in program.ranks.iter_mut().zip(&self.ranks) {
            let is_shared = |counted, number: usize| {
                let before = (number as u32).checked_div(self.instances);
                before.is_some_and(|before| rows.contains(&(counted, before)))
            };
            for kind in [ChannelKind::Memory, ChannelKind::Port, ChannelKind::Switch] {
                let of_kind = rank.channels.iter_mut().filter(|channel| channel.kind() == kind);
                for (number, channel) in of_kind.enumerate() {
                    channel.shared = is_shared(counted(kind), number);
                }
            }
            for (number, semaphore) in rank.semaphores.iter_mut().enumerate() {
                semaphore.shared = is_shared(Counted::Semaphore, number);
            }
        }
    }
}

/// The rows of every rank; no ranks where nothing is shared.
pub(super) fn rows(program: &ir::Program) -> Vec<Vec<SharedRow>> {
    let ranks: Vec<Vec<SharedRow>> = program.ranks.iter().map(of_rank).collect();
    if ranks.iter().all(Vec::is_empty) { Vec::new() } else { ranks }
}

fn of_rank(rank: &ir::Rank) -> Vec<SharedRow> {
    let mut rows = Vec::new();
    for kind in [ChannelKind::Memory, ChannelKind::Port, ChannelKind::Switch] {
        let of_kind = rank.channels.iter().filter(|channel| channel.kind() == kind);
        let shared = (0..).zip(of_kind).filter(|(_, channel)| channel.shared);
        rows.extend(shared.map(|(number, _)| (counted(kind), number)));
    }
    let shared = (0..).zip(&rank.semaphores).filter(|(_, semaphore)| semaphore.shared);
    rows.extend(shared.map(|(number, _)| (Counted::Semaphore, number)));
    rows
}

fn counted(kind: ChannelKind) -> Counted {
    match kind {
        ChannelKind::Memory => Counted::Memory,
        ChannelKind::Port => Counted::Port,
        ChannelKind::Switch => Counted::Switch,
    }
}
