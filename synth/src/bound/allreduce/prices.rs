//! From the prices of the rows to lengths and potentials.

use super::super::all_vertices;
use super::super::paths::EdgeIndex;
use super::super::quotient::{PriceScale, TupleIndex, TupleNumbers, merge_edges};
use super::{AllReduceHalf, Half, RowMeaning, WantedCuts};
use crate::automorphism::{OrbitNumber, Orbits, Symmetry};
use crate::graph::Topology;
use std::collections::BTreeMap;

/// The sums of the prices of both halves, for each orbit of a rank and an edge, and for each orbit of switches.
pub(super) struct HalfPrices<'a> {
    topology: &'a Topology,
    symmetry: &'a Symmetry,
    numbers: TupleNumbers,
    orbits: Orbits<TupleIndex>,
    scale: PriceScale,
    /// By the number of the demand, too.
    lengths: BTreeMap<(usize, Half, OrbitNumber), u64>,
    potentials: BTreeMap<(usize, Half, OrbitNumber), i64>,
}

impl<'a> HalfPrices<'a> {
    pub(super) fn new(
        topology: &'a Topology,
        symmetry: &'a Symmetry,
        scale: PriceScale,
    ) -> HalfPrices<'a> {
        HalfPrices {
            topology,
            symmetry,
            numbers: TupleNumbers::new(topology),
            orbits: merge_edges(topology, symmetry),
            scale,
            lengths: BTreeMap::new(),
            potentials: BTreeMap::new(),
        }
    }

    /// Lets all that a row stands for share its price.
    pub(super) fn admit(&mut self, meaning: &RowMeaning) {
        match meaning {
            RowMeaning::Cut { rank, edges, .. } => {
                for edge in edges {
                    let place = self.numbers.number_edge(*rank, *edge);
                    self.scale.admit(self.orbits.count_members(place));
                }
            }
            RowMeaning::Switch { switch, .. } => {
                self.scale.admit(self.symmetry.vertices.count_members(*switch));
            }
        }
    }

    pub(super) fn add(&mut self, meaning: &RowMeaning, price: u64) {
        match meaning {
            RowMeaning::Cut { demand, half, rank, edges } => {
                for edge in edges {
                    let place = self.numbers.number_edge(*rank, *edge);
                    let share = self.scale.share(price, self.orbits.count_members(place));
                    let orbit = (*demand, *half, self.orbits.find_orbit(place));
                    *self.lengths.entry(orbit).or_default() += share;
                }
            }
            RowMeaning::Switch { demand, half, switch, factor } => {
                let orbits = &self.symmetry.vertices;
                let share = self.scale.share(price, orbits.count_members(*switch)) as i64;
                let orbit = (*demand, *half, orbits.find_orbit(*switch));
                *self.potentials.entry(orbit).or_default() +=
                    if *factor > 0.0 { share } else { -share };
            }
        }
    }

    /// The lengths and potentials of one half of a demand.
    pub(super) fn expand(&self, wanted: WantedCuts<'_>) -> AllReduceHalf {
        let WantedCuts { demand, half, ranks } = wanted;
        let topology = self.topology;
        let edges = (0..topology.edges().len() as u32).map(EdgeIndex);
        let lengths = topology.ranks().map(|rank| {
            let length = |edge| {
                let orbit = self.orbits.find_orbit(self.numbers.number_edge(rank, edge));
                self.lengths.get(&(demand, half, orbit)).copied().unwrap_or(0)
            };
            edges.clone().map(length).collect()
        });
        let potentials = all_vertices(topology).map(|vertex| {
            let orbit = self.symmetry.vertices.find_orbit(vertex);
            self.potentials.get(&(demand, half, orbit)).copied().unwrap_or(0)
        });
        AllReduceHalf {
            ranks: ranks.to_vec(),
            lengths: lengths.collect(),
            potentials: potentials.collect(),
        }
    }
}
