//! One step of all receivers: flows, one after another, within the capacity that the others leave.

use super::super::ConstructionError;
use super::Broadcasts;
use super::arrivals::{ArrivalNetwork, Arrivals, Passage};
use crate::dense::DenseMap;
use crate::graph::EdgeIndex;
use crate::schedule::{Move, MoveAction, Piece};

/// The moves of a step.
#[derive(Clone, Debug)]
pub(super) struct AssignedStep {
    /// How many rounds it takes.
    pub(super) rounds: u64,
    /// The moves.
    pub(super) moves: Vec<Move>,
}

/// One step of breadth-first broadcasts.
#[derive(Clone, Copy)]
pub(super) struct StepAssignment<'a> {
    /// The broadcasts.
    pub(super) broadcasts: &'a Broadcasts<'a>,
    /// Which of their steps.
    pub(super) step: u32,
    /// How many pieces each unit has.
    pub(super) chunks: u32,
}

/// Assigns ways to what all receivers get in a step, in the least number of rounds that is found, from a least one on.
pub(super) fn assign_step(
    step: StepAssignment<'_>,
    least: u64,
) -> Result<AssignedStep, ConstructionError> {
    // All pieces fit through one edge in so many rounds.
    let ranks = u64::from(step.broadcasts.finder.topology().count_ranks());
    let most = (ranks * ranks).saturating_mul(u64::from(step.chunks)).max(least);
    let users = step.count_users();
    let mut failed = least.saturating_sub(1);
    let mut rounds = least;
    let mut found = loop {
        match step.try_rounds(rounds, &users)? {
            Some(moves) => break moves,
            None if rounds >= most => return Err(ConstructionError::TooLarge),
            None => {}
        }
        failed = rounds;
        rounds = rounds.saturating_add(rounds - least + 1).min(most);
    };
    while rounds - failed > 1 {
        let middle = failed + (rounds - failed) / 2;
        match step.try_rounds(middle, &users)? {
            Some(moves) => (found, rounds) = (moves, middle),
            None => failed = middle,
        }
    }
    Ok(AssignedStep { rounds, moves: found })
}

impl StepAssignment<'_> {
    /// For how many receivers each edge is part of hops.
    fn count_users(&self) -> DenseMap<EdgeIndex, u64> {
        let finder = &self.broadcasts.finder;
        let mut users = DenseMap::filled(finder.topology().edges().len(), 0);
        for receiver in finder.topology().ranks() {
            for edge in finder.collect_fabric(receiver).edges {
                users[edge] += 1;
            }
        }
        users
    }

    /// The moves of all receivers, if they fit into so many rounds.
    fn try_rounds(
        &self,
        rounds: u64,
        users: &DenseMap<EdgeIndex, u64>,
    ) -> Result<Option<Vec<Move>>, ConstructionError> {
        let finder = &self.broadcasts.finder;
        let edges = finder.topology().edges().len();
        let mut loads: DenseMap<EdgeIndex, u64> = DenseMap::filled(edges, 0);
        let mut moves = Vec::new();
        for receiver in finder.topology().ranks() {
            self.broadcasts.check_observer()?;
            // Networks of all receivers at once take too much memory where all are on one switch.
            let arrivals = self.broadcasts.collect(receiver, self.step);
            let mut network = ArrivalNetwork::new(finder, &arrivals);
            let supply = u64::from(self.chunks);
            let total = supply * arrivals.deliveries.len() as u64;
            // More than all pieces of the receiver need not be told apart from that, and sums of it fit.
            let capacity = |edge: EdgeIndex| {
                let all = rounds.saturating_mul(finder.weight(edge));
                all.saturating_sub(loads[edge]).min(total)
            };
            // Whoever comes first would leave nothing of some edges to others, where more than its share is no use.
            let share = |edge: EdgeIndex| {
                let all = rounds.saturating_mul(finder.weight(edge));
                all.div_ceil(users[edge].max(1)).min(capacity(edge))
            };
            if network.maximize(supply, share) < total && network.maximize(supply, capacity) < total
            {
                return Ok(None);
            }
            let passages = network.decompose(finder);
            for passage in &passages {
                for &edge in &passage.path {
                    loads[edge] += passage.amount;
                }
            }
            self.list_moves(&arrivals, &passages, &mut moves);
        }
        Ok(Some(moves))
    }

    /// The pieces of each unit, in order, on the ways that were found for it.
    pub(super) fn list_moves(
        &self,
        arrivals: &Arrivals,
        passages: &[Passage],
        moves: &mut Vec<Move>,
    ) {
        let mut next = vec![0_u32; arrivals.deliveries.len()];
        for passage in passages {
            let delivery = arrivals.deliveries.get(passage.delivery);
            let count = next.get_mut(passage.delivery);
            let (Some(delivery), Some(next)) = (delivery, count) else { continue };
            let Some(&first) = passage.path.first() else { continue };
            for _ in 0..passage.amount {
                moves.push(Move {
                    step: self.step,
                    from: self.broadcasts.finder.edge(first).from,
                    to: arrivals.receiver,
                    piece: Piece(delivery.origin.0 * self.chunks + *next),
                    action: MoveAction::Copy,
                    path: passage.path.clone(),
                });
                *next += 1;
            }
        }
    }
}
