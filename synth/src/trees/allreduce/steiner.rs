//! A cheap tree from a root to all ranks, which may go through joints or not.
//!
//! With given joints the cheapest tree that has them is an arborescence; those that it does not need fall off. Which
//! joints are best is tried out: all sets where there are few joints, so that the tree is the cheapest one; otherwise
//! from a tree that takes the nearest rank in turn (Takahashi and Matsuyama, "An approximate solution for the Steiner
//! problem in graphs", 1980), by adding and removing single joints.

use super::super::budget::FlowMeter;
use super::super::error::TreeError;
use super::arborescence::{ArcCosts, NO_ARC, find_arborescence};
use super::half::{HalfGraph, TreeMember};
use crate::dense::DenseMap;

/// Of how many joints all sets are tried.
const MAX_ALL_SETS: usize = 3;

/// Of how many joints single ones are added and removed.
const MAX_CHANGED: usize = 24;

/// What a hop to the begin of an arc costs: so little that it only decides between trees that cost the same otherwise.
const HOP_COST: u64 = 1 << 5;

/// The most hops that count.
const MAX_HOPS: u32 = 1 << 8;

/// The bits of a cost below those of the lengths of edges: of hops, and of the numbers of edges of paths.
pub(super) const TIE_BITS: u32 = 14;

/// A tree of members.
#[derive(Clone, Debug)]
pub(super) struct MemberTree {
    pub(super) cost: u64,
    /// The parents of those that the tree has.
    pub(super) parents: DenseMap<TreeMember, Option<TreeMember>>,
}

/// A cheap tree; none if the root does not reach all ranks.
pub(super) fn find_cheap_tree(
    half: &HalfGraph,
    costs: &ArcCosts,
    root: TreeMember,
    meter: &mut FlowMeter,
) -> Result<Option<MemberTree>, TreeError> {
    let joints: Vec<TreeMember> = half.list_joints().collect();
    let search = TreeSearch { half, costs, root };
    if joints.len() <= MAX_ALL_SETS {
        let mut best = None;
        for set in 0..1_u32 << joints.len() {
            let chosen = (0..).zip(&joints).filter(|(bit, _)| set >> bit & 1 == 1);
            let chosen: Vec<TreeMember> = chosen.map(|(_, joint)| *joint).collect();
            best = pick_cheaper(best, search.span(&chosen, meter)?);
        }
        return Ok(best);
    }
    let Some(mut chosen) = search.choose_joints() else { return Ok(None) };
    let Some(mut best) = search.span(&chosen, meter)? else { return Ok(None) };
    if joints.len() <= MAX_CHANGED {
        for joint in joints {
            let mut changed = chosen.clone();
            match chosen.iter().position(|own| *own == joint) {
                Some(place) => drop(changed.remove(place)),
                None => changed.push(joint),
            }
            if let Some(other) = search.span(&changed, meter)?
                && other.cost < best.cost
            {
                best = other;
                chosen = changed;
            }
        }
    }
    Ok(Some(best))
}

fn pick_cheaper(one: Option<MemberTree>, other: Option<MemberTree>) -> Option<MemberTree> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.cost < one.cost { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// What trees from a root are searched in.
struct TreeSearch<'a> {
    half: &'a HalfGraph,
    costs: &'a ArcCosts,
    root: TreeMember,
}

impl TreeSearch<'_> {
    /// What an arc costs, with what it costs to get to its begin.
    fn measure_arc(&self, from: TreeMember, to: TreeMember) -> u64 {
        let hops = self.half.count_hops(self.root, from).min(MAX_HOPS);
        match self.costs.find(from, to) {
            NO_ARC => NO_ARC,
            cost => cost + u64::from(hops) * HOP_COST,
        }
    }

    /// The cheapest tree that has all ranks and given joints, without those that nothing needs.
    fn span(
        &self,
        joints: &[TreeMember],
        meter: &mut FlowMeter,
    ) -> Result<Option<MemberTree>, TreeError> {
        let half = self.half;
        let ranks = half.list_members().filter(|member| half.is_rank(*member));
        let chosen: DenseMap<TreeMember, TreeMember> =
            ranks.chain(joints.iter().copied()).collect::<Vec<TreeMember>>().into();
        meter.count_flow(chosen.len() * chosen.len())?;
        let numbers = || (0..).map(TreeMember).zip(chosen.as_slice());
        let mut costs = ArcCosts::new(chosen.len());
        for (from, own_from) in numbers() {
            for (to, own_to) in numbers() {
                costs.set(from, to, self.measure_arc(*own_from, *own_to));
            }
        }
        let Some(found) = find_arborescence(&costs, self.root) else { return Ok(None) };
        let mut parents = DenseMap::filled(half.count_members(), None);
        for (number, own) in numbers().filter(|(_, own)| **own != self.root) {
            parents[*own] = Some(chosen[found[number]]);
        }
        self.cut_idle_joints(&mut parents);
        Ok(Some(MemberTree { cost: self.measure_cost(&parents), parents }))
    }

    /// Removes joints from which nothing goes on.
    fn cut_idle_joints(&self, parents: &mut DenseMap<TreeMember, Option<TreeMember>>) {
        loop {
            let mut has_child = DenseMap::filled(parents.len(), false);
            for parent in parents.as_slice().iter().flatten() {
                has_child[*parent] = true;
            }
            let mut is_changed = false;
            for joint in self.half.list_joints().filter(|joint| !has_child[*joint]) {
                is_changed |= parents[joint].take().is_some();
            }
            if !is_changed {
                return;
            }
        }
    }

    fn measure_cost(&self, parents: &DenseMap<TreeMember, Option<TreeMember>>) -> u64 {
        let arcs = self.half.list_members().filter_map(|to| Some((parents[to]?, to)));
        arcs.map(|(from, to)| self.measure_arc(from, to)).sum()
    }

    /// The joints of a tree that is extended to the nearest rank in turn; none if it does not reach all.
    fn choose_joints(&self) -> Option<Vec<TreeMember>> {
        let half = self.half;
        let mut is_in = DenseMap::filled(half.count_members(), false);
        let mut nearest: DenseMap<TreeMember, u64> = DenseMap::filled(half.count_members(), NO_ARC);
        let mut before: DenseMap<TreeMember, TreeMember> =
            DenseMap::filled(half.count_members(), self.root);
        let mut is_done = is_in.clone();
        nearest[self.root] = 0;
        loop {
            let open = half.list_members().filter(|one| !is_done[*one] && nearest[*one] != NO_ARC);
            let Some(next) = open.min_by_key(|one| nearest[*one]) else { break };
            let mut added = vec![next];
            if half.is_rank(next) {
                // The whole path from the tree.
                let mut at = before[next];
                while !is_in[at] && at != next && at != self.root {
                    added.push(at);
                    at = before[at];
                }
                for member in &added {
                    is_in[*member] = true;
                    nearest[*member] = 0;
                }
            }
            for from in added {
                is_done[from] = true;
                for to in half.list_members().filter(|to| !is_in[*to]) {
                    let length = nearest[from].saturating_add(self.measure_arc(from, to));
                    if length < nearest[to] {
                        nearest[to] = length;
                        before[to] = from;
                        is_done[to] = false;
                    }
                }
            }
        }
        let has_all = half.list_members().filter(|one| half.is_rank(*one)).all(|one| is_in[one]);
        has_all.then(|| half.list_joints().filter(|joint| is_in[*joint]).collect())
    }
}
