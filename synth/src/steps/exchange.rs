//! Exchanges: units that one rank each gets, as those of an AllToAll, in the least number of steps.
//!
//! Every piece goes one of its shortest ways, and may wait where its receiver is near. First each takes the way with
//! the least load, one after another; then rounds are taken away from steps one by one, and where an edge carries too
//! much, its pieces look for other ways, at prices that rise with the load and with how often it was too much
//! (McMurchie and Ebeling, "PathFinder: A negotiation-based performance-driven router for FPGAs", 1995). Nothing is
//! proved about the result, but that it does what is demanded in the least number of steps.

mod loads;
mod router;

use super::ConstructionError;
use super::construction::MAX_MOVES;
use super::hops::{HopFinder, RankDistances};
use super::legs::{RouteLeg, list_moves};
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::observer::{NoObserver, SearchObserver};
use crate::rational::Rational;
use crate::schedule::{Piece, StepSchedule, Unit};
use loads::{PriceKind, StepLoads};
use router::Router;

/// How often all pieces look for a way with less load before rounds are taken away; later times change little.
const BALANCE_PASSES: u32 = 3;

/// How often pieces on full edges look for other ways before a round is given back. What is not settled by then hardly
/// ever is.
const NEGOTIATION_PASSES: u32 = 24;

/// What an exchange is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeRequest {
    /// Up to how many pieces each unit has.
    pub max_chunks: u32,
    /// How many edges the searches for ways may look at, for each number of pieces; the default takes some seconds.
    /// What comes after the first ways of all pieces ends there, and [`ExchangeEnd::Stopped`] reports it.
    pub max_work: u64,
}

impl Default for ExchangeRequest {
    fn default() -> ExchangeRequest {
        ExchangeRequest { max_chunks: 1, max_work: 1 << 26 }
    }
}

/// How the search for an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// No schedule takes fewer rounds: some rank has to send or to get so much, or all hops together take so long.
    Least,
    /// For each step, no ways were found with one round less.
    Settled,
    /// The search ended at [`ExchangeRequest::max_work`], or the observer stopped it.
    Stopped,
}

/// A schedule of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeSchedule {
    /// The schedule.
    pub schedule: StepSchedule,
    /// How its search ended.
    pub end: ExchangeEnd,
}

/// A schedule of units that are copied to one receiver each, in the least number of steps, for exactly
/// [`ExchangeRequest::max_chunks`] pieces of each.
///
/// # Errors
/// [`ConstructionError::NoChunks`], [`ConstructionError::BadUnit`], [`ConstructionError::UnfitUnit`] for a unit that is
/// a sum or has several receivers, [`ConstructionError::Unreachable`], [`ConstructionError::TooLarge`] and
/// [`ConstructionError::Arithmetic`].
pub fn schedule_exchange(
    topology: &Topology,
    units: &[Unit],
    request: &ExchangeRequest,
) -> Result<ExchangeSchedule, ConstructionError> {
    let mut search = ExchangeSearch::new(topology, units, request, &NoObserver)?;
    search.schedule(request.max_chunks)
}

/// The same, for that number of pieces, up to a largest one, for which the time per chunk is the least; of several such
/// ones the smallest.
///
/// # Errors
/// Those of [`schedule_exchange`].
pub fn find_exchange(
    topology: &Topology,
    units: &[Unit],
    request: &ExchangeRequest,
) -> Result<ExchangeSchedule, ConstructionError> {
    find_exchange_until(topology, units, request, &NoObserver)
}

/// The same, or the best schedule that is found before the observer stops the search; if there is none,
/// [`ConstructionError::Stopped`].
pub(crate) fn find_exchange_until(
    topology: &Topology,
    units: &[Unit],
    request: &ExchangeRequest,
    observer: &dyn SearchObserver,
) -> Result<ExchangeSchedule, ConstructionError> {
    let mut search = ExchangeSearch::new(topology, units, request, observer)?;
    let mut best: Option<(Rational, ExchangeSchedule)> = None;
    for chunks in 1..=request.max_chunks {
        let found = match search.schedule(chunks) {
            Err(ConstructionError::Stopped) if best.is_some() => break,
            found => found?,
        };
        let rounds = i128::from(found.schedule.measure().rounds);
        let time = Rational::new(rounds, i128::from(chunks))?;
        // The fraction that the rounds of the least schedules are rounded up from.
        if time == search.least {
            return Ok(found);
        }
        if best.as_ref().is_none_or(|(least, _)| time < *least) {
            best = Some((time, found));
        }
    }
    best.map(|(_, found)| found).ok_or(ConstructionError::NoChunks)
}

/// What goes from one rank to another one.
#[derive(Clone, Copy, Debug)]
struct Shipment {
    unit: u32,
    from: Vertex,
    to: Vertex,
    distance: u32,
}

/// The way of one piece.
#[derive(Clone, Debug)]
struct PieceRoute {
    shipment: Shipment,
    piece: Piece,
    legs: Vec<RouteLeg>,
}

struct ExchangeSearch<'a> {
    router: Router<'a>,
    /// Those with the longest way come first.
    shipments: Vec<Shipment>,
    /// No schedule takes fewer rounds per chunk.
    least: Rational,
    max_work: u64,
    observer: &'a dyn SearchObserver,
}

impl<'a> ExchangeSearch<'a> {
    fn new(
        topology: &'a Topology,
        units: &[Unit],
        request: &ExchangeRequest,
        observer: &'a dyn SearchObserver,
    ) -> Result<ExchangeSearch<'a>, ConstructionError> {
        if request.max_chunks == 0 {
            return Err(ConstructionError::NoChunks);
        }
        let distances = RankDistances::measure(topology);
        let mut shipments = Vec::with_capacity(units.len());
        for (index, unit) in units.iter().enumerate() {
            let mut ends = unit.origins.iter().chain(&unit.receivers);
            if unit.origins.is_empty() || ends.any(|rank| !topology.is_rank(*rank)) {
                return Err(ConstructionError::BadUnit { unit: index });
            }
            let (from, to) = match (unit.origins.as_slice(), unit.receivers.as_slice()) {
                (&[_], &[]) => continue,
                (&[from], &[to]) => (from, to),
                (&[..], &[..]) => return Err(ConstructionError::UnfitUnit { unit: index }),
            };
            let distance = distances.find(from, to);
            let distance = distance.ok_or(ConstructionError::Unreachable { from, to })?;
            if distance > 0 {
                let unit = u32::try_from(index).map_err(|_| ConstructionError::TooLarge)?;
                shipments.push(Shipment { unit, from, to, distance });
            }
        }
        let hops: u64 = shipments.iter().map(|own| u64::from(own.distance)).sum();
        let pieces = units.len() as u64;
        if hops.max(pieces).saturating_mul(u64::from(request.max_chunks)) > MAX_MOVES {
            return Err(ConstructionError::TooLarge);
        }
        // Neighbors among those of a distance have different ends, so that what comes first is spread.
        let ranks = topology.count_ranks();
        shipments.sort_by_key(|own| {
            let offset = (own.to.0 + ranks - own.from.0) % ranks;
            (std::cmp::Reverse(own.distance), offset, own.from)
        });
        let steps = shipments.first().map_or(0, |own| own.distance);
        let router = Router::new(HopFinder::new(topology), distances, steps)?;
        let least = bound_rounds(router.finder(), &shipments)?;
        Ok(ExchangeSearch { router, shipments, least, max_work: request.max_work, observer })
    }

    fn schedule(&mut self, chunks: u32) -> Result<ExchangeSchedule, ConstructionError> {
        let mut loads = StepLoads::new(self.router.finder(), self.router.steps());
        let mut routes = Vec::with_capacity(self.shipments.len() * chunks as usize);
        self.router.work = 0;
        for number in 0..chunks {
            for &shipment in &self.shipments {
                if self.observer.is_stopped() {
                    return Err(ConstructionError::Stopped);
                }
                let piece = Piece(shipment.unit * chunks + number);
                let legs = self.router.route(shipment, &loads, PriceKind::Balance)?;
                loads.add(&legs);
                routes.push(PieceRoute { shipment, piece, legs });
            }
        }
        for _ in 0..BALANCE_PASSES {
            self.reroute(&mut routes, &mut loads, PriceKind::Balance)?;
        }
        let mut rounds = loads.count_rounds();
        let end = self.take_rounds(&mut routes, &mut loads, &mut rounds)?;
        let finder = self.router.finder();
        let mut moves = Vec::new();
        for own in &routes {
            moves.extend(list_moves(finder, own.piece, &own.legs));
        }
        moves.sort_unstable();
        Ok(ExchangeSchedule { schedule: StepSchedule { chunks, rounds, moves }, end })
    }

    /// Takes rounds away from steps, one by one, from the longest step first, until no step can do with less.
    fn take_rounds(
        &mut self,
        routes: &mut Vec<PieceRoute>,
        loads: &mut StepLoads,
        rounds: &mut Vec<u64>,
    ) -> Result<ExchangeEnd, ConstructionError> {
        let mut is_settled = vec![false; rounds.len()];
        let chunks = routes.len() as u64 / self.shipments.len().max(1) as u64;
        let least = self.least.checked_mul(Rational::from_integer(chunks))?;
        loop {
            // Rounds are integers: one less would be below the least.
            if Rational::from_integer(rounds.iter().sum()) < least.checked_add(Rational::ONE)? {
                return Ok(ExchangeEnd::Least);
            }
            let is_open = |step: &usize| is_settled.get(*step) == Some(&false);
            let open = (0..rounds.len()).filter(is_open);
            let Some(step) = open.max_by_key(|step| rounds.get(*step)) else {
                return Ok(ExchangeEnd::Settled);
            };
            if self.is_over() {
                return Ok(ExchangeEnd::Stopped);
            }
            let mut fewer = rounds.clone();
            fewer.get_mut(step).into_iter().for_each(|rounds| *rounds -= 1);
            let saved = routes.clone();
            loads.limit(&fewer);
            if fewer.get(step).is_some_and(|rounds| *rounds > 0) && self.negotiate(routes, loads)? {
                *rounds = loads.count_rounds();
                continue;
            }
            *routes = saved;
            loads.clear();
            routes.iter().for_each(|own| loads.add(&own.legs));
            is_settled.get_mut(step).into_iter().for_each(|own| *own = true);
        }
    }

    /// Whether the search ends here.
    fn is_over(&self) -> bool {
        self.router.work > self.max_work || self.observer.is_stopped()
    }

    /// Whether ways within the limits are found.
    fn negotiate(
        &mut self,
        routes: &mut [PieceRoute],
        loads: &mut StepLoads,
    ) -> Result<bool, ConstructionError> {
        for pass in 0..NEGOTIATION_PASSES {
            if !loads.is_overloaded() {
                return Ok(true);
            }
            if self.is_over() {
                return Ok(false);
            }
            loads.raise_prices();
            self.reroute(routes, loads, PriceKind::Negotiate { pass })?;
        }
        Ok(!loads.is_overloaded())
    }

    /// Lets pieces look for other ways: all, or those on edges that carry too much.
    fn reroute(
        &mut self,
        routes: &mut [PieceRoute],
        loads: &mut StepLoads,
        kind: PriceKind,
    ) -> Result<(), ConstructionError> {
        for own in routes {
            let is_due = match kind {
                PriceKind::Balance => !self.is_over(),
                PriceKind::Negotiate { .. } => {
                    !self.observer.is_stopped() && loads.has_overloaded(&own.legs)
                }
            };
            if is_due {
                loads.remove(&own.legs);
                own.legs = self.router.route(own.shipment, loads, kind)?;
                loads.add(&own.legs);
            }
        }
        Ok(())
    }
}

/// How many rounds per chunk the edges into and out of each rank need, and all edges into ranks together.
fn bound_rounds(
    finder: &HopFinder<'_>,
    shipments: &[Shipment],
) -> Result<Rational, ConstructionError> {
    let ranks = finder.topology().count_ranks() as usize;
    let mut sent: DenseMap<Vertex, i128> = DenseMap::filled(ranks, 0);
    let mut received = sent.clone();
    let mut hops: i128 = 0;
    for own in shipments {
        sent[own.from] += 1;
        received[own.to] += 1;
        hops += i128::from(own.distance);
    }
    let sum = |edges: &[EdgeIndex]| -> u64 { edges.iter().map(|edge| finder.weight(*edge)).sum() };
    let mut least = Rational::ZERO;
    let mut total: u64 = 0;
    for rank in finder.topology().ranks() {
        let [leaving, entering] = [sum(finder.leaving(rank)), sum(finder.entering(rank))];
        total += entering;
        // A rank without edges neither sends nor gets anything.
        least = least.max(Rational::new(sent[rank], i128::from(leaving.max(1)))?);
        least = least.max(Rational::new(received[rank], i128::from(entering.max(1)))?);
    }
    Ok(least.max(Rational::new(hops, i128::from(total.max(1)))?))
}
