//! Checks trees. It shares nothing with the search for them.

use super::{TreeDirection, TreeEdge, TreeRoots, TreeSet, WeightedTree};
use crate::dense::{DenseKey, DenseMap};
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::rational::{ArithmeticError, Rational};
use std::fmt;

/// What is wrong with trees. Trees and their edges are named by their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeFlaw {
    /// A root is no rank, or none of the roots.
    ForeignRoot {
        /// The index of the tree.
        tree: usize,
    },
    /// The tree has no weight.
    Weightless {
        /// The index of the tree.
        tree: usize,
    },
    /// The trees of a root do not weigh what a chunk has pieces, or a chunk has none.
    WrongWeight {
        /// The root.
        root: Vertex,
    },
    /// The edges of the topology do not lead from a rank to the other one through switches only.
    BrokenPath {
        /// The index of the tree.
        tree: usize,
        /// The index of the edge.
        edge: usize,
    },
    /// Nothing has arrived yet where the edge begins; on the way to a root, what it brings is not sent on.
    Detached {
        /// The index of the tree.
        tree: usize,
        /// The index of the edge.
        edge: usize,
    },
    /// The edge joins a rank that is joined already.
    JoinedTwice {
        /// The index of the tree.
        tree: usize,
        /// The index of the edge.
        edge: usize,
    },
    /// The edge is nearer to the root than one that is farther from it in the order of the edges.
    NotBreadthFirst {
        /// The index of the tree.
        tree: usize,
        /// The index of the edge.
        edge: usize,
    },
    /// The tree does not span a rank.
    Unreached {
        /// The index of the tree.
        tree: usize,
        /// The rank.
        rank: Vertex,
    },
    /// All trees together load an edge with more than it carries within the time.
    Overloaded {
        /// The edge of the topology.
        edge: EdgeIndex,
    },
    /// A number does not fit.
    Arithmetic(ArithmeticError),
}

impl fmt::Display for TreeFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeFlaw::ForeignRoot { tree } => write!(f, "the root of tree {tree} is none"),
            TreeFlaw::Weightless { tree } => write!(f, "tree {tree} has no weight"),
            TreeFlaw::WrongWeight { root } => {
                write!(f, "the trees of root {root} are more or fewer than the pieces of a chunk")
            }
            TreeFlaw::BrokenPath { tree, edge } => {
                write!(f, "the path of edge {edge} of tree {tree} does not join its ranks")
            }
            TreeFlaw::Detached { tree, edge } => {
                write!(f, "edge {edge} of tree {tree} is not joined to its root")
            }
            TreeFlaw::JoinedTwice { tree, edge } => {
                write!(f, "edge {edge} of tree {tree} joins a rank that is joined already")
            }
            TreeFlaw::NotBreadthFirst { tree, edge } => {
                write!(f, "edge {edge} of tree {tree} is not in the order of the depths")
            }
            TreeFlaw::Unreached { tree, rank } => write!(f, "tree {tree} lacks rank {rank}"),
            TreeFlaw::Overloaded { edge } => {
                write!(f, "link {} carries too much", edge.0)
            }
            TreeFlaw::Arithmetic(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TreeFlaw {}

impl From<ArithmeticError> for TreeFlaw {
    fn from(error: ArithmeticError) -> Self {
        TreeFlaw::Arithmetic(error)
    }
}

/// Checks that the trees of each root weigh what a chunk has pieces, that each spans all ranks along edges of the
/// topology, in the order of the depths, and that all together load no edge with more than it carries within the time.
///
/// # Errors
/// The first [`TreeFlaw`].
pub fn check_trees(topology: &Topology, set: &TreeSet) -> Result<(), TreeFlaw> {
    check_weights(topology, set)?;
    let mut loads: DenseMap<EdgeIndex, u128> = DenseMap::filled(topology.edges().len(), 0);
    for (index, tree) in set.trees.iter().enumerate() {
        check_span(topology, set.direction, NumberedTree { index, tree })?;
        for edge in tree.edges.iter().flat_map(|edge| &edge.path) {
            let load = loads[*edge].checked_add(u128::from(tree.weight));
            loads[*edge] = load.ok_or(ArithmeticError::Overflow)?;
        }
    }
    check_loads(topology, set, &loads)
}

/// A tree, and its index.
#[derive(Clone, Copy)]
struct NumberedTree<'a> {
    index: usize,
    tree: &'a WeightedTree,
}

fn check_weights(topology: &Topology, set: &TreeSet) -> Result<(), TreeFlaw> {
    let ranks = topology.count_ranks();
    let mut missing = DenseMap::filled(ranks as usize, 0);
    match set.roots {
        TreeRoots::EveryRank => missing.fill(set.k),
        TreeRoots::One(root) if topology.is_rank(root) => missing[root] = set.k,
        TreeRoots::One(root) => return Err(TreeFlaw::WrongWeight { root }),
    }
    for (index, tree) in set.trees.iter().enumerate() {
        let is_root = match set.roots {
            TreeRoots::EveryRank => topology.is_rank(tree.root),
            TreeRoots::One(root) => tree.root == root,
        };
        if !is_root {
            return Err(TreeFlaw::ForeignRoot { tree: index });
        }
        if tree.weight == 0 {
            return Err(TreeFlaw::Weightless { tree: index });
        }
        let rest = missing[tree.root].checked_sub(tree.weight);
        missing[tree.root] = rest.ok_or(TreeFlaw::WrongWeight { root: tree.root })?;
    }
    match topology.ranks().find(|rank| set.k == 0 || missing[*rank] > 0) {
        Some(root) => Err(TreeFlaw::WrongWeight { root }),
        None => Ok(()),
    }
}

/// Walks along the edges away from the root.
fn check_span(
    topology: &Topology,
    direction: TreeDirection,
    numbered: NumberedTree<'_>,
) -> Result<(), TreeFlaw> {
    let NumberedTree { index: tree, tree: own } = numbered;
    let mut depths: DenseMap<Vertex, Option<u32>> =
        DenseMap::filled(topology.count_ranks() as usize, None);
    depths[own.root] = Some(0);
    let mut deepest = 0;
    for step in 0..own.edges.len() {
        let index = match direction {
            TreeDirection::FromRoot => step,
            TreeDirection::ToRoot => own.edges.len() - 1 - step,
        };
        let Some(edge) = own.edges.get(index) else { continue };
        if !is_path(topology, edge) {
            return Err(TreeFlaw::BrokenPath { tree, edge: index });
        }
        let [near, far] = match direction {
            TreeDirection::FromRoot => [edge.from, edge.to],
            TreeDirection::ToRoot => [edge.to, edge.from],
        };
        let depth = depths[near].ok_or(TreeFlaw::Detached { tree, edge: index })? + 1;
        if depths[far].replace(depth).is_some() {
            return Err(TreeFlaw::JoinedTwice { tree, edge: index });
        }
        if depth < deepest {
            return Err(TreeFlaw::NotBreadthFirst { tree, edge: index });
        }
        deepest = depth;
    }
    match topology.ranks().find(|rank| depths[*rank].is_none()) {
        Some(rank) => Err(TreeFlaw::Unreached { tree, rank }),
        None => Ok(()),
    }
}

/// Whether the edges of the topology lead from a rank to another rank, and all vertices between are switches.
fn is_path(topology: &Topology, edge: &TreeEdge) -> bool {
    let mut at = edge.from;
    for (count, index) in edge.path.iter().enumerate() {
        let may_go_on = topology.is_rank(at) == (count == 0);
        match topology.edges().get(index.index()) {
            Some(next) if next.from == at && may_go_on => at = next.to,
            _ => return false,
        }
    }
    at == edge.to && topology.is_rank(at) && !edge.path.is_empty()
}

fn check_loads(
    topology: &Topology,
    set: &TreeSet,
    loads: &DenseMap<EdgeIndex, u128>,
) -> Result<(), TreeFlaw> {
    // In the unit of the topology, an edge carries its weight, times the quantum, in a round.
    let pieces = Rational::from_integer(set.k);
    let rounds = set.rho.checked_mul(topology.quantum())?.checked_mul(pieces)?;
    for ((_, weight), index) in topology.weighted_edges().zip((0..).map(EdgeIndex)) {
        let load = i128::try_from(loads[index]).map_err(|_| ArithmeticError::Overflow)?;
        let capacity = Rational::from_integer(weight).checked_mul(rounds)?;
        if Rational::new(load, 1)? > capacity {
            return Err(TreeFlaw::Overloaded { edge: index });
        }
    }
    Ok(())
}
