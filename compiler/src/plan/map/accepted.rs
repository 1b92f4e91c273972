//! Channels and semaphores that several blocks may use because their author allows it.
//!
//! In: a program with its `#[allow(shared)]` attributes. Out: rows of a map; and the program of a plan in which the
//! same things are marked, since a plan cannot express this. Nothing is taken on trust: the checks try what is marked
//! in every schedule, or say that this was too much.

use super::Map;
use crate::ir::{self, ChannelKind};
use serde::{Deserialize, Serialize};

/// What a plan counts separately.
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

/// The channels and semaphores that several blocks may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    instances: u32,
    ranks: Vec<Vec<SharedRow>>,
}

impl Map {
    /// What the author of the plan's program allows several blocks to use.
    #[must_use]
    pub fn accepted(&self) -> Accepted {
        Accepted { instances: self.instances, ranks: self.shared.clone() }
    }
}

impl Accepted {
    /// Marks these channels and semaphores in the program of a plan.
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

/// The rows of every rank; empty if nothing is shared on any rank.
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
