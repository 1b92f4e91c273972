//! How values were computed: trees of operations over cells of input, each kept once.
//!
//! Two values have the same bits for certain if they have the same tree:
//! - A copy has the tree of what it is a copy of.
//! - A reduction takes its operands in their order, from the first to the last. Since its first step adds two numbers, which
//!   commutes, the first two may change places. What it stores is rounded, and what it keeps between two steps may not be;
//!   so `a + b` stored and then added to `c` is another tree than `a + b + c`.
//! - In which order a switch adds is not known. Each load through it is a computation of its own, and has its own tree.
//! - A minimum or maximum alone rounds nothing. Its bits depend on what it is made of only, so its tree is not needed
//!   ([`super::value::same_bits`]).

use crate::ir::ReduceOp;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A tree; 0 is none, where trees are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(u32);

/// One computation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tree {
    /// The cell of a rank's input, as it was at the start.
    Input {
        /// The rank.
        rank: u32,
        /// The cell.
        cell: u32,
    },
    /// Memory that was never written.
    Nothing,
    /// A reduction of these, in this order; the first two are in ascending order.
    Reduced(ReduceOp, SmallVec<[TreeId; 2]>),
    /// A reduction by a switch: the how many-th of the run.
    Switched(ReduceOp, u32),
}

/// All trees of a run.
#[derive(Clone, Debug, Default)]
pub struct Trees {
    all: Vec<Tree>,
    known: FxHashMap<Tree, TreeId>,
    switched: u32,
}

impl Trees {
    /// The id of a tree.
    pub(super) fn id(&mut self, tree: Tree) -> TreeId {
        let next = TreeId(self.all.len() as u32 + 1);
        *self.known.entry(tree).or_insert_with_key(|tree| {
            self.all.push(tree.clone());
            next
        })
    }

    /// The tree of a reduction of several values.
    pub(super) fn reduced(&mut self, op: ReduceOp, mut operands: SmallVec<[TreeId; 2]>) -> TreeId {
        if let [first, second, ..] = operands.as_mut_slice()
            && *second < *first
        {
            std::mem::swap(first, second);
        }
        self.id(Tree::Reduced(op, operands))
    }

    /// The tree of a reduction by a switch.
    pub(super) fn switched(&mut self, op: ReduceOp) -> TreeId {
        self.switched += 1;
        self.id(Tree::Switched(op, self.switched))
    }

    /// A tree.
    #[must_use]
    pub fn get(&self, id: TreeId) -> Option<&Tree> {
        self.all.get((id.0 as usize).checked_sub(1)?)
    }
}
