//! Where ranks are: numbers by which a block selects its role.
//!
//! In: the program. Out: a rank's place in its node, its node, the rank itself, and its height in a
//! tree, each with the expression that computes it.

use crate::ir::Program;

/// Where a rank is: a number, and the expression that computes it.
pub(super) struct Place {
    pub(super) text: &'static str,
    pub(super) of: Box<dyn Fn(usize) -> usize>,
}

/// The place of ranks in their nodes, among the nodes, and among all ranks.
pub(super) fn places(program: &Program) -> Vec<Place> {
    let each = program.ranks_per_node as usize;
    let has_nodes = each > 1 && each < program.ranks.len();
    let in_node = [
        Place { text: "b.local()", of: Box::new(move |rank| rank % each) },
        Place { text: "b.node()", of: Box::new(move |rank| rank / each) },
    ];
    let among_all = Place { text: "b.rank", of: Box::new(|rank| rank) };
    in_node.into_iter().filter(|_| has_nodes).chain([among_all]).collect()
}

/// The height of a rank in a binomial tree: the zeros at the end of its binary
/// form. The root is higher than all others.
pub(super) fn height() -> Place {
    Place { text: "b.height()", of: Box::new(|rank| (rank as u32).trailing_zeros() as usize) }
}
