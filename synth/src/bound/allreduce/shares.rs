//! A best solution of the program: what each rank sums up, and what edges carry.

use super::{Half, RootSearch, check_rank_count};
use crate::automorphism::Symmetry;
use crate::bound::steps::measure_distances;
use crate::bound::{BoundError, ProgramLimits};
use crate::collective::CollectiveKind;
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};

/// By how much roots that are far from others, and what edges carry, cost more, in all. Less than this the times of two
/// solutions do not differ, unless they have large denominators.
const PREFERENCE: f64 = 1e-5;

/// A solution, up to errors of rounding.
#[derive(Clone, Debug)]
pub(crate) struct RootShares {
    /// What part of the buffer each rank sums up; together 1.
    pub(crate) roots: DenseMap<Vertex, f64>,
    /// What each edge carries of the copies.
    pub(crate) copies: DenseMap<EdgeIndex, f64>,
    /// What each edge carries of the sums.
    pub(crate) sums: DenseMap<EdgeIndex, f64>,
}

/// A solution of the program of an AllReduce, as far as the budget goes. Of those that take as long, it is one that
/// prefers roots in the middle, and whose edges carry little.
pub(crate) fn find_root_shares(
    topology: &Topology,
    symmetry: &Symmetry,
    limits: ProgramLimits<'_>,
) -> Result<RootShares, BoundError> {
    check_rank_count(topology)?;
    if topology.ranks().len() + topology.edges().len() > limits.budget.allreduce_variables {
        return Err(BoundError::TooLarge);
    }
    let demands = CollectiveKind::AllReduce.list_demands(topology.count_ranks());
    let mut search = RootSearch::new(topology, symmetry, demands.as_slice());
    let costs = list_costs(topology, symmetry, &search);
    let mut program = search.build_costly_program(costs, &[]);
    program.optimize(&mut search, limits);
    let values = program.collect_values();
    let edges = || (0..topology.edges().len() as u32).map(EdgeIndex);
    let collect = |half| {
        let amounts = edges().map(|edge| values[search.find_amount(0, half, edge)]);
        amounts.collect::<Vec<f64>>().into()
    };
    let roots = topology.ranks().map(|rank| values[search.find_share(0, rank)]);
    Ok(RootShares {
        roots: roots.collect::<Vec<f64>>().into(),
        copies: collect(Half::Copies),
        sums: collect(Half::Sums),
    })
}

/// The costs of the variables: the time, and little for all else.
fn list_costs(topology: &Topology, symmetry: &Symmetry, search: &RootSearch<'_>) -> Vec<f64> {
    let mut costs: DenseMap<_, f64> = DenseMap::filled(1 + search.count_variables() as usize, 0.0);
    costs[crate::simplex::Unknown(0)] = 1.0;
    let neighbors = topology.collect_neighbors();
    let vertices = topology.count_vertices() as f64;
    for rank in topology.ranks().filter(|rank| symmetry.vertices.is_first(*rank)) {
        let distances = measure_distances(topology, &neighbors, rank);
        let farthest = topology.ranks().map(|other| distances[other]).max().unwrap_or(0);
        let part = f64::from(farthest) / vertices * symmetry.vertices.count_members(rank) as f64;
        costs[search.find_share(0, rank)] = PREFERENCE * part;
    }
    for edge in symmetry.edges.list_firsts() {
        let part = symmetry.edges.count_members(*edge) as f64 / topology.edges().len() as f64;
        for half in super::HALVES {
            costs[search.find_amount(0, half, *edge)] = PREFERENCE * part / vertices;
        }
    }
    costs.into_values()
}
