//! Sums that several ranks get, as a formula.
//!
//! Each rank keeps one value of a piece, which is a sum of what some origins contribute. For each rank, step and origin
//! a variable says whether the value has its contribution after the step; for each route and step one says whether the
//! value takes it, and one whether it takes the place of what is there. What is added has nothing in common with what is
//! there, and what takes its place has all of it: so no contribution is lost or counted twice, and at the end each
//! receiver's value has those that it needs and no others.

use super::{Encoder, EncodingGap, PossibleSend};
use crate::dense::DenseMap;
use crate::graph::Vertex;
use crate::schedule::Unit;
use crate::steps::routes::RouteIndex;
use crate::steps::solver::{Formula, Literal, Term};

/// A piece of a sum.
#[derive(Clone, Copy)]
pub(super) struct SummedPiece<'a> {
    /// The index of the unit.
    pub(super) unit: usize,
    /// Which of its pieces.
    pub(super) chunk: u32,
    /// When contributions can be where.
    pub(super) reach: &'a SumReach,
}

/// When contributions can be where.
pub(super) struct SumReach {
    /// For each origin, in how many steps its contribution can be at each rank.
    from: Vec<DenseMap<Vertex, Option<u32>>>,
    /// For each rank the last step in which it is of use that something arrives; 0 if it never is.
    last: DenseMap<Vertex, u32>,
    /// For each rank the contributions that it gets, by the index of their origin; `None` if it is no receiver.
    needed: DenseMap<Vertex, Option<Vec<bool>>>,
}

impl SumReach {
    /// `None` if a rank cannot get what it needs in so few steps.
    pub(super) fn new(encoder: &Encoder<'_>, unit: &Unit) -> Option<SumReach> {
        let routes = encoder.problem.routes;
        let steps = encoder.problem.point.steps;
        let ranks = encoder.problem.topology.count_ranks() as usize;
        let from: Vec<DenseMap<Vertex, Option<u32>>> =
            unit.origins.iter().map(|origin| routes.measure_steps_from(*origin)).collect();
        let mut last = DenseMap::filled(ranks, 0);
        let mut needed = DenseMap::filled(ranks, None);
        for (index, &receiver) in unit.receivers.iter().enumerate() {
            let summands = unit.find_summands(index);
            let is_needed = |origin: &Vertex| summands.binary_search(origin).is_ok();
            let own: Vec<bool> = unit.origins.iter().map(is_needed).collect();
            let mut distances = from.iter().zip(&own).filter(|(_, is_needed)| **is_needed);
            if distances.any(|(from, _)| from[receiver].is_none_or(|distance| distance > steps)) {
                return None;
            }
            needed[receiver] = Some(own);
            let distances = routes.measure_steps_to(receiver);
            for rank in encoder.problem.topology.ranks() {
                let left = distances[rank].and_then(|distance| steps.checked_sub(distance));
                last[rank] = left.unwrap_or(0).max(last[rank]);
            }
        }
        Some(SumReach { from, last, needed })
    }
}

/// What a rank's value has: for each origin, after each number of steps.
struct Contributions {
    has: Vec<Vec<Term>>,
    /// For each origin and number of steps whether the contribution took one hop, two hops, and so on up to the limit;
    /// empty if there is none that matters.
    hops: Vec<Vec<Vec<Term>>>,
}

impl Contributions {
    fn get(&self, origin: usize, step: u32) -> Term {
        let of_origin = self.has.get(origin).and_then(|steps| steps.get(step as usize));
        of_origin.copied().unwrap_or(Term::Known(false))
    }

    fn get_hops(&self, origin: usize, step: u32) -> &[Term] {
        let of_origin = self.hops.get(origin).and_then(|steps| steps.get(step as usize));
        of_origin.map_or(&[], Vec::as_slice)
    }
}

/// A value takes a route to a rank in a step.
struct SumArrival {
    route: RouteIndex,
    /// Whether it does.
    moves: Literal,
    /// Whether it takes the place of what is there.
    replaces: Literal,
    /// For each origin whether its contribution arrives.
    brings: Vec<Term>,
}

impl Formula<'_> {
    /// Whether two terms are both true.
    fn add_conjunction(&mut self, one: Term, other: Term) -> Term {
        match (one, other) {
            (Term::Known(true), term) | (term, Term::Known(true)) => term,
            (Term::Known(false), _) | (_, Term::Known(false)) => Term::Known(false),
            (Term::Literal(_), Term::Literal(_)) => {
                let both: Term = self.add_variable().into();
                self.add_clause(&[both.negate(), one]);
                self.add_clause(&[both.negate(), other]);
                self.add_clause(&[one.negate(), other.negate(), both]);
                both
            }
        }
    }
}

impl Encoder<'_> {
    pub(super) fn encode_sum(&mut self, piece: SummedPiece<'_>) -> Result<(), EncodingGap> {
        let mut held: DenseMap<Vertex, Contributions> = Vec::new().into();
        for rank in self.problem.topology.ranks() {
            held.push(self.add_contributions(piece, rank));
        }
        for step in 1..=self.problem.point.steps {
            for rank in self.problem.topology.ranks() {
                let arrivals = if step <= piece.reach.last[rank] {
                    self.add_sum_arrivals(piece, step, rank, &held)
                } else {
                    Vec::new()
                };
                self.constrain_sum(step, rank, &arrivals, &held);
                self.constrain_hops(step, rank, &arrivals, &held);
                self.check_size()?;
            }
        }
        Ok(())
    }

    /// Variables for what the value of a rank has.
    fn add_contributions(&mut self, piece: SummedPiece<'_>, rank: Vertex) -> Contributions {
        let steps = self.problem.point.steps;
        let units = self.problem.units;
        let origins = units.get(piece.unit).map_or(&[][..], |unit| &unit.origins);
        let mut contributions = Contributions { has: Vec::new(), hops: Vec::new() };
        for (index, &origin) in origins.iter().enumerate() {
            let is_needed = piece.reach.needed[rank].as_ref().and_then(|own| own.get(index));
            let first = piece.reach.from.get(index).and_then(|from| from[rank]);
            let mut own: Vec<Term> = Vec::with_capacity(steps as usize + 1);
            for step in 0..=steps {
                let before = own.last().copied().unwrap_or(Term::Known(false));
                let can_arrive = first.is_some_and(|first| first <= step)
                    && step <= piece.reach.last[rank]
                    && is_needed != Some(&false);
                own.push(if origin == rank || (step == steps && is_needed == Some(&true)) {
                    Term::Known(true)
                } else if can_arrive {
                    self.formula.add_variable().into()
                } else {
                    before
                });
            }
            let hops = self.add_hop_counts(&own);
            contributions.has.push(own);
            contributions.hops.push(hops);
        }
        contributions
    }

    /// Variables for how many hops a contribution took, where there is a limit that matters.
    fn add_hop_counts(&mut self, has: &[Term]) -> Vec<Vec<Term>> {
        let Some(limit) = self.problem.find_hop_limit() else { return Vec::new() };
        let mut counts = vec![vec![Term::Known(false); limit]];
        for own in has.iter().skip(1) {
            let mut add = || match own {
                Term::Known(false) => Term::Known(false),
                Term::Known(true) | Term::Literal(_) => self.formula.add_variable().into(),
            };
            counts.push((0..limit).map(|_| add()).collect());
        }
        counts
    }

    /// Variables for the routes on which a value can come to a rank in a step.
    fn add_sum_arrivals(
        &mut self,
        piece: SummedPiece<'_>,
        step: u32,
        rank: Vertex,
        held: &DenseMap<Vertex, Contributions>,
    ) -> Vec<SumArrival> {
        let SummedPiece { unit, chunk, .. } = piece;
        let routes = self.problem.routes;
        let mut arrivals = Vec::new();
        for &index in &routes.ending_at[rank] {
            let from = &held[routes.routes[index].from];
            let sent: Vec<Term> =
                (0..from.has.len()).map(|origin| from.get(origin, step - 1)).collect();
            if sent.iter().all(|term| *term == Term::Known(false)) {
                continue;
            }
            let moves = self.formula.add_variable();
            let replaces = self.formula.add_variable();
            self.formula.add_clause(&[(!replaces).into(), moves.into()]);
            let something: Vec<Term> =
                [(!moves).into()].into_iter().chain(sent.iter().copied()).collect();
            self.formula.add_clause(&something);
            let brings = sent
                .into_iter()
                .map(|sent| self.formula.add_conjunction(moves.into(), sent))
                .collect();
            self.sends.push(PossibleSend {
                unit,
                chunk,
                step: step - 1,
                route: index,
                literal: moves,
                is_copy: replaces.into(),
            });
            self.add_load(step, index, moves);
            arrivals.push(SumArrival { route: index, moves, replaces, brings });
        }
        arrivals
    }

    /// What a rank's value has after a step.
    fn constrain_sum(
        &mut self,
        step: u32,
        rank: Vertex,
        arrivals: &[SumArrival],
        held: &DenseMap<Vertex, Contributions>,
    ) {
        let own = &held[rank];
        for origin in 0..own.has.len() {
            let (before, after) = (own.get(origin, step - 1), own.get(origin, step));
            self.formula.add_clause(&[before.negate(), after]);
            let mut reasons = vec![after.negate(), before];
            for (index, arrival) in arrivals.iter().enumerate() {
                let Some(&comes) = arrival.brings.get(origin) else { continue };
                let replaces: Term = arrival.replaces.into();
                self.formula.add_clause(&[comes.negate(), after]);
                // What is there is not added again, and is in what takes its place.
                self.formula.add_clause(&[comes.negate(), before.negate(), replaces]);
                self.formula.add_clause(&[replaces.negate(), before.negate(), comes]);
                for other in arrivals.iter().take(index) {
                    let Some(also) = other.brings.get(origin) else { continue };
                    self.formula.add_clause(&[comes.negate(), also.negate()]);
                }
                reasons.push(comes);
            }
            self.formula.add_clause(&reasons);
        }
        for (index, arrival) in arrivals.iter().enumerate() {
            for (place, other) in arrivals.iter().enumerate() {
                if place != index {
                    let alone = [(!arrival.replaces).into(), (!other.moves).into()];
                    self.formula.add_clause(&alone);
                }
            }
        }
    }

    /// How many hops contributions take: one more than where they come from, and no more than allowed.
    fn constrain_hops(
        &mut self,
        step: u32,
        rank: Vertex,
        arrivals: &[SumArrival],
        held: &DenseMap<Vertex, Contributions>,
    ) {
        let own = &held[rank];
        for origin in 0..own.has.len() {
            let after = own.get_hops(origin, step);
            for (earlier, later) in own.get_hops(origin, step - 1).iter().zip(after) {
                self.formula.add_clause(&[earlier.negate(), *later]);
            }
            for arrival in arrivals {
                let Some(&comes) = arrival.brings.get(origin) else { continue };
                let from = self.problem.routes.routes[arrival.route].from;
                let sent = held[from].get_hops(origin, step - 1);
                self.add_hop(comes, sent, after);
            }
        }
    }
}
