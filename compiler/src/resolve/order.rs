//! Finds the order in which to resolve declarations. In: which declaration names which. Out: groups, callees
//! first.
//!
//! A group is a set of declarations that need one another (recursion); most groups have one member.

/// The groups of a graph whose node `i` needs the nodes `needs[i]`; a group comes after every group that it needs.
///
/// Tarjan's algorithm, with an explicit stack instead of recursion: a chain of declarations can have any length.
pub(super) fn groups(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        needs,
        nodes: vec![Node::default(); needs.len()],
        path: Vec::new(),
        next: 0,
        groups: Vec::new(),
    };
    for node in 0..needs.len() {
        search.from(node);
    }
    search.groups
}

#[derive(Clone, Copy, Default)]
struct Node {
    /// When it was first seen, counted from 1.
    seen: usize,
    /// The earliest open node that it reaches.
    reaches: usize,
    /// Whether its group is not complete yet.
    open: bool,
}

struct Search<'g> {
    needs: &'g [Vec<usize>],
    nodes: Vec<Node>,
    path: Vec<usize>,
    next: usize,
    groups: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn from(&mut self, start: usize) {
        if self.node(start).seen > 0 {
            return;
        }
        self.enter(start);
        let mut calls = vec![(start, 0)];
        while let Some((node, child)) = calls.last_mut() {
            let (node, position) = (*node, *child);
            *child += 1;
            match self.needs.get(node).and_then(|needs| needs.get(position)) {
                Some(&next) if self.node(next).seen == 0 => {
                    self.enter(next);
                    calls.push((next, 0));
                }
                Some(&next) => {
                    let next = self.node(next);
                    if next.open {
                        self.reach(node, next.seen);
                    }
                }
                None => {
                    calls.pop();
                    let reaches = self.node(node).reaches;
                    if let Some((caller, _)) = calls.last() {
                        self.reach(*caller, reaches);
                    }
                    self.close(node);
                }
            }
        }
    }

    fn node(&self, node: usize) -> Node {
        self.nodes.get(node).copied().unwrap_or_default()
    }

    fn enter(&mut self, node: usize) {
        self.next += 1;
        self.path.push(node);
        if let Some(row) = self.nodes.get_mut(node) {
            *row = Node { seen: self.next, reaches: self.next, open: true };
        }
    }

    fn reach(&mut self, node: usize, seen: usize) {
        if let Some(row) = self.nodes.get_mut(node) {
            row.reaches = row.reaches.min(seen);
        }
    }

    /// If the node reaches nothing before itself, the path from the node on is a group.
    fn close(&mut self, node: usize) {
        let row = self.node(node);
        if row.reaches < row.seen {
            return;
        }
        let from = self.path.iter().rposition(|other| *other == node).unwrap_or(0);
        let mut group = self.path.split_off(from);
        for member in &group {
            if let Some(row) = self.nodes.get_mut(*member) {
                row.open = false;
            }
        }
        group.sort_unstable();
        self.groups.push(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_come_first_and_circles_are_one_group() {
        // 0 -> 1 -> 2 -> 1, 3 -> 0
        let needs = vec![vec![1], vec![2], vec![1], vec![0]];
        assert_eq!(groups(&needs), vec![vec![1, 2], vec![0], vec![3]]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let needs: Vec<Vec<usize>> =
            (0..100_000).map(|i| if i + 1 < 100_000 { vec![i + 1] } else { vec![] }).collect();
        let groups = groups(&needs);
        assert_eq!(groups.first(), Some(&vec![99_999]));
        assert_eq!(groups.len(), 100_000);
    }
}
