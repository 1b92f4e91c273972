//! The search for one schedule of steps: symmetric ones first, then any.

use super::SearchError;
use super::direction::{SearchDirection, reverse_units};
use super::encode::{Encoding, EncodingGap, PointProblem, encode_point};
use super::quotient::{UnitQuotient, list_quotients};
use super::routes::{RouteTable, list_routes};
use super::solver::Verdict;
use crate::automorphism::Symmetry;
use crate::collective::{Collective, CollectiveKind};
use crate::graph::{Topology, Vertex};
use crate::observer::{NoObserver, SearchObserver};
use crate::schedule::{
    Move, MoveAction, Piece, SchedulePoint, StepSchedule, Unit, check_schedule, list_units,
};
use std::collections::{BTreeMap, BTreeSet};

/// A conflict in a formula with so many variables counts twice, in one with twice as many three times, and so on: so
/// long does it take.
const CHEAP_VARIABLES: u64 = 1 << 14;

/// How much a search may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolverBudget {
    /// How many conflicts the solver may run into, over all searches for a point: symmetric schedules may take half of
    /// what is left each, and others the rest. Those in formulas of more than 16,384 variables count several times. The
    /// default takes about a second.
    pub conflicts: u64,
    /// How many variables a formula may have. The default takes some hundred megabytes.
    pub variables: usize,
    /// How many ranks a topology may have. Others have too many routes.
    pub ranks: u32,
    /// How many routes each rank may use to each other one; the shortest ones.
    pub routes_per_pair: usize,
}

impl Default for SolverBudget {
    fn default() -> SolverBudget {
        SolverBudget { conflicts: 20_000, variables: 1 << 17, ranks: 64, routes_per_pair: 4 }
    }
}

/// What a search found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointOutcome {
    /// A schedule, which takes exactly so many steps and rounds.
    Found(StepSchedule),
    /// There is none: the solver has shown it.
    Impossible,
    /// Neither is known.
    OutOfBudget(BudgetReached),
}

/// A budget ended a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetReached {
    /// Which one.
    pub limit: SolverLimit,
    /// How many conflicts there were, counted like those that are allowed.
    pub conflicts: u64,
}

/// A part of a [`SolverBudget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolverLimit {
    /// [`SolverBudget::conflicts`].
    Conflicts,
    /// The conflicts for all points of so many steps of a frontier, of which none was left for this one.
    AllConflicts,
    /// [`SolverBudget::variables`].
    Variables,
    /// [`SolverBudget::ranks`].
    Ranks,
    /// [`SolverBudget::routes_per_pair`]: there is no schedule that uses the routes that were looked at.
    Routes,
    /// None: there is no schedule in which each rank keeps one value of each piece, and gets what is no sum once. Whether
    /// there is one in which ranks keep several partial sums of a piece apart, use what sums have in common, or get a
    /// piece over fewer hops later on, was not looked at.
    OneValue,
    /// None: the observer stopped the search.
    Observer,
}

/// Searches for a schedule of a collective that has so many steps, rounds and pieces. What is summed up, and a Gather,
/// is searched for backwards. The symmetry is one of the topology.
///
/// # Errors
/// [`SearchError::Composed`] for an AllReduce, and those of [`solve_point`].
pub fn solve_collective_point(
    topology: &Topology,
    kind: CollectiveKind,
    point: SchedulePoint,
    symmetry: &Symmetry,
    budget: SolverBudget,
) -> Result<PointOutcome, SearchError> {
    if let Some(rank) = kind.root().filter(|root| !topology.is_rank(*root)) {
        return Err(SearchError::RankOutOfRange { rank });
    }
    if kind == CollectiveKind::AllReduce {
        return Err(SearchError::Composed);
    }
    let collective = Collective::Known(kind);
    let units = &list_units(&collective, topology.count_ranks())[..];
    let direction = SearchDirection::find(&collective, units);
    let subject =
        SearchSubject { topology, units, direction, symmetry, max_hops: None, shares_sums: false };
    let search = UnitSearch::new(subject, budget, &NoObserver);
    Ok(search.solve(point, budget.conflicts, &NoObserver)?.outcome)
}

/// Searches for a schedule that copies units to those who need them, and has so many steps, rounds and pieces. The
/// symmetry is one of the topology; what does not keep the units is not used.
///
/// # Errors
/// [`SearchError::NotACopy`], [`SearchError::RankOutOfRange`], [`SearchError::MalformedPoint`] for no pieces or fewer
/// rounds than steps, and [`SearchError::TooLarge`] for more pieces than can be numbered.
pub fn solve_point(
    topology: &Topology,
    units: &[Unit],
    point: SchedulePoint,
    symmetry: &Symmetry,
    budget: SolverBudget,
) -> Result<PointOutcome, SearchError> {
    check_units(topology, units)?;
    let search = CopySearch::new(topology, units, symmetry, budget, &NoObserver);
    Ok(search.solve(topology, units, point, budget.conflicts, &NoObserver)?.outcome)
}

/// What a search found out, and how many conflicts it took.
pub(crate) struct PointAnswer {
    pub(crate) outcome: PointOutcome,
    pub(crate) conflicts: u64,
}

/// What schedules are searched for.
#[derive(Clone, Copy)]
pub(crate) struct SearchSubject<'a> {
    /// The machine.
    pub(crate) topology: &'a Topology,
    /// What moves.
    pub(crate) units: &'a [Unit],
    /// Which way it is searched for.
    pub(crate) direction: SearchDirection,
    /// Symmetries of the machine, those of the units among them.
    pub(crate) symmetry: &'a Symmetry,
    /// Over how many hops at most something comes to a receiver.
    pub(crate) max_hops: Option<u32>,
    /// Whether sums have contributions in common: schedules that use this are not looked for.
    pub(crate) shares_sums: bool,
}

/// Searches for schedules of units, forwards or backwards.
pub(crate) struct UnitSearch<'a> {
    subject: SearchSubject<'a>,
    copies: CopySearch,
    /// For what is searched for backwards.
    backwards: Option<BackwardUnits>,
}

/// What units are when they run backwards.
struct BackwardUnits {
    topology: Topology,
    units: Vec<Unit>,
}

impl<'a> UnitSearch<'a> {
    pub(crate) fn new(
        subject: SearchSubject<'a>,
        budget: SolverBudget,
        observer: &dyn SearchObserver,
    ) -> UnitSearch<'a> {
        let SearchSubject { topology, units, direction, symmetry, max_hops, shares_sums } = subject;
        match direction {
            SearchDirection::Forward => {
                let copies = CopySearch::new(topology, units, symmetry, budget, observer);
                let copies = CopySearch { max_hops, shares_sums, ..copies };
                UnitSearch { subject, copies, backwards: None }
            }
            SearchDirection::Backward => {
                let reversed = topology.reverse();
                let units = reverse_units(units);
                let symmetry = symmetry.reverse(&reversed);
                let copies = CopySearch::new(&reversed, &units, &symmetry, budget, observer);
                let copies = CopySearch { max_hops, shares_sums, ..copies };
                let backwards = Some(BackwardUnits { topology: reversed, units });
                UnitSearch { subject, copies, backwards }
            }
        }
    }

    /// Searches for a schedule, with so many conflicts at most.
    pub(crate) fn solve(
        &self,
        point: SchedulePoint,
        max_conflicts: u64,
        observer: &dyn SearchObserver,
    ) -> Result<PointAnswer, SearchError> {
        let SearchSubject { topology, units, .. } = self.subject;
        let Some(backwards) = &self.backwards else {
            return self.copies.solve(topology, units, point, max_conflicts, observer);
        };
        let BackwardUnits { topology: reversed, units: backward_units } = backwards;
        let answer = self.copies.solve(reversed, backward_units, point, max_conflicts, observer)?;
        let PointOutcome::Found(schedule) = answer.outcome else { return Ok(answer) };
        let schedule = schedule.reverse(reversed, topology, true).prefer_copies(units);
        check_schedule(topology, units, &schedule)?;
        Ok(PointAnswer { outcome: PointOutcome::Found(schedule), ..answer })
    }
}

/// Searches for schedules that copy units.
struct CopySearch {
    routes: RouteTable,
    quotients: Vec<UnitQuotient>,
    budget: SolverBudget,
    max_hops: Option<u32>,
    shares_sums: bool,
}

impl CopySearch {
    fn new(
        topology: &Topology,
        units: &[Unit],
        symmetry: &Symmetry,
        budget: SolverBudget,
        observer: &dyn SearchObserver,
    ) -> CopySearch {
        let (routes, quotients) = if topology.count_ranks() <= budget.ranks {
            let routes = list_routes(topology, budget.routes_per_pair, observer);
            (routes, list_quotients(topology, units, symmetry, observer))
        } else {
            (RouteTable::empty(topology), Vec::new())
        };
        CopySearch { routes, quotients, budget, max_hops: None, shares_sums: false }
    }

    /// The topology and the units are those that the search was made for.
    fn solve(
        &self,
        topology: &Topology,
        units: &[Unit],
        point: SchedulePoint,
        max_conflicts: u64,
        observer: &dyn SearchObserver,
    ) -> Result<PointAnswer, SearchError> {
        check_point_size(units, point)?;
        let CopySearch { routes, quotients, budget, max_hops, shares_sums } = self;
        let max_hops = *max_hops;
        // Whether each rank could do more than what is looked for.
        let is_narrow = *shares_sums
            || units.iter().any(Unit::is_sum)
            || max_hops.is_some_and(|hops| hops < point.steps);
        let mut limit = SolverLimit::Conflicts;
        let mut conflicts = 0;
        if topology.count_ranks() > budget.ranks {
            limit = SolverLimit::Ranks;
        }
        for quotient in quotients {
            if observer.is_stopped() {
                limit = SolverLimit::Observer;
                break;
            }
            let problem = PointProblem { topology, routes, units, point, quotient, max_hops };
            let is_whole = quotient.elements.len() == 1;
            let mut encoding = match encode_point(problem, budget.variables, observer) {
                Ok(encoding) => encoding,
                Err(EncodingGap::TooFewSteps) => return Ok(refuse(routes, conflicts)),
                Err(EncodingGap::TooManyVariables) => {
                    limit = SolverLimit::Variables;
                    continue;
                }
                Err(EncodingGap::Stopped) => {
                    limit = SolverLimit::Observer;
                    break;
                }
            };
            let formula = &mut encoding.formula;
            let cost = 1 + formula.count_variables() as u64 / CHEAP_VARIABLES;
            let left = max_conflicts.saturating_sub(conflicts) / cost;
            let verdict = formula.solve(if is_whole { left } else { left / 2 });
            conflicts += cost * formula.count_conflicts();
            match verdict {
                Verdict::Satisfiable => {
                    let schedule = decode_schedule(problem, &encoding);
                    check_schedule(topology, units, &schedule)?;
                    return Ok(PointAnswer { outcome: PointOutcome::Found(schedule), conflicts });
                }
                Verdict::Unsatisfiable if is_whole && is_narrow => {
                    limit = SolverLimit::OneValue;
                }
                Verdict::Unsatisfiable if is_whole => return Ok(refuse(routes, conflicts)),
                Verdict::Stopped => {
                    limit = SolverLimit::Observer;
                    break;
                }
                Verdict::Unsatisfiable | Verdict::OutOfConflicts => {}
            }
        }
        let reached = BudgetReached { limit, conflicts };
        Ok(PointAnswer { outcome: PointOutcome::OutOfBudget(reached), conflicts })
    }
}

/// There is no schedule on these routes.
fn refuse(routes: &RouteTable, conflicts: u64) -> PointAnswer {
    let outcome = if routes.is_complete {
        PointOutcome::Impossible
    } else {
        PointOutcome::OutOfBudget(BudgetReached { limit: SolverLimit::Routes, conflicts })
    };
    PointAnswer { outcome, conflicts }
}

fn check_units(topology: &Topology, units: &[Unit]) -> Result<(), SearchError> {
    for (index, unit) in units.iter().enumerate() {
        if unit.origins.len() != 1 {
            return Err(SearchError::NotACopy { unit: index });
        }
        let mut ranks = unit.origins.iter().chain(&unit.receivers);
        if let Some(&rank) = ranks.find(|rank| !topology.is_rank(**rank)) {
            return Err(SearchError::RankOutOfRange { rank });
        }
    }
    Ok(())
}

/// Whether there can be a schedule of a size.
pub(crate) fn check_point_size(units: &[Unit], point: SchedulePoint) -> Result<(), SearchError> {
    let has_rounds =
        if point.steps == 0 { point.rounds == 0 } else { point.rounds >= u64::from(point.steps) };
    if point.chunks == 0 || !has_rounds {
        return Err(SearchError::MalformedPoint);
    }
    let pieces = (units.len() as u64).checked_mul(u64::from(point.chunks));
    let is_numbered = pieces.is_some_and(|pieces| pieces <= u64::from(u32::MAX));
    if is_numbered { Ok(()) } else { Err(SearchError::TooLarge) }
}

/// The schedule that a solution describes, without sends that nobody needs.
fn decode_schedule(problem: PointProblem<'_>, encoding: &Encoding<'_>) -> StepSchedule {
    let PointProblem { topology, routes, units, point, quotient, .. } = problem;
    let mut moves: Vec<Move> = Vec::new();
    let mut sends_of_units: BTreeMap<usize, Vec<UnitSend<'_>>> = BTreeMap::new();
    for send in &encoding.sends {
        if encoding.formula.is_true(send.literal) {
            let route = &routes.routes[send.route];
            let is_copy = encoding.formula.holds(send.is_copy);
            let own = UnitSend { chunk: send.chunk, step: send.step, route, is_copy };
            sends_of_units.entry(send.unit).or_default().push(own);
        }
    }
    for (index, sends) in &mut sends_of_units {
        if let Some(unit) = units.get(*index) {
            drop_useless(unit, sends);
        }
    }
    for (index, image) in quotient.images.iter().enumerate() {
        let sends = sends_of_units.get(&image.representative).map_or(&[][..], Vec::as_slice);
        let Some(element) = quotient.elements.get(image.element) else { continue };
        for send in sends {
            moves.push(Move {
                step: send.step,
                from: element.map_vertex(send.route.from),
                to: element.map_vertex(send.route.to),
                piece: Piece(index as u32 * point.chunks + send.chunk),
                action: if send.is_copy { MoveAction::Copy } else { MoveAction::Reduce },
                path: send.route.edges.iter().map(|edge| element.map_edge(*edge)).collect(),
            });
        }
    }
    moves.sort_unstable();
    let rounds = count_rounds(topology, &moves, point);
    StepSchedule { chunks: point.chunks, rounds, moves }.prefer_copies(units)
}

/// A piece of a unit takes a route.
#[derive(Clone, Copy)]
struct UnitSend<'a> {
    chunk: u32,
    step: u32,
    route: &'a super::routes::Route,
    is_copy: bool,
}

/// Drops sends to ranks that neither need the piece nor send it on.
fn drop_useless(unit: &Unit, sends: &mut Vec<UnitSend<'_>>) {
    let mut senders: BTreeSet<(u32, Vertex)> = BTreeSet::new();
    sends.sort_by_key(|send| std::cmp::Reverse(send.step));
    sends.retain(|send| {
        let is_useful =
            unit.has_receiver(send.route.to) || senders.contains(&(send.chunk, send.route.to));
        if is_useful {
            senders.insert((send.chunk, send.route.from));
        }
        is_useful
    });
}

/// How many rounds each step needs. What is left over goes to the last one.
fn count_rounds(topology: &Topology, moves: &[Move], point: SchedulePoint) -> Vec<u64> {
    let weights: Vec<u64> = topology.weighted_edges().map(|(_, weight)| weight).collect();
    let mut loads: BTreeMap<(u32, usize), u64> = BTreeMap::new();
    for own in moves {
        for edge in &own.path {
            *loads.entry((own.step, edge.0 as usize)).or_default() += 1;
        }
    }
    let mut rounds = vec![1; point.steps as usize];
    for ((step, edge), load) in loads {
        let needed = load.div_ceil(weights.get(edge).copied().unwrap_or(1).max(1));
        if let Some(rounds) = rounds.get_mut(step as usize) {
            *rounds = needed.max(*rounds);
        }
    }
    let used: u64 = rounds.iter().sum();
    if let Some(last) = rounds.last_mut() {
        *last += point.rounds.saturating_sub(used);
    }
    rounds
}
