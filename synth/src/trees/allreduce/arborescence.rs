//! The cheapest tree from a root that spans a graph (Chu and Liu, "On the shortest arborescence of a directed graph",
//! 1965; Edmonds, "Optimum branchings", 1967).

use super::half::TreeMember;
use crate::dense::DenseMap;

/// The cost of an arc that is not there.
pub(super) const NO_ARC: u64 = u64::MAX;

/// What the arcs of a graph cost.
#[derive(Clone, Debug)]
pub(super) struct ArcCosts {
    /// By the end of the arc, and then by its begin.
    entering: DenseMap<TreeMember, DenseMap<TreeMember, u64>>,
}

impl ArcCosts {
    /// A graph of so many vertices without arcs.
    pub(super) fn new(count: usize) -> ArcCosts {
        ArcCosts { entering: DenseMap::filled(count, DenseMap::filled(count, NO_ARC)) }
    }

    pub(super) fn set(&mut self, from: TreeMember, to: TreeMember, cost: u64) {
        self.entering[to][from] = cost;
    }

    pub(super) fn find(&self, from: TreeMember, to: TreeMember) -> u64 {
        self.entering[to][from]
    }

    /// From where the cheapest arc enters each vertex but the root, which is its own; none if there is no arc.
    fn choose_cheapest(&self, root: TreeMember) -> Option<DenseMap<TreeMember, TreeMember>> {
        let vertices = (0..).map(TreeMember).zip(self.entering.as_slice());
        let choose = |(to, costs): (TreeMember, &DenseMap<TreeMember, u64>)| {
            if to == root {
                return Some(root);
            }
            let arcs = (0..).map(TreeMember).zip(costs.as_slice());
            let arcs = arcs.filter(|(from, cost)| *from != to && **cost != NO_ARC);
            arcs.min_by_key(|(_, cost)| **cost).map(|(from, _)| from)
        };
        vertices.map(choose).collect::<Option<Vec<TreeMember>>>().map(Into::into)
    }
}

/// The parents of all vertices in the cheapest tree; the root is its own. None if the root does not reach a vertex. All
/// costs together are below 2^63.
pub(super) fn find_arborescence(
    costs: &ArcCosts,
    root: TreeMember,
) -> Option<DenseMap<TreeMember, TreeMember>> {
    let cheapest = costs.choose_cheapest(root)?;
    let contraction = Contraction::new(&cheapest, root);
    if contraction.count == cheapest.len() {
        return Some(cheapest);
    }
    // Each circle becomes a vertex: an arc into it replaces one of its arcs, and costs what it costs more.
    let mut smaller = ArcCosts::new(contraction.count);
    let none = [TreeMember(0); 2];
    let mut origins: DenseMap<TreeMember, DenseMap<TreeMember, [TreeMember; 2]>> =
        DenseMap::filled(contraction.count, DenseMap::filled(contraction.count, none));
    let vertices = || (0..cheapest.len() as u32).map(TreeMember);
    for to in vertices().filter(|to| *to != root) {
        let saved = if contraction.is_on_circle[to] { costs.find(cheapest[to], to) } else { 0 };
        for from in vertices() {
            let cost = costs.find(from, to);
            let [begin, end] = [from, to].map(|vertex| contraction.numbers[vertex]);
            if begin != end && cost != NO_ARC && cost - saved < smaller.find(begin, end) {
                smaller.set(begin, end, cost - saved);
                origins[end][begin] = [from, to];
            }
        }
    }
    let chosen = find_arborescence(&smaller, contraction.numbers[root])?;
    let mut parents = cheapest;
    for (end, begin) in (0..).map(TreeMember).zip(chosen.as_slice()) {
        if end != *begin {
            let [from, to] = origins[end][*begin];
            parents[to] = from;
        }
    }
    Some(parents)
}

/// The numbers of vertices after each circle of chosen arcs became one.
struct Contraction {
    numbers: DenseMap<TreeMember, TreeMember>,
    is_on_circle: DenseMap<TreeMember, bool>,
    count: usize,
}

impl Contraction {
    fn new(cheapest: &DenseMap<TreeMember, TreeMember>, root: TreeMember) -> Contraction {
        let vertices = cheapest.len();
        let mut is_on_circle = DenseMap::filled(vertices, false);
        let mut numbers: DenseMap<TreeMember, Option<TreeMember>> =
            DenseMap::filled(vertices, None);
        // From which start a vertex was visited first.
        let mut visits: DenseMap<TreeMember, Option<TreeMember>> = DenseMap::filled(vertices, None);
        let mut count = 0;
        for start in (0..vertices as u32).map(TreeMember) {
            let mut at = start;
            while at != root && visits[at].is_none() {
                visits[at] = Some(start);
                at = cheapest[at];
            }
            if at == root || visits[at] != Some(start) || numbers[at].is_some() {
                continue;
            }
            while !is_on_circle[at] {
                is_on_circle[at] = true;
                numbers[at] = Some(TreeMember(count));
                at = cheapest[at];
            }
            count += 1;
        }
        let mut number = |known: &Option<TreeMember>| {
            known.unwrap_or_else(|| {
                count += 1;
                TreeMember(count - 1)
            })
        };
        let numbers =
            numbers.as_slice().iter().map(&mut number).collect::<Vec<TreeMember>>().into();
        Contraction { numbers, is_on_circle, count: count as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::{ArcCosts, NO_ARC, find_arborescence};
    use crate::dense::DenseMap;
    use crate::trees::allreduce::half::TreeMember;

    fn measure_cost(costs: &ArcCosts, parents: &DenseMap<TreeMember, TreeMember>) -> Option<u64> {
        let mut sum = 0;
        for (to, from) in (0..).map(TreeMember).zip(parents.as_slice()) {
            let mut at = to;
            for _ in 0..parents.len() {
                at = parents[at];
            }
            let reaches_root = parents[at] == at;
            let cost = if to == *from { 0 } else { costs.find(*from, to) };
            if !reaches_root || cost == NO_ARC {
                return None;
            }
            sum += cost;
        }
        Some(sum)
    }

    /// The cost of the cheapest of all trees.
    fn search_all(costs: &ArcCosts, root: TreeMember) -> Option<u64> {
        let count = costs.entering.len() as u32;
        let choices = (0..count.pow(count)).map(|choice| {
            let parent = |vertex: u32| TreeMember(choice / count.pow(vertex) % count);
            let parents: Vec<TreeMember> = (0..count).map(parent).collect();
            DenseMap::from(parents)
        });
        let is_rooted = |parents: &DenseMap<TreeMember, TreeMember>| {
            let own = |vertex: &TreeMember| parents[*vertex] == *vertex;
            parents[root] == root && (0..count).map(TreeMember).filter(own).count() == 1
        };
        choices.filter(is_rooted).filter_map(|parents| measure_cost(costs, &parents)).min()
    }

    #[test]
    fn trees_are_the_cheapest_of_all() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut found = [0, 0];
        for _ in 0..400 {
            let count = random.u32(1..6);
            let mut costs = ArcCosts::new(count as usize);
            for from in (0..count).map(TreeMember) {
                for to in (0..count).map(TreeMember).filter(|to| *to != from) {
                    if random.u32(0..3) > 0 {
                        costs.set(from, to, random.u64(0..6));
                    }
                }
            }
            let root = TreeMember(random.u32(0..count));
            let tree = find_arborescence(&costs, root);
            let cost = tree.as_ref().map(|parents| measure_cost(&costs, parents).unwrap());
            assert_eq!(cost, search_all(&costs, root));
            found[usize::from(tree.is_some())] += 1;
        }
        assert!(found.iter().all(|count| *count > 50), "{found:?}");
    }
}
