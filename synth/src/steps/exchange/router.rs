//! The cheapest way of a piece (Dijkstra, "A note on two problems in connexion with graphs", 1959), in the network of
//! steps.

use super::super::ConstructionError;
use super::super::hops::{HopFinder, RankDistances};
use super::super::legs::RouteLeg;
use super::Shipment;
use super::loads::{PriceKind, StepLoads};
use crate::graph::Vertex;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many vertices in steps there may be, at some 40 bytes each. [`ConstructionError::TooLarge`] reports it.
const MAX_PLACES: u64 = 1 << 22;

/// A vertex before a step: where a piece is, or a switch that it passes in the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    step: u32,
    vertex: Vertex,
}

/// The cheapest way to a place that is known.
#[derive(Clone, Copy, Debug)]
struct PlaceLabel {
    /// In which search; labels of others count for nothing.
    search: u64,
    price: u64,
    before: Place,
    /// The edge from there; none where the piece waits.
    leg: Option<RouteLeg>,
}

/// Searches for ways.
pub(super) struct Router<'a> {
    finder: HopFinder<'a>,
    distances: RankDistances,
    steps: u32,
    labels: Vec<PlaceLabel>,
    search: u64,
    /// How many edges were looked at.
    pub(super) work: u64,
}

impl<'a> Router<'a> {
    pub(super) fn new(
        finder: HopFinder<'a>,
        distances: RankDistances,
        steps: u32,
    ) -> Result<Router<'a>, ConstructionError> {
        let places = finder.topology().count_vertices() as u64 * (u64::from(steps) + 1);
        let edges = finder.topology().edges().len() as u64 * u64::from(steps);
        if places.max(edges) > MAX_PLACES {
            return Err(ConstructionError::TooLarge);
        }
        let before = Place { step: 0, vertex: Vertex(0) };
        let label = PlaceLabel { search: 0, price: 0, before, leg: None };
        let labels = vec![label; places as usize];
        Ok(Router { finder, distances, steps, labels, search: 0, work: 0 })
    }

    pub(super) fn finder(&self) -> &HopFinder<'a> {
        &self.finder
    }

    pub(super) fn steps(&self) -> u32 {
        self.steps
    }

    /// The cheapest of the shortest ways that end in time.
    pub(super) fn route(
        &mut self,
        shipment: Shipment,
        loads: &StepLoads,
        kind: PriceKind,
    ) -> Result<Vec<RouteLeg>, ConstructionError> {
        self.search += 1;
        let start = Place { step: 0, vertex: shipment.from };
        let end = Place { step: self.steps, vertex: shipment.to };
        let mut open = BinaryHeap::new();
        self.relax(
            &mut open,
            start,
            PlaceLabel { search: self.search, price: 0, before: start, leg: None },
        );
        while let Some(Reverse((price, place))) = open.pop() {
            if place == end {
                return Ok(self.collect_legs(start, end));
            }
            if self.label(place).is_none_or(|label| label.price < price) {
                continue;
            }
            self.expand(&mut open, place, price, SearchScope { shipment, loads, kind });
        }
        // On no topology: the receiver is reachable in so many steps.
        Err(ConstructionError::Unreachable { from: shipment.from, to: shipment.to })
    }

    fn expand(
        &mut self,
        open: &mut BinaryHeap<Reverse<(u64, Place)>>,
        place: Place,
        price: u64,
        scope: SearchScope<'_>,
    ) {
        let Place { step, vertex } = place;
        let is_rank = self.finder.topology().is_rank(vertex);
        let receiver = scope.shipment.to;
        // The ranks of hops from here are this far from the receiver: those of a switch one less than where the hop
        // began.
        let distance = if is_rank { self.distances.find(vertex, receiver) } else { None };
        if is_rank && step < self.steps {
            let after = Place { step: step + 1, vertex };
            if distance.is_some_and(|distance| distance < self.steps - step) {
                let label = PlaceLabel { search: self.search, price, before: place, leg: None };
                self.relax(open, after, label);
            }
        }
        if step >= self.steps || distance == Some(0) {
            return;
        }
        let next = match distance {
            Some(distance) => distance.checked_sub(1),
            None => self.find_distance_after(place, receiver),
        };
        if next.is_none() {
            return;
        }
        for index in 0..self.finder.leaving(vertex).len() {
            let Some(&edge) = self.finder.leaving(vertex).get(index) else { break };
            self.work += 1;
            let to = self.finder.edge(edge).to;
            let is_arrival = self.finder.topology().is_rank(to);
            if is_arrival && self.distances.find(to, receiver) != next {
                continue;
            }
            let leg = RouteLeg { step, edge };
            let price = price.saturating_add(scope.loads.price(leg, scope.kind));
            let label = PlaceLabel { search: self.search, price, before: place, leg: Some(leg) };
            self.relax(open, Place { step: step + u32::from(is_arrival), vertex: to }, label);
        }
    }

    /// How far from the receiver the hop through a switch has to end.
    fn find_distance_after(&self, place: Place, receiver: Vertex) -> Option<u32> {
        let mut at = place;
        while !self.finder.topology().is_rank(at.vertex) {
            at = self.label(at)?.before;
        }
        self.distances.find(at.vertex, receiver)?.checked_sub(1)
    }

    fn relax(
        &mut self,
        open: &mut BinaryHeap<Reverse<(u64, Place)>>,
        place: Place,
        label: PlaceLabel,
    ) {
        if self.label(place).is_some_and(|known| known.price <= label.price) {
            return;
        }
        let index = self.find_index(place);
        if let Some(known) = self.labels.get_mut(index) {
            *known = label;
            open.push(Reverse((label.price, place)));
        }
    }

    fn find_index(&self, place: Place) -> usize {
        place.step as usize * self.finder.topology().count_vertices() + place.vertex.0 as usize
    }

    /// What this search knows about a place.
    fn label(&self, place: Place) -> Option<PlaceLabel> {
        let label = self.labels.get(self.find_index(place)).copied();
        label.filter(|label| label.search == self.search)
    }

    fn collect_legs(&self, start: Place, end: Place) -> Vec<RouteLeg> {
        let mut legs = Vec::new();
        let mut at = end;
        while at != start {
            let Some(label) = self.label(at) else { break };
            legs.extend(label.leg);
            at = label.before;
        }
        legs.reverse();
        legs
    }
}

/// What a search depends on.
#[derive(Clone, Copy)]
struct SearchScope<'a> {
    shipment: Shipment,
    loads: &'a StepLoads,
    kind: PriceKind,
}
