//! Demands as proof files write them, and the collectives that these are. The checker does not know them: a name says
//! only that the demands of a file are those that this file has for it.

use crate::collective::{CollectiveKind, Demand, DemandList, SummandGroup};
use crate::graph::Vertex;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The ranks of a sum.
pub(super) struct WrittenSum {
    pub(super) origins: Vec<Vertex>,
    pub(super) receivers: Vec<Vertex>,
}

/// A line of demands.
pub(super) struct WrittenDemand {
    count: u64,
    /// Whether each receiver has values of its own.
    is_apart: bool,
    /// Several ones have their summands in common.
    pub(super) sums: Vec<WrittenSum>,
}

impl WrittenDemand {
    fn new(count: u64, origins: &[Vertex], receivers: &[Vertex]) -> WrittenDemand {
        let [origins, receivers] = [origins, receivers].map(<[Vertex]>::to_vec);
        WrittenDemand { count, is_apart: false, sums: vec![WrittenSum { origins, receivers }] }
    }

    /// Those of a known collective. What a rank has already may be among what it gets.
    pub(super) fn list_known(ranks: u32, kind: CollectiveKind) -> Vec<WrittenDemand> {
        let all: Vec<Vertex> = (0..ranks).map(Vertex).collect();
        let spread = |from: &Vertex| WrittenDemand {
            is_apart: true,
            ..WrittenDemand::new(1, &[*from], &all)
        };
        match kind {
            CollectiveKind::AllGather => {
                all.iter().map(|from| WrittenDemand::new(1, &[*from], &all)).collect()
            }
            CollectiveKind::ReduceScatter => {
                all.iter().map(|to| WrittenDemand::new(1, &all, &[*to])).collect()
            }
            CollectiveKind::AllToAll => all.iter().map(spread).collect(),
            CollectiveKind::AllReduce => vec![WrittenDemand::new(1, &all, &all)],
            CollectiveKind::Broadcast(root) => vec![WrittenDemand::new(1, &[root], &all)],
            CollectiveKind::Reduce(root) => vec![WrittenDemand::new(1, &all, &[root])],
            CollectiveKind::Scatter(root) => vec![spread(&root)],
            CollectiveKind::Gather(root) => {
                let others = all.iter().filter(|rank| **rank != root);
                others.map(|from| WrittenDemand::new(1, &[*from], &[root])).collect()
            }
        }
    }

    /// Those of a list, of which demands with common summands are one.
    pub(super) fn list_described(demands: &DemandList) -> Vec<WrittenDemand> {
        let mut places: BTreeMap<SummandGroup, usize> = BTreeMap::new();
        let mut written: Vec<WrittenDemand> = Vec::new();
        for Demand { origins, receivers, count, summands } in demands.as_slice() {
            let own = WrittenDemand::new(*count, origins, receivers);
            let place = summands.map(|group| *places.entry(group).or_insert(written.len()));
            match place.and_then(|place| written.get_mut(place)) {
                Some(first) => first.sums.extend(own.sums),
                None => written.push(own),
            }
        }
        written
    }

    /// Whether flows of it pass within what is sent of the same values, of which there are several.
    pub(super) fn is_shared(&self) -> bool {
        let is_single = |sum: &WrittenSum| sum.origins.len() == 1 && sum.receivers.len() == 1;
        let is_joint = !self.is_apart && !self.sums.iter().all(is_single);
        self.sums.len() > 1 || (is_joint && self.count > 1)
    }

    /// Its line, without the end.
    pub(super) fn write_line(&self, ranks: u32) -> String {
        let mut text = format!("{} {}", if self.is_apart { "apart" } else { "demand" }, self.count);
        for list in self.sums.iter().flat_map(|sum| [&sum.origins, &sum.receivers]) {
            // Texts take everything.
            let _ = write!(text, " : {}", join_list(list, ranks as usize));
        }
        text
    }
}

/// A list of numbers, of which there are so many in all.
pub(super) fn join_list(list: &[Vertex], all: usize) -> String {
    if list.len() == all {
        return "all".to_owned();
    }
    let words: Vec<String> = list.iter().map(Vertex::to_string).collect();
    words.join(" ")
}

/// The name of the collective of lines of demands: of the known one that is written like that, or `demands`.
pub(super) fn name_collective(ranks: u32, lines: &[&str]) -> String {
    let mut kinds = vec![
        CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter,
        CollectiveKind::AllToAll,
        CollectiveKind::AllReduce,
    ];
    let ends = lines.first().into_iter().flat_map(|line| line.split(" : ").skip(1));
    for root in ends.filter_map(|end| end.parse().ok().map(Vertex)) {
        kinds.extend([
            CollectiveKind::Broadcast(root),
            CollectiveKind::Reduce(root),
            CollectiveKind::Scatter(root),
            CollectiveKind::Gather(root),
        ]);
    }
    let is_same = |kind: &CollectiveKind| {
        let own = WrittenDemand::list_known(ranks, *kind);
        own.len() == lines.len()
            && own.iter().zip(lines).all(|(own, line)| own.write_line(ranks) == **line)
    };
    let kind = kinds.into_iter().find(is_same);
    kind.map_or_else(|| "demands".to_owned(), |kind| kind.to_string())
}
