//! Whether the paths through limits are exactly the links.

use super::super::{ImportError, TextPlace};
use super::{LimitGraph, LimitPlan, LimitVertex, SharedLimit};
use std::collections::BTreeMap;

/// How many vertices paths may pass in all. Every path that is one of a link is passed once, so that a machine of the most
/// links with four limits each takes half of it; exceeding it is reported as a limit that cannot be expressed.
const MAX_PASSED: u32 = 1 << 22;

/// Looks for a path from a rank to another one that is not that of a link between them, or that passes other limits than
/// the link has. A path back to its own rank carries nothing that anyone wants.
///
/// # Errors
/// There is such a path; the report is at the last limit that it passes.
pub(super) fn check_paths(
    graph: &LimitGraph,
    plan: &LimitPlan,
    limits: &[SharedLimit],
    find_place: impl Fn(usize) -> TextPlace,
) -> Result<(), ImportError> {
    let mut next: BTreeMap<LimitVertex, Vec<LimitVertex>> = BTreeMap::new();
    for edge in graph.edges.keys() {
        next.entry(edge.from).or_default().push(edge.to);
    }
    let mut passed = 0;
    for source in next.keys() {
        let LimitVertex::Rank(from) = *source else { continue };
        let mut walk = PathWalk { from, limits: Vec::new() };
        let mut open: Vec<OpenVertex> = vec![OpenVertex { vertex: *source, depth: 0 }];
        while let Some(OpenVertex { vertex, depth }) = open.pop() {
            passed += 1;
            walk.limits.truncate(depth);
            let is_right = passed <= MAX_PASSED && walk.visit(vertex, plan);
            if !is_right {
                let last = walk.limits.last().and_then(|limit| limits.get(*limit));
                return Err(no_path(from, vertex, last, &find_place));
            }
            // A path ends at a rank; one begins at its own.
            let leaves = match vertex {
                LimitVertex::Rank(rank) if depth > 0 || rank != from => continue,
                LimitVertex::Rank(_) => vertex,
                LimitVertex::Entry(limit) | LimitVertex::Exit(limit) => LimitVertex::Exit(limit),
            };
            let depth = walk.limits.len();
            let behind = next.get(&leaves).into_iter().flatten();
            open.extend(behind.map(|vertex| OpenVertex { vertex: *vertex, depth }));
        }
    }
    Ok(())
}

/// A vertex that a path may go on to, and how many limits the path has passed before it.
#[derive(Clone, Copy)]
struct OpenVertex {
    vertex: LimitVertex,
    depth: usize,
}

/// The path from a rank to where the search is.
struct PathWalk {
    from: u32,
    limits: Vec<usize>,
}

impl PathWalk {
    /// Goes on to a vertex, and says whether the path can be one of a link.
    fn visit(&mut self, vertex: LimitVertex, plan: &LimitPlan) -> bool {
        match vertex {
            LimitVertex::Entry(limit) | LimitVertex::Exit(limit) => {
                self.limits.push(limit);
                true
            }
            LimitVertex::Rank(to) if to == self.from => true,
            LimitVertex::Rank(to) => {
                let wanted = (self.from, to);
                let at = plan.links.binary_search_by_key(&wanted, |link| (link.from, link.to));
                let own = at.ok().and_then(|at| plan.limits_of.get(at));
                own.is_some_and(|own| *own == self.limits)
            }
        }
    }
}

fn no_path(
    from: u32,
    vertex: LimitVertex,
    last: Option<&SharedLimit>,
    find_place: impl Fn(usize) -> TextPlace,
) -> ImportError {
    let place = last.map_or(TextPlace::START, |limit| find_place(limit.index));
    let name = last.map_or("", |limit| limit.name.as_str());
    let message = match vertex {
        LimitVertex::Rank(to) => format!(
            "the switch `{name}` cannot be expressed: it would join rank {from} to rank {to} otherwise than their link"
        ),
        LimitVertex::Entry(_) | LimitVertex::Exit(_) => {
            format!(
                "the switch `{name}` cannot be expressed: too many paths lead through the switches"
            )
        }
    };
    let help = "a switch joins all that enters it to all that leaves it: give links from all its sources to \
                all its destinations, and other switches all of these links or none, or leave it out";
    ImportError::new(place, message, help)
}
