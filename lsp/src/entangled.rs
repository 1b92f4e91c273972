//! Files whose declarations need so much of each other that nothing is gained by processing them separately.
//!
//! A declaration is processed together with everything that it needs, which is usually little. In a chain of functions
//! that call each other, it is half of the file, and time and space would grow with the square of the file's length.
//! Such a file is not cut into declarations.

use crate::database::{self, Db, Declaration, Document};
use crate::excerpt::Names;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many bytes all declarations of a file may have together, each with everything that it needs: this many, ..
const ALLOWED: usize = 4 << 20;

/// .. and in addition this many times the length of the file, which is processed at least once in any case.
const TIMES: usize = 4;

/// A declaration.
struct Node {
    size: usize,
    /// The positions of those that it mentions.
    needs: Vec<usize>,
    /// The last declaration that was found to need this one.
    needed_by: Option<usize>,
}

/// Whether the declarations of a file, each with everything that it needs, are too much to be processed separately.
#[salsa::tracked(returns(copy))]
pub fn entangled(db: &dyn Db, document: Document) -> bool {
    let pieces = &database::pieces(db, document).declarations;
    let names: Vec<Arc<Names>> =
        pieces.iter().map(|(_, piece)| database::names(db, *piece)).collect();
    let sizes: Vec<usize> = pieces.iter().map(|(_, piece)| size(db, *piece)).collect();
    let shared = names.iter().zip(&sizes).filter(|(names, _)| !names.program);
    let shared: usize = shared.map(|(_, size)| size).sum();
    // No declaration needs more than itself and all that declarations share.
    shared * sizes.len() > ALLOWED
        && exceed(nodes(&names, &sizes), ALLOWED + TIMES * sizes.iter().sum::<usize>())
}

/// Roughly the length of a declaration: a power of two, so that few edits change it.
#[salsa::tracked(returns(copy))]
fn size<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> usize {
    declaration.text(db).len().next_power_of_two()
}

fn nodes(names: &[Arc<Names>], sizes: &[usize]) -> Vec<Node> {
    let mut declaring: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (position, names) in names.iter().enumerate().filter(|(_, names)| !names.program) {
        for (_, name) in &names.declares {
            declaring.entry(name).or_default().push(position);
        }
    }
    let needs = |names: &Names| {
        let known = names.mentions.iter().filter_map(|name| declaring.get(name.as_str()));
        known.flatten().copied().collect()
    };
    let nodes = names.iter().zip(sizes);
    nodes.map(|(names, size)| Node { size: *size, needs: needs(names), needed_by: None }).collect()
}

/// Whether the sizes of all declarations, each with everything that it needs, are more than this in sum.
fn exceed(mut nodes: Vec<Node>, most: usize) -> bool {
    let mut sum = 0;
    for first in 0..nodes.len() {
        let mut open = vec![first];
        while let Some(next) = open.pop() {
            let new = |node: &&mut Node| node.needed_by != Some(first);
            let Some(node) = nodes.get_mut(next).filter(new) else { continue };
            node.needed_by = Some(first);
            sum += node.size;
            open.extend(&node.needs);
        }
        if sum > most {
            return true;
        }
    }
    false
}
