//! Where ranks are: numbers by which a block comes to its role.
//!
//! In: the program. Out: a rank's place in its node, among the nodes, among all and in a tree, each with the expression that
//! gives it.

use crate::ir::Program;

/// Where a rank is: a number, and what gives it.
pub(super) struct Place {
    pub(super) text: &'static str,
    pub(super) of: Box<dyn Fn(usize) -> usize>,
}

/// Where ranks are: in their nodes, among the nodes, among all.
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

/// How high a rank is in a binomial tree, by the zeros that it ends with in binary. The root is higher than all.
pub(super) fn height() -> Place {
    Place { text: "b.height()", of: Box::new(|rank| (rank as u32).trailing_zeros() as usize) }
}
