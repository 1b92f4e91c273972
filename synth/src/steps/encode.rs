//! Schedules of steps as solutions of a formula.
//!
//! For each piece, rank and step a variable says whether the rank has the piece after the step, and for each route and
//! step one whether the piece takes it (Cai et al., "Synthesizing optimal collective algorithms", PPoPP 2021, with one
//! variable for each step instead of numbers of steps). Variables exist only where the piece can be there already, and
//! can still reach a rank that needs it. The rounds of a step are 1 and some extra rounds, `at least 1`, `at least 2`,
//! ..; an edge that carries more than so many rounds allow demands one more. Pieces are those of the units that
//! represent their orbits, and edges the first ones of theirs: their loads are those of all images.

mod sums;

use super::quotient::UnitQuotient;
use super::routes::{RouteIndex, RouteTable};
use super::solver::{Formula, Literal, PointWatch, Term};
use crate::automorphism::OrbitNumber;
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::observer::SearchObserver;
use crate::schedule::{SchedulePoint, Unit};
use sums::{SumReach, SummedPiece};

/// What is searched for.
#[derive(Clone, Copy)]
pub(super) struct PointProblem<'a> {
    pub(super) topology: &'a Topology,
    pub(super) routes: &'a RouteTable,
    pub(super) units: &'a [Unit],
    pub(super) point: SchedulePoint,
    pub(super) quotient: &'a UnitQuotient,
    /// Over how many hops something may come.
    pub(super) max_hops: Option<u32>,
}

impl PointProblem<'_> {
    /// The limit on hops, if it is less than the steps allow.
    fn find_hop_limit(&self) -> Option<usize> {
        let limit = self.max_hops.filter(|hops| *hops < self.point.steps)?;
        usize::try_from(limit).ok()
    }
}

/// A piece of a representative takes a route in a step, if the literal is true.
#[derive(Clone, Copy, Debug)]
pub(super) struct PossibleSend {
    pub(super) unit: usize,
    pub(super) chunk: u32,
    pub(super) step: u32,
    pub(super) route: RouteIndex,
    pub(super) literal: Literal,
    /// Whether the receiver keeps it in place of what it had, or adds it to that.
    pub(super) is_copy: Term,
}

/// A formula, and what its variables mean.
pub(super) struct Encoding<'a> {
    pub(super) formula: Formula<'a>,
    /// Sorted by unit, chunk and step.
    pub(super) sends: Vec<PossibleSend>,
}

/// What cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EncodingGap {
    /// A rank cannot get what it needs in so few steps: there is no schedule.
    TooFewSteps,
    /// There are more variables than allowed.
    TooManyVariables,
    /// The observer stopped the search.
    Stopped,
}

/// The formula whose solutions are the schedules of a size that the group of the quotient maps to themselves.
pub(super) fn encode_point<'a>(
    problem: PointProblem<'a>,
    max_variables: usize,
    observer: &'a dyn SearchObserver,
) -> Result<Encoding<'a>, EncodingGap> {
    let orbits = problem.quotient.edges.list_firsts().len();
    let PointProblem { point, quotient, .. } = problem;
    let pieces = quotient.representatives.len().saturating_mul(point.chunks as usize);
    if pieces.max((point.steps as usize).saturating_mul(orbits)) > max_variables {
        return Err(EncodingGap::TooManyVariables);
    }
    let mut encoder = Encoder {
        problem,
        max_variables,
        observer,
        formula: Formula::new(PointWatch { point, observer }),
        sends: Vec::new(),
        loads: vec![DenseMap::filled(orbits, Vec::new()); point.steps as usize],
    };
    for &unit in &quotient.representatives {
        let Some(own) = problem.units.get(unit) else { continue };
        if own.is_sum() {
            let reach = SumReach::new(&encoder, own).ok_or(EncodingGap::TooFewSteps)?;
            for chunk in 0..point.chunks {
                encoder.encode_sum(SummedPiece { unit, chunk, reach: &reach })?;
            }
            continue;
        }
        let windows = find_windows(&problem, unit).ok_or(EncodingGap::TooFewSteps)?;
        for chunk in 0..point.chunks {
            encoder.encode_piece(unit, chunk, &windows)?;
        }
    }
    encoder.encode_loads()?;
    Ok(Encoding { formula: encoder.formula, sends: encoder.sends })
}

/// When a rank can get a piece.
#[derive(Clone, Copy, Debug)]
struct ArrivalWindow {
    /// The first step in which it can arrive; 0 at the origin.
    first: u32,
    /// The last step in which it is of use; 0 if it never is.
    last: u32,
    /// Whether the rank must get it.
    is_needed: bool,
}

/// When each rank can get the pieces of a unit; `None` if one cannot get them in time.
fn find_windows(
    problem: &PointProblem<'_>,
    unit: usize,
) -> Option<DenseMap<Vertex, ArrivalWindow>> {
    let steps = problem.point.steps;
    let unit = problem.units.get(unit)?;
    let origin = *unit.origins.first()?;
    let from = problem.routes.measure_steps_from(origin);
    let mut to: DenseMap<Vertex, Option<u32>> = DenseMap::filled(from.len(), None);
    for &receiver in &unit.receivers {
        let distances = problem.routes.measure_steps_to(receiver);
        for rank in problem.topology.ranks() {
            let nearest = [to[rank], distances[rank]].into_iter().flatten().min();
            to[rank] = nearest;
        }
    }
    let mut windows: DenseMap<Vertex, ArrivalWindow> = Vec::new().into();
    for rank in problem.topology.ranks() {
        let is_needed = unit.has_receiver(rank) && rank != origin;
        let first = from[rank].unwrap_or(u32::MAX);
        if is_needed && first > steps {
            return None;
        }
        let left = to[rank].and_then(|distance| steps.checked_sub(distance));
        let last = if rank == origin { 0 } else { left.unwrap_or(0) };
        windows.push(ArrivalWindow { first, last, is_needed });
    }
    Some(windows)
}

/// Whether a rank has a piece, after each number of steps.
type Holdings = DenseMap<Vertex, Vec<Term>>;

/// Over how many hops at least a piece came to a rank.
type Depths = DenseMap<Vertex, Vec<Term>>;

fn get_holding(holdings: &Holdings, rank: Vertex, step: u32) -> Term {
    holdings[rank].get(step as usize).copied().unwrap_or(Term::Known(false))
}

struct Encoder<'a> {
    problem: PointProblem<'a>,
    max_variables: usize,
    observer: &'a dyn SearchObserver,
    formula: Formula<'a>,
    sends: Vec<PossibleSend>,
    /// For each step and orbit of edges what loads an edge of it; as often as it does.
    loads: Vec<DenseMap<OrbitNumber, Vec<Literal>>>,
}

impl Encoder<'_> {
    fn check_size(&self) -> Result<(), EncodingGap> {
        if self.observer.is_stopped() {
            return Err(EncodingGap::Stopped);
        }
        let is_too_large = self.formula.count_variables() > self.max_variables;
        if is_too_large { Err(EncodingGap::TooManyVariables) } else { Ok(()) }
    }

    fn encode_piece(
        &mut self,
        unit: usize,
        chunk: u32,
        windows: &DenseMap<Vertex, ArrivalWindow>,
    ) -> Result<(), EncodingGap> {
        let holdings = self.add_holdings(windows);
        let depths = self.add_depths(windows);
        for step in 1..=self.problem.point.steps {
            for rank in self.problem.topology.ranks() {
                let window = windows[rank];
                if (window.first.max(1)..=window.last).contains(&step) {
                    let arrivals = self.add_arrivals(unit, chunk, step, rank, &holdings);
                    self.constrain_depths(rank, &arrivals, &depths);
                    let arrivals: Vec<Literal> = arrivals.iter().map(|own| own.literal).collect();
                    self.constrain_arrivals(step, rank, &arrivals, &holdings);
                }
            }
            self.check_size()?;
        }
        Ok(())
    }

    /// Variables for whether ranks have a piece.
    fn add_holdings(&mut self, windows: &DenseMap<Vertex, ArrivalWindow>) -> Holdings {
        let steps = self.problem.point.steps;
        let mut holdings: Holdings = Vec::new().into();
        for window in windows.as_slice() {
            let mut own = Vec::with_capacity(steps as usize + 1);
            for step in 0..=steps {
                let last = own.last().copied().unwrap_or(Term::Known(false));
                let is_known = window.first == 0 || (window.is_needed && step == steps);
                own.push(if is_known {
                    Term::Known(true)
                } else if (window.first..=window.last).contains(&step) {
                    self.formula.add_variable().into()
                } else {
                    last
                });
            }
            holdings.push(own);
        }
        holdings
    }

    /// Variables for the routes on which a rank can get a piece in a step.
    fn add_arrivals(
        &mut self,
        unit: usize,
        chunk: u32,
        step: u32,
        rank: Vertex,
        holdings: &Holdings,
    ) -> Vec<PossibleSend> {
        let PointProblem { routes, .. } = self.problem;
        let mut arrivals = Vec::new();
        for &index in &routes.ending_at[rank] {
            let route = &routes.routes[index];
            let sent = get_holding(holdings, route.from, step - 1);
            if sent == Term::Known(false) {
                continue;
            }
            let literal = self.formula.add_variable();
            self.formula.add_clause(&[(!literal).into(), sent]);
            let is_copy = Term::Known(true);
            let send = PossibleSend { unit, chunk, step: step - 1, route: index, literal, is_copy };
            self.sends.push(send);
            self.add_load(step, index, literal);
            arrivals.push(send);
        }
        arrivals
    }

    /// What takes a route in a step, from 1 on, loads its edges.
    fn add_load(&mut self, step: u32, route: RouteIndex, literal: Literal) {
        let PointProblem { routes, quotient, .. } = self.problem;
        let Some(loads) = self.loads.get_mut(step as usize - 1) else { return };
        for &edge in &routes.routes[route].edges {
            let times = quotient.count_stabilizer(edge);
            loads[quotient.edges.find_orbit(edge)].extend(std::iter::repeat_n(literal, times));
        }
    }

    /// For each rank variables for whether a piece came over one hop at least, two hops, and so on up to the limit; none
    /// if there is no limit that matters. A rank gets a piece once, so that this is the same at all times.
    fn add_depths(&mut self, windows: &DenseMap<Vertex, ArrivalWindow>) -> Depths {
        let limit = self.problem.find_hop_limit().unwrap_or(0);
        let mut depths: Depths = Vec::new().into();
        for window in windows.as_slice() {
            let mut add = || match window.first {
                0 => Term::Known(false),
                _ => self.formula.add_variable().into(),
            };
            depths.push((0..limit).map(|_| add()).collect());
        }
        depths
    }

    fn constrain_depths(&mut self, rank: Vertex, arrivals: &[PossibleSend], depths: &Depths) {
        for arrival in arrivals {
            let from = self.problem.routes.routes[arrival.route].from;
            self.add_hop(arrival.literal.into(), &depths[from], &depths[rank]);
        }
    }

    /// What comes took one hop more than before, and no more than are allowed; for no limit there are no terms.
    fn add_hop(&mut self, comes: Term, before: &[Term], after: &[Term]) {
        for (index, later) in after.iter().enumerate() {
            let earlier = match index.checked_sub(1) {
                Some(index) => before.get(index).copied().unwrap_or(Term::Known(false)),
                None => Term::Known(true),
            };
            self.formula.add_clause(&[comes.negate(), earlier.negate(), *later]);
        }
        if let Some(last) = before.last() {
            self.formula.add_clause(&[comes.negate(), last.negate()]);
        }
    }

    /// A rank has a piece after a step if it had it before or got it in this step, of which one is true at most.
    fn constrain_arrivals(
        &mut self,
        step: u32,
        rank: Vertex,
        arrivals: &[Literal],
        holdings: &Holdings,
    ) {
        let before = get_holding(holdings, rank, step - 1);
        let after = get_holding(holdings, rank, step);
        self.formula.add_clause(&[before.negate(), after]);
        let mut reasons = vec![after.negate(), before];
        for (index, &arrival) in arrivals.iter().enumerate() {
            self.formula.add_clause(&[(!arrival).into(), after]);
            self.formula.add_clause(&[(!arrival).into(), before.negate()]);
            for &other in arrivals.iter().take(index) {
                self.formula.add_clause(&[(!arrival).into(), (!other).into()]);
            }
            reasons.push(arrival.into());
        }
        self.formula.add_clause(&reasons);
    }

    /// No edge carries more than the rounds of a step allow, and all steps have so many rounds at most.
    fn encode_loads(&mut self) -> Result<(), EncodingGap> {
        let PointProblem { point, topology, quotient, .. } = self.problem;
        let weights: DenseMap<EdgeIndex, u64> =
            topology.weighted_edges().map(|(_, weight)| weight).collect::<Vec<u64>>().into();
        let spare = point.rounds - u64::from(point.steps);
        let mut total: Vec<Literal> = Vec::new();
        let limit = usize::try_from(spare).unwrap_or(usize::MAX).saturating_add(1);
        for loads in std::mem::take(&mut self.loads) {
            let mut limits = Vec::new();
            for (&edge, literals) in quotient.edges.list_firsts().iter().zip(loads.as_slice()) {
                limits.push(EdgeLimit { literals, weight: weights[edge] });
            }
            let extra = self.encode_step(&limits, spare)?;
            total = self.formula.add_counts(&total, &extra, limit);
            self.check_size()?;
        }
        if let Some(&more) = total.get(limit - 1) {
            self.formula.add_clause(&[(!more).into()]);
        }
        Ok(())
    }

    /// Variables for the extra rounds of a step: the `k`-th one is true if there are `k`.
    fn encode_step(
        &mut self,
        limits: &[EdgeLimit<'_>],
        spare: u64,
    ) -> Result<Vec<Literal>, EncodingGap> {
        let most = limits.iter().map(EdgeLimit::count_extra_rounds).max().unwrap_or(0).min(spare);
        let most = usize::try_from(most).map_err(|_| EncodingGap::TooManyVariables)?;
        if most > self.max_variables {
            return Err(EncodingGap::TooManyVariables);
        }
        let extra: Vec<Literal> = (0..most).map(|_| self.formula.add_variable()).collect();
        for pair in extra.windows(2) {
            if let [fewer, more] = pair {
                self.formula.add_clause(&[(!*more).into(), (*fewer).into()]);
            }
        }
        for limit in limits {
            self.encode_edge(limit, &extra);
            self.check_size()?;
        }
        Ok(extra)
    }

    fn encode_edge(&mut self, limit: &EdgeLimit<'_>, extra: &[Literal]) {
        // At least 1, and no more than can be counted.
        let weight = usize::try_from(limit.weight).unwrap_or(usize::MAX);
        if limit.literals.len() <= weight {
            return;
        }
        let largest = weight.saturating_mul(extra.len() + 1).saturating_add(1);
        let counts = self.formula.count_inputs(limit.literals, largest);
        for (rounds, &more) in counts.iter().skip(weight).step_by(weight).enumerate() {
            let round = extra.get(rounds).map_or(Term::Known(false), |round| (*round).into());
            self.formula.add_clause(&[(!more).into(), round]);
        }
    }
}

/// How much an edge carries in a step.
struct EdgeLimit<'a> {
    literals: &'a [Literal],
    weight: u64,
}

impl EdgeLimit<'_> {
    /// How many extra rounds it takes to carry everything.
    fn count_extra_rounds(&self) -> u64 {
        (self.literals.len() as u64).div_ceil(self.weight.max(1)).saturating_sub(1)
    }
}
