//! Trees of shortest paths: each rank gets each piece from a rank that is nearer to its root.
//!
//! Whatever each rank chooses, the edges make trees. So ranks are independent of each other: for each one, a flow from
//! the roots to the edges that enter it says from where it gets which pieces. This is the breadth-first broadcast (Zhao
//! et al., "Efficient Direct-Connect Topologies for Collective Communications", 2024) without its steps.

use super::budget::FlowMeter;
use super::demand::TreeDemand;
use super::error::TreeError;
use super::rank_graph::{RankGraph, RankTree};
use super::translation::Translations;
use crate::dense::DenseMap;
use crate::flow::{FlowArc, FlowNetwork, FlowNode};
use crate::graph::Vertex;
use std::collections::{BTreeSet, VecDeque};

/// Pieces that a rank gets from another one.
#[derive(Clone, Copy, Debug)]
struct ParentShare {
    parent: Vertex,
    amount: u64,
}

/// From where a rank gets the pieces of each root.
type ParentShares = DenseMap<Vertex, Vec<ParentShare>>;

/// Trees of shortest paths, if each rank can get all pieces along them. Translations map roots to roots.
pub(super) fn pack_layered(
    graph: &RankGraph,
    translations: &Translations,
    demand: &TreeDemand,
    meter: &mut FlowMeter<'_>,
) -> Result<Option<Vec<RankTree>>, TreeError> {
    let distances = Distances::new(graph, translations);
    let mut shares: DenseMap<Vertex, ParentShares> =
        DenseMap::filled(graph.count_ranks(), Vec::new().into());
    for rank in translations.list_firsts() {
        match assign_parents(graph, &distances, demand, rank, meter)? {
            Some(assigned) => shares[rank] = assigned,
            None => return Ok(None),
        }
    }
    let mut trees = Vec::new();
    for root in demand.list_roots() {
        let choice = RootChoice { root, translations, shares: &shares };
        choice.cut_trees(demand, meter, &mut trees)?;
    }
    Ok(Some(trees))
}

/// The numbers of edges on shortest paths between ranks.
struct Distances<'a> {
    translations: &'a Translations,
    /// To the first rank of each orbit, from all ranks.
    to_firsts: DenseMap<Vertex, DenseMap<Vertex, u32>>,
}

impl Distances<'_> {
    fn new<'a>(graph: &RankGraph, translations: &'a Translations) -> Distances<'a> {
        let mut to_firsts = DenseMap::filled(graph.count_ranks(), Vec::new().into());
        for first in translations.list_firsts() {
            to_firsts[first] = measure_distances(graph, first);
        }
        Distances { translations, to_firsts }
    }

    fn find(&self, from: Vertex, to: Vertex) -> u32 {
        let first = self.translations.find_first(to);
        self.to_firsts[first][self.translations.map_back(to, from)]
    }
}

/// The distances from all ranks to one.
fn measure_distances(graph: &RankGraph, to: Vertex) -> DenseMap<Vertex, u32> {
    let mut distances = DenseMap::filled(graph.count_ranks(), u32::MAX);
    distances[to] = 0;
    let mut open = VecDeque::from([to]);
    while let Some(rank) = open.pop_front() {
        for edge in &graph.entering[rank] {
            if distances[edge.from] == u32::MAX {
                distances[edge.from] = distances[rank] + 1;
                open.push_back(edge.from);
            }
        }
    }
    distances
}

/// An arc whose flow says how many pieces of a root come from a parent.
struct ChoiceArc {
    root: Vertex,
    parent: Vertex,
    arc: FlowArc,
}

/// From where a rank gets all pieces; none if it cannot.
fn assign_parents(
    graph: &RankGraph,
    distances: &Distances<'_>,
    demand: &TreeDemand,
    rank: Vertex,
    meter: &mut FlowMeter<'_>,
) -> Result<Option<ParentShares>, TreeError> {
    let ranks = graph.count_ranks();
    let entering = &graph.entering[rank];
    let mut network = FlowNetwork::new(ranks + entering.len() + 2);
    let source = FlowNode((ranks + entering.len()) as u32);
    let sink = FlowNode(source.0 + 1);
    let mut choices = Vec::new();
    for root in demand.list_roots().filter(|root| *root != rank) {
        network.add_arc(source, FlowNode(root.0), demand.supplies[root]);
    }
    for (edge, node) in entering.iter().zip((ranks as u32..).map(FlowNode)) {
        network.add_arc(node, sink, edge.capacity);
        for root in demand.list_roots().filter(|root| *root != rank) {
            if distances.find(root, edge.from) < distances.find(root, rank) {
                let arc = network.add_arc(FlowNode(root.0), node, demand.supplies[root]);
                choices.push(ChoiceArc { root, parent: edge.from, arc });
            }
        }
    }
    meter.count_flow(ranks + entering.len() + choices.len())?;
    let wanted = demand.total - demand.supplies[rank];
    if network.maximize_flow(source, sink, wanted) < wanted {
        return Ok(None);
    }
    let mut shares: ParentShares = DenseMap::filled(ranks, Vec::new());
    for ChoiceArc { root, parent, arc } in choices {
        let amount = network.measure_flow(arc);
        if amount > 0 {
            shares[root].push(ParentShare { parent, amount });
        }
    }
    // Large shares first: then the pieces are cut at few places.
    for of_root in shares.as_mut_slice() {
        of_root.sort_by_key(|share| std::cmp::Reverse(share.amount));
    }
    Ok(Some(shares))
}

/// What all ranks chose for the pieces of one root.
struct RootChoice<'a> {
    root: Vertex,
    translations: &'a Translations,
    shares: &'a DenseMap<Vertex, ParentShares>,
}

impl RootChoice<'_> {
    /// From where a rank gets the pieces, in the names of the first rank of its orbit.
    fn list_shares(&self, rank: Vertex) -> &[ParentShare] {
        let first = self.translations.find_first(rank);
        &self.shares[first][self.translations.map_back(rank, self.root)]
    }

    /// Cuts the pieces where the choice of some rank changes.
    fn cut_trees(
        &self,
        demand: &TreeDemand,
        meter: &mut FlowMeter<'_>,
        trees: &mut Vec<RankTree>,
    ) -> Result<(), TreeError> {
        let supply = demand.supplies[self.root];
        let mut ends = BTreeSet::from([supply]);
        for rank in demand.list_ranks().filter(|rank| *rank != self.root) {
            let mut end = 0;
            for share in self.list_shares(rank) {
                end += share.amount;
                ends.insert(end);
            }
        }
        let mut begin = 0;
        for end in ends {
            let parents: Vec<Vertex> =
                demand.list_ranks().map(|rank| self.find_parent(rank, begin)).collect();
            meter.count_tree(parents.len())?;
            trees.push(RankTree { root: self.root, weight: end - begin, parents: parents.into() });
            begin = end;
        }
        Ok(())
    }

    /// From where a rank gets one of the pieces.
    fn find_parent(&self, rank: Vertex, piece: u64) -> Vertex {
        let mut end = 0;
        let has_piece = |share: &&ParentShare| {
            end += share.amount;
            piece < end
        };
        let share = self.list_shares(rank).iter().find(has_piece);
        share.map_or(rank, |share| self.translations.map_forth(rank, share.parent))
    }
}
