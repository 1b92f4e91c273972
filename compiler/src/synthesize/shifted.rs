//! Schedules that a group of shifts keeps: what one rank sends, by how far others are away from it, is what all send.

use std::collections::BTreeSet;
use synth::graph::Vertex;
use synth::schedule::{MoveAction, StepSchedule};
use synth::shifts::{Shift, ShiftGroup};
use synth::trees::{TreeDirection, TreeSet};

/// Pieces of an owner's chunk that a rank sends to another one. Sums have the direction of the copies of which they are
/// the reverse: the sender is who adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Transfer {
    pub(super) step: u32,
    pub(super) from: Vertex,
    pub(super) to: Vertex,
    pub(super) owner: Vertex,
    pub(super) first: u64,
    pub(super) count: u64,
}

/// Pieces of a chunk whose owner is so far away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnerPart {
    pub(super) owner: u32,
    pub(super) first: u64,
    pub(super) count: u64,
}

/// What goes over a way in a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WayLoad {
    /// How far the owners are away whose chunks are sent as wholes.
    pub(super) wholes: Vec<u32>,
    /// The others.
    pub(super) parts: Vec<OwnerPart>,
}

impl WayLoad {
    pub(super) fn is_empty(&self) -> bool {
        self.wholes.is_empty() && self.parts.is_empty()
    }

    /// How many entries there are.
    pub(super) fn count(&self) -> usize {
        self.wholes.len() + self.parts.len()
    }
}

/// Step by step, what goes over each way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WaySteps(pub(super) Vec<Vec<WayLoad>>);

impl WaySteps {
    pub(super) fn has_parts(&self) -> bool {
        self.0.iter().flatten().any(|load| !load.parts.is_empty())
    }

    /// Whether there is one step only.
    pub(super) fn is_single(&self) -> bool {
        self.0.len() == 1
    }

    /// Whether something goes over each way in each step.
    pub(super) fn uses_all(&self) -> bool {
        self.0.iter().flatten().all(|load| !load.is_empty())
    }
}

/// What one rank does in place of all.
#[derive(Clone, Debug)]
pub(super) struct ShiftRules {
    /// The shifts that map what one rank does to what any other one does.
    pub(super) group: ShiftGroup,
    /// How far receivers are away, in order.
    pub(super) ways: Vec<u32>,
    /// One for each list of transfers.
    pub(super) tables: Vec<WaySteps>,
}

impl ShiftRules {
    /// The rules of some lists of transfers, if one group keeps all of them.
    fn find(ranks: u32, mut lists: Vec<Vec<Transfer>>, chunks: u64) -> Option<ShiftRules> {
        for transfers in &mut lists {
            transfers.sort_unstable();
        }
        let group = ShiftGroup::find(ranks, |shift| {
            lists.iter().all(|transfers| is_kept(transfers, shift))
        })?;
        let of_first = |transfers: &Vec<Transfer>| -> Vec<Transfer> {
            transfers.iter().filter(|own| own.from == Vertex(0)).copied().collect()
        };
        let lists: Vec<Vec<Transfer>> = lists.iter().map(of_first).collect();
        let ways: BTreeSet<u32> = lists.iter().flatten().map(|own| own.to.0).collect();
        let ways: Vec<u32> = ways.into_iter().collect();
        let tables = lists.iter().map(|own| tabulate(own, &ways, chunks)).collect();
        Some(ShiftRules { group, ways, tables })
    }

    /// Whether each way leads back by another one.
    pub(super) fn is_symmetric(&self) -> bool {
        self.ways.iter().all(|way| {
            let back = self.group.subtract(Vertex(0), Vertex(*way));
            self.ways.binary_search(&back.0).is_ok()
        })
    }
}

fn is_kept(transfers: &[Transfer], shift: Shift) -> bool {
    transfers.iter().all(|own| {
        let [from, to, owner] = [own.from, own.to, own.owner].map(|rank| shift.map(rank));
        transfers.binary_search(&Transfer { from, to, owner, ..*own }).is_ok()
    })
}

/// A table of what one sender sends, with pieces that follow each other as one entry.
fn tabulate(transfers: &[Transfer], ways: &[u32], chunks: u64) -> WaySteps {
    let mut merged: Vec<Transfer> = Vec::new();
    for own in transfers {
        match merged.last_mut() {
            Some(last)
                if *last == (Transfer { first: last.first, count: last.count, ..*own })
                    && last.first + last.count == own.first =>
            {
                last.count += own.count;
            }
            Some(_) | None => merged.push(*own),
        }
    }
    let steps = transfers.last().map_or(0, |last| last.step as usize + 1);
    let mut table = vec![vec![WayLoad::default(); ways.len()]; steps];
    for own in merged {
        let way = ways.binary_search(&own.to.0).ok();
        let step = table.get_mut(own.step as usize);
        let Some(load) = step.zip(way).and_then(|(step, way)| step.get_mut(way)) else { continue };
        if own.count == chunks {
            load.wholes.push(own.owner.0);
        } else {
            load.parts.push(OwnerPart { owner: own.owner.0, first: own.first, count: own.count });
        }
    }
    WaySteps(table)
}

/// The rules of a schedule of steps in which each unit has an owner: those of the copies, and those of the sums, which run
/// backwards.
pub(super) struct StepRules {
    pub(super) rules: ShiftRules,
    /// The table of the sums; none if nothing is added up.
    pub(super) sums: Option<usize>,
    /// The table of the copies; the same where the sums are the copies backwards.
    pub(super) copies: Option<usize>,
}

/// The rules of a schedule of steps, if a group of shifts keeps it.
pub(super) fn find_step_rules(ranks: u32, schedule: &StepSchedule) -> Option<StepRules> {
    let chunks = u64::from(schedule.chunks);
    let select = |action: MoveAction| {
        let own = schedule.moves.iter().filter(move |own| own.action == action);
        let steps: BTreeSet<u32> = own.clone().map(|own| own.step).collect();
        let steps: Vec<u32> = steps.into_iter().collect();
        let number = |step: u32| steps.binary_search(&step).unwrap_or(0) as u32;
        let last = steps.len().saturating_sub(1) as u32;
        let transfer = |own: &synth::schedule::Move| {
            let (owner, first) = (u64::from(own.piece.0) / chunks, u64::from(own.piece.0) % chunks);
            let owner = Vertex(owner as u32);
            let (step, from, to) = match action {
                MoveAction::Copy => (number(own.step), own.from, own.to),
                MoveAction::Reduce => (last - number(own.step), own.to, own.from),
            };
            Transfer { step, from, to, owner, first, count: 1 }
        };
        let mut transfers: Vec<Transfer> = own.map(transfer).collect();
        transfers.sort_unstable();
        transfers
    };
    let [sums, copies] = [MoveAction::Reduce, MoveAction::Copy].map(select);
    let is_mirrored = sums == copies;
    let has = [!sums.is_empty(), !copies.is_empty()];
    let lists: Vec<Vec<Transfer>> = if is_mirrored {
        vec![copies]
    } else {
        [sums, copies].into_iter().filter(|list| !list.is_empty()).collect()
    };
    let rules = ShiftRules::find(ranks, lists, chunks)?;
    let last = rules.tables.len().checked_sub(1)?;
    let [sums, copies] = has;
    Some(StepRules { rules, sums: sums.then_some(0), copies: copies.then_some(last) })
}

/// The rules of trees with a root on each rank, if a group of shifts keeps them. A step is the distance from the root.
pub(super) fn find_tree_rules(ranks: u32, trees: &TreeSet) -> Option<ShiftRules> {
    let mut transfers = Vec::new();
    let mut first = 0;
    let mut last_root = None;
    for tree in &trees.trees {
        if last_root.replace(tree.root) != Some(tree.root) {
            first = 0;
        }
        let mut depths = vec![0_u32; ranks as usize];
        let edges: Vec<[Vertex; 2]> = match trees.direction {
            TreeDirection::FromRoot => tree.edges.iter().map(|edge| [edge.from, edge.to]).collect(),
            TreeDirection::ToRoot => {
                tree.edges.iter().rev().map(|edge| [edge.to, edge.from]).collect()
            }
        };
        for [from, to] in edges {
            let step = depths.get(from.0 as usize).copied()?;
            *depths.get_mut(to.0 as usize)? = step + 1;
            let (owner, count) = (tree.root, tree.weight);
            transfers.push(Transfer { step, from, to, owner, first, count });
        }
        first += tree.weight;
    }
    ShiftRules::find(ranks, vec![transfers], trees.k)
}

#[cfg(test)]
mod tests {
    use super::{OwnerPart, WayLoad, find_step_rules};
    use synth::families::{build_hypercube, build_line, build_ring};
    use synth::graph::Topology;
    use synth::schedule::StepSchedule;
    use synth::steps::bfb::schedule_breadth_first;

    fn schedule(topology: &Topology, chunks: u32) -> StepSchedule {
        schedule_breadth_first(topology, chunks).unwrap()
    }

    /// Each neighbor gets the chunk that came from the other one; the last one comes half from each.
    #[test]
    fn a_ring_passes_chunks_on() {
        let topology = build_ring(6).unwrap();
        let rules = find_step_rules(6, &schedule(&topology, 2)).unwrap();
        assert_eq!((rules.sums, rules.copies), (None, Some(0)));
        let rules = rules.rules;
        assert_eq!(rules.ways, [1, 5]);
        assert!(rules.is_symmetric());
        let wholes = |owner: u32| WayLoad { wholes: vec![owner], parts: Vec::new() };
        let table = &rules.tables[0].0;
        assert_eq!(table[..2], [[wholes(0), wholes(0)], [wholes(5), wholes(1)]]);
        let halves: Vec<&OwnerPart> = table[2].iter().flat_map(|load| &load.parts).collect();
        assert_eq!(halves.len(), 2);
        assert_eq!([halves[0].owner, halves[1].owner], [4, 2]);
        assert_eq!([halves[0].count, halves[1].count], [1, 1]);
        assert_eq!(halves[0].first + halves[1].first, 1);
    }

    #[test]
    fn sums_are_copies_backwards() {
        let topology = build_hypercube(3).unwrap();
        let copies = schedule(&topology, 3);
        let sums = copies.reverse(&topology, &topology.reverse(), true);
        let alone = find_step_rules(8, &sums).unwrap();
        assert_eq!((alone.sums, alone.copies), (Some(0), None));
        let both = find_step_rules(8, &sums.chain(copies.clone())).unwrap();
        assert_eq!((both.sums, both.copies), (Some(0), Some(0)));
        let copies = find_step_rules(8, &copies).unwrap();
        assert_eq!(both.rules.tables, copies.rules.tables);
        assert_eq!(alone.rules.tables, copies.rules.tables);
    }

    #[test]
    fn what_is_not_regular_has_no_rules() {
        assert!(find_step_rules(4, &schedule(&build_line(4).unwrap(), 1)).is_none());
        let ring = build_ring(4).unwrap();
        let mut changed = schedule(&ring, 2);
        assert!(find_step_rules(4, &changed).is_some());
        changed.moves.pop();
        assert!(find_step_rules(4, &changed).is_none());
    }
}
