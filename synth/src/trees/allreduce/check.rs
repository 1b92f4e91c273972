//! Checks trees of an AllReduce. It shares nothing with the search for them.

use super::super::{TreeDirection, TreeEdge, WeightedTree};
use super::AllReduceTrees;
use crate::dense::{DenseKey, DenseMap};
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::rational::{ArithmeticError, Rational};
use std::fmt;

/// A tree of an AllReduce: the half to which it belongs, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfTree {
    /// Whether it is one of [`AllReduceTrees::sums`] or of [`AllReduceTrees::copies`].
    pub direction: TreeDirection,
    /// Its index among them.
    pub index: usize,
}

/// What is wrong with trees of an AllReduce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllReduceFlaw {
    /// The root of a tree is no rank.
    ForeignRoot(HalfTree),
    /// A tree has no weight.
    Weightless(HalfTree),
    /// The trees for sums of a root weigh more or less than its trees for copies.
    UnequalWeights {
        /// The root.
        root: Vertex,
    },
    /// The trees of one half do not weigh what the buffer has pieces, or it has none.
    WrongTotal,
    /// An edge ends or begins at what is neither a rank nor a switch that can copy, or add.
    UnableEnd {
        /// The tree.
        tree: HalfTree,
        /// The index of the edge.
        edge: usize,
    },
    /// The edges of the topology do not lead from one end to the other one through switches only.
    BrokenPath {
        /// The tree.
        tree: HalfTree,
        /// The index of the edge.
        edge: usize,
    },
    /// An edge of a tree for copies begins where nothing has arrived yet; or one of a tree for sums ends where nothing
    /// is sent on later, so that what it brings is not in the sum.
    Detached {
        /// The tree.
        tree: HalfTree,
        /// The index of the edge.
        edge: usize,
    },
    /// An edge joins what is joined already.
    JoinedTwice {
        /// The tree.
        tree: HalfTree,
        /// The index of the edge.
        edge: usize,
    },
    /// A tree does not have a rank.
    Unreached {
        /// The tree.
        tree: HalfTree,
        /// The rank.
        rank: Vertex,
    },
    /// A tree has a switch that gets a piece and sends it nowhere, or that sends a sum of nothing.
    IdleSwitch {
        /// The tree.
        tree: HalfTree,
        /// The switch.
        switch: Vertex,
    },
    /// All trees together load an edge with more than it carries within the time.
    Overloaded {
        /// The edge of the topology.
        edge: EdgeIndex,
    },
    /// A number does not fit.
    Arithmetic(ArithmeticError),
}

impl fmt::Display for HalfTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.direction {
            TreeDirection::FromRoot => write!(f, "tree {} for copies", self.index),
            TreeDirection::ToRoot => write!(f, "tree {} for sums", self.index),
        }
    }
}

impl fmt::Display for AllReduceFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllReduceFlaw::ForeignRoot(tree) => write!(f, "the root of {tree} is no rank"),
            AllReduceFlaw::Weightless(tree) => write!(f, "{tree} has no weight"),
            AllReduceFlaw::UnequalWeights { root } => {
                write!(f, "root {root} sums up more or fewer pieces than it sends")
            }
            AllReduceFlaw::WrongTotal => {
                write!(f, "the trees are more or fewer than the pieces of the buffer")
            }
            AllReduceFlaw::UnableEnd { tree, edge } => {
                write!(f, "edge {edge} of {tree} joins a switch that only forwards")
            }
            AllReduceFlaw::BrokenPath { tree, edge } => {
                write!(f, "the path of edge {edge} of {tree} does not join its ends")
            }
            AllReduceFlaw::Detached { tree, edge } => {
                write!(f, "edge {edge} of {tree} is not joined to its root")
            }
            AllReduceFlaw::JoinedTwice { tree, edge } => {
                write!(f, "edge {edge} of {tree} joins what is joined already")
            }
            AllReduceFlaw::Unreached { tree, rank } => write!(f, "{tree} lacks rank {rank}"),
            AllReduceFlaw::IdleSwitch { tree, switch } => {
                write!(f, "{tree} has switch {switch} for nothing")
            }
            AllReduceFlaw::Overloaded { edge } => write!(f, "link {} carries too much", edge.0),
            AllReduceFlaw::Arithmetic(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AllReduceFlaw {}

impl From<ArithmeticError> for AllReduceFlaw {
    fn from(error: ArithmeticError) -> Self {
        AllReduceFlaw::Arithmetic(error)
    }
}

/// Checks that each root sums up as many pieces as it sends, and all of them the whole buffer; that each tree spans all
/// ranks along edges of the topology, through switches that can do what it needs, such that sums are complete before
/// they are sent on; and that all together load no edge with more than it carries within the time.
///
/// # Errors
/// The first [`AllReduceFlaw`].
pub fn check_allreduce_trees(
    topology: &Topology,
    trees: &AllReduceTrees,
) -> Result<(), AllReduceFlaw> {
    let mut loads: DenseMap<EdgeIndex, u128> = DenseMap::filled(topology.edges().len(), 0);
    let mut weigh = |direction: TreeDirection, half: &[WeightedTree]| {
        let mut weights: DenseMap<Vertex, u128> = DenseMap::filled(topology.ranks().len(), 0);
        for (index, tree) in half.iter().enumerate() {
            check_tree(topology, tree, HalfTree { direction, index })?;
            weights[tree.root] += u128::from(tree.weight);
            for edge in tree.edges.iter().flat_map(|edge| &edge.path) {
                loads[*edge] += u128::from(tree.weight);
            }
        }
        Ok::<DenseMap<Vertex, u128>, AllReduceFlaw>(weights)
    };
    let sums = weigh(TreeDirection::ToRoot, &trees.sums)?;
    let copies = weigh(TreeDirection::FromRoot, &trees.copies)?;
    if let Some(root) = topology.ranks().find(|rank| sums[*rank] != copies[*rank]) {
        return Err(AllReduceFlaw::UnequalWeights { root });
    }
    let total: u128 = sums.as_slice().iter().sum();
    if total == 0 || total != u128::from(trees.k) {
        return Err(AllReduceFlaw::WrongTotal);
    }
    check_loads(topology, trees, &loads)
}

/// Follows the edges from the root.
fn check_tree(
    topology: &Topology,
    own: &WeightedTree,
    tree: HalfTree,
) -> Result<(), AllReduceFlaw> {
    if !topology.is_rank(own.root) {
        return Err(AllReduceFlaw::ForeignRoot(tree));
    }
    if own.weight == 0 {
        return Err(AllReduceFlaw::Weightless(tree));
    }
    let mut is_joined = DenseMap::filled(topology.count_vertices(), false);
    let mut is_parent = is_joined.clone();
    is_joined[own.root] = true;
    for step in 0..own.edges.len() {
        // Sums are followed backwards: an edge that brings something is seen after the one that sends it on.
        let index = match tree.direction {
            TreeDirection::FromRoot => step,
            TreeDirection::ToRoot => own.edges.len() - 1 - step,
        };
        let Some(edge) = own.edges.get(index) else { continue };
        if ![edge.from, edge.to].iter().all(|end| can_be_end(topology, *end, tree.direction)) {
            return Err(AllReduceFlaw::UnableEnd { tree, edge: index });
        }
        if !is_path(topology, edge) {
            return Err(AllReduceFlaw::BrokenPath { tree, edge: index });
        }
        let [near, far] = match tree.direction {
            TreeDirection::FromRoot => [edge.from, edge.to],
            TreeDirection::ToRoot => [edge.to, edge.from],
        };
        if !is_joined[near] {
            return Err(AllReduceFlaw::Detached { tree, edge: index });
        }
        if std::mem::replace(&mut is_joined[far], true) {
            return Err(AllReduceFlaw::JoinedTwice { tree, edge: index });
        }
        is_parent[near] = true;
    }
    if let Some(rank) = topology.ranks().find(|rank| !is_joined[*rank]) {
        return Err(AllReduceFlaw::Unreached { tree, rank });
    }
    let mut switches = (topology.count_ranks()..topology.count_vertices() as u32).map(Vertex);
    match switches.find(|switch| is_joined[*switch] && !is_parent[*switch]) {
        Some(switch) => Err(AllReduceFlaw::IdleSwitch { tree, switch }),
        None => Ok(()),
    }
}

/// Whether edges of trees can end at a vertex.
fn can_be_end(topology: &Topology, vertex: Vertex, direction: TreeDirection) -> bool {
    let Some(switch) = vertex.0.checked_sub(topology.count_ranks()) else { return true };
    let abilities = topology.switches().get(switch as usize);
    abilities.is_some_and(|abilities| match direction {
        TreeDirection::FromRoot => abilities.multicast,
        TreeDirection::ToRoot => abilities.reduce,
    })
}

/// Whether the edges of the topology lead from one end to the other one, and all vertices between are switches.
fn is_path(topology: &Topology, edge: &TreeEdge) -> bool {
    let mut at = edge.from;
    for (count, index) in edge.path.iter().enumerate() {
        match topology.edges().get(index.index()) {
            Some(next) if next.from == at && (count == 0 || !topology.is_rank(at)) => at = next.to,
            _ => return false,
        }
    }
    at == edge.to && !edge.path.is_empty()
}

fn check_loads(
    topology: &Topology,
    trees: &AllReduceTrees,
    loads: &DenseMap<EdgeIndex, u128>,
) -> Result<(), AllReduceFlaw> {
    // In the unit of the topology, an edge carries its weight, times the quantum, in a round.
    let pieces = Rational::from_integer(trees.k);
    let rounds = trees.rho.checked_mul(topology.quantum())?.checked_mul(pieces)?;
    for ((_, weight), index) in topology.weighted_edges().zip((0..).map(EdgeIndex)) {
        let load = i128::try_from(loads[index]).map_err(|_| ArithmeticError::Overflow)?;
        let capacity = Rational::from_integer(weight).checked_mul(rounds)?;
        if Rational::new(load, 1)? > capacity {
            return Err(AllReduceFlaw::Overloaded { edge: index });
        }
    }
    Ok(())
}
