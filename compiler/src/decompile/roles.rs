//! One body for ranks that do the same.
//!
//! In: each rank's statements. Out: statements for all ranks, or a branch of an `if` for each kind of rank.

use super::fold;
use super::formula::Formulas;
use super::page::Page;
use super::tree::{Form, Node, merge_lists};
use super::world::World;
use crate::interrupt::Interrupt;
use std::collections::BTreeMap;

/// With more numbers than this for which there is no expression, ranks are written one by one.
const MOST_TABLES: usize = 24;

/// A rank, and its statements.
type Row = (i64, Vec<Node>);

/// Ranks with the same skeleton.
struct Role<'w> {
    formulas: Formulas<'w>,
    body: Vec<Node>,
}

/// Writes the bodies of all ranks, and returns how many there are. If it is interrupted, bodies are missing.
pub(super) fn write(
    world: &World,
    trees: Vec<Vec<Node>>,
    regular: bool,
    interrupt: &Interrupt,
    page: &mut Page<'_>,
) -> usize {
    let rows: Vec<Row> =
        (0..).zip(trees).filter(|(_, statements)| !statements.is_empty()).collect();
    let silent = rows.len() < world.ranks as usize;
    let grouping = Grouping { world, interrupt };
    let roles = if regular { grouping.grouped(rows) } else { grouping.single(rows, false) };
    let count = roles.len();
    for (at, role) in roles.into_iter().enumerate() {
        let last = at + 1 == count && !silent;
        let head = match (at, last) {
            (0, true) => None,
            (0, false) => Some(format!("if {} ", condition(world, &role.formulas.ranks))),
            (_, true) => Some(" else ".to_owned()),
            (_, false) => Some(format!(" else if {} ", condition(world, &role.formulas.ranks))),
        };
        page.role(head.as_deref(), &role.body, &role.formulas);
    }
    count
}

/// Finds the roles of ranks.
struct Grouping<'w> {
    world: &'w World,
    interrupt: &'w Interrupt,
}

impl<'w> Grouping<'w> {
    /// A role for each rank, with loops or without.
    fn single(&self, rows: Vec<Row>, regular: bool) -> Vec<Role<'w>> {
        let mut roles = Vec::new();
        for (rank, mut body) in rows {
            if self.interrupt.is_set() {
                break;
            }
            let formulas = Formulas::new(self.world, vec![rank]);
            if regular {
                body = fold::sequence(Form::Statements, body, &formulas);
            }
            roles.push(Role { formulas, body });
        }
        roles
    }

    /// The ranks grouped by skeleton, ordered by the first rank of each.
    fn grouped(&self, rows: Vec<Row>) -> Vec<Role<'w>> {
        let mut known: BTreeMap<Vec<u64>, Vec<Row>> = BTreeMap::new();
        for (rank, body) in rows {
            let skeleton = body.iter().map(Node::skeleton).collect();
            known.entry(skeleton).or_default().push((rank, body));
        }
        let mut groups: Vec<Vec<Row>> = known.into_values().collect();
        groups.sort_by_key(|members| members.first().map(|(rank, _)| *rank));
        groups.into_iter().flat_map(|members| self.merged(members)).collect()
    }

    fn merged(&self, members: Vec<Row>) -> Vec<Role<'w>> {
        let ranks: Vec<i64> = members.iter().map(|(rank, _)| *rank).collect();
        let bodies: Vec<&[Node]> = members.iter().map(|(_, body)| body.as_slice()).collect();
        let Some(body) = merge_lists(&bodies, 1) else { return self.single(members, true) };
        let formulas = Formulas::new(self.world, ranks);
        let body = fold::sequence(Form::Statements, body, &formulas);
        let mut tables = 0;
        for node in &body {
            node.numbers(&mut Vec::new(), &mut |number, loops| {
                tables += usize::from(formulas.find(number, loops).is_none());
                true
            });
        }
        if tables > MOST_TABLES {
            self.single(members, true)
        } else {
            vec![Role { formulas, body }]
        }
    }
}
/// A condition that holds for exactly these ranks.
fn condition(world: &World, ranks: &[i64]) -> String {
    let is = |of: &dyn Fn(i64) -> bool| {
        (0..world.ranks).filter(|rank| of(*rank)).eq(ranks.iter().copied())
    };
    let first = ranks.first().copied().unwrap_or(0);
    let (last, count) = (ranks.last().copied().unwrap_or(0), ranks.len());
    let per_node = world.per_node;
    if count == 1 {
        format!("rank == {first}")
    } else if world.has_nodes() && is(&|rank| rank / per_node == first / per_node) {
        format!("node == {}", first / per_node)
    } else if world.has_nodes() && is(&|rank| rank % per_node == first % per_node) {
        format!("local_rank == {}", first % per_node)
    } else if is(&|rank| rank <= last) {
        format!("rank <= {last}")
    } else if is(&|rank| rank >= first) {
        format!("rank >= {first}")
    } else if is(&|rank| first <= rank && rank <= last) {
        format!("rank >= {first} && rank <= {last}")
    } else if is(&|rank| rank % 2 == first % 2) {
        format!("rank % 2 == {}", first % 2)
    } else {
        let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
        format!("[{}].contains(rank)", ranks.join(", "))
    }
}
