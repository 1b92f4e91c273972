//! One body for ranks that do the same.
//!
//! In: each rank's statements. Out: statements for all ranks, or a branch of an `if` for each kind of rank.

use super::fold;
use super::formula::Formulas;
use super::page::Page;
use super::tree::{Form, Node, merge_lists};
use super::world::World;

/// With more numbers than this for which there is no expression, ranks are written one by one.
const MOST_TABLES: usize = 24;

/// A rank, and its statements.
type Row = (i64, Vec<Node>);

/// Ranks with the same skeleton.
struct Role<'w> {
    formulas: Formulas<'w>,
    body: Vec<Node>,
}

/// Writes the bodies of all ranks, and returns how many there are.
pub(super) fn write(
    world: &World,
    trees: Vec<Vec<Node>>,
    regular: bool,
    page: &mut Page<'_>,
) -> usize {
    let rows: Vec<Row> =
        (0..).zip(trees).filter(|(_, statements)| !statements.is_empty()).collect();
    let silent = rows.len() < world.ranks as usize;
    let roles = if regular { grouped(world, rows) } else { single(world, rows, false) };
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

fn single(world: &World, rows: Vec<Row>, regular: bool) -> Vec<Role<'_>> {
    let role = |(rank, body)| {
        let formulas = Formulas::new(world, vec![rank]);
        let body = match regular {
            true => fold::sequence(Form::Statements, body, &formulas),
            false => body,
        };
        Role { formulas, body }
    };
    rows.into_iter().map(role).collect()
}

/// The ranks grouped by skeleton, ordered by the first rank of each.
fn grouped(world: &World, rows: Vec<Row>) -> Vec<Role<'_>> {
    let mut groups: Vec<(Vec<u64>, Vec<Row>)> = Vec::new();
    for (rank, body) in rows {
        let skeleton: Vec<u64> = body.iter().map(Node::skeleton).collect();
        match groups.iter_mut().find(|(known, _)| *known == skeleton) {
            Some((_, members)) => members.push((rank, body)),
            None => groups.push((skeleton, vec![(rank, body)])),
        }
    }
    groups.into_iter().flat_map(|(_, members)| merged(world, members)).collect()
}

fn merged(world: &World, members: Vec<Row>) -> Vec<Role<'_>> {
    let ranks: Vec<i64> = members.iter().map(|(rank, _)| *rank).collect();
    let bodies: Vec<&[Node]> = members.iter().map(|(_, body)| body.as_slice()).collect();
    let Some(body) = merge_lists(&bodies, 1) else { return single(world, members, true) };
    let formulas = Formulas::new(world, ranks);
    let body = fold::sequence(Form::Statements, body, &formulas);
    let mut tables = 0;
    for node in &body {
        node.numbers(&mut Vec::new(), &mut |number, loops| {
            tables += usize::from(formulas.find(number, loops).is_none());
            true
        });
    }
    if tables > MOST_TABLES { single(world, members, true) } else { vec![Role { formulas, body }] }
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
