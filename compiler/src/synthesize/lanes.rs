//! Programs of trees that a group of shifts keeps, for long messages: rules for one rank, and a thread block for each way
//! by which pieces come, instead of one for each tree.
//!
//! A *lane* `[t, v]` passes on what has come over the way `v` to the distance `t` from the roots, window by window; the
//! lanes of distance 0 send the rank's own pieces. It passes on whole chunks, or pieces where some chunk goes in parts.
//!
//! Sums run backwards: a lane adds up what those have to which it would send. There is one lane for all ways at distance
//! 0, since all add to the same pieces; if it has no room for all channels, several do so in turn. If a lane has more to
//! add than fits into a block, several share its pieces.

mod body;

use super::channels::Channels;
use super::rules::{TableNames, WayBack, WayBinders, write_pairs, write_tables};
use super::shifted::{ShiftRules, WaySteps};
use super::{MAX_BLOCK_CHANNELS, MAX_BLOCKS, ProgramHead, write_declarations, write_head};
use body::LaneBody;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use synth::graph::Vertex;
use synth::trees::TreeDirection;

/// How many operations of a lane move data at most: a block has 64, and some of them are signals and waits.
const MAX_LANE_OPERATIONS: usize = 44;

/// How many copies over different channels are one operation.
const JOINED_COPIES: usize = 8;

/// How many lanes share the pieces of a chunk at most.
const MAX_SHARES: u64 = 8;

/// A program of lanes.
pub(super) struct LaneWriter<'a> {
    head: &'a ProgramHead<'a>,
    rules: &'a ShiftRules,
    table: &'a WaySteps,
    channels: &'a Channels,
    adds_up: bool,
    /// How many lanes of distance 0 share the ways; each sends over some of them, or adds up what comes over some.
    roots: usize,
    /// How many lanes share the pieces of a chunk, in place of each one.
    shares: usize,
}

/// The ways over which a lane sends.
struct LaneHops {
    step: usize,
    lane: usize,
    ways: Vec<usize>,
    /// About how many operations it takes: one for each chunk, or piece, that is added up; copies over different channels
    /// are joined.
    operations: usize,
}

/// A channel of a lane, by its way.
#[derive(Clone, Copy)]
struct LaneEnd {
    way: usize,
    /// Whether it leads to the receiver, and not to the sender.
    is_away: bool,
}

impl<'a> LaneWriter<'a> {
    /// A writer of the program; `None` if it would have more blocks than run at once, or a block more channels or
    /// operations than it has room for.
    pub(super) fn new(
        head: &'a ProgramHead<'a>,
        rules: &'a ShiftRules,
        direction: TreeDirection,
        channels: &'a Channels,
    ) -> Option<LaneWriter<'a>> {
        let table = rules.tables.first()?;
        let adds_up = direction == TreeDirection::ToRoot;
        let ways = rules.ways.len();
        let fewest = if adds_up { 1 } else { ways };
        let most_shares = if table.has_parts() { head.chunks.min(MAX_SHARES) as usize } else { 1 };
        let writer = LaneWriter { head, rules, table, channels, adds_up, roots: ways, shares: 1 };
        let roots = (fewest..=ways).find(|roots| {
            let writer = LaneWriter { roots: *roots, ..writer };
            let lanes = writer.list_lanes();
            lanes.iter().all(|lane| writer.has_room(lane, &lanes))
        })?;
        let writer = LaneWriter { roots, ..writer };
        let lanes = writer.list_lanes();
        let longest = lanes.iter().map(|lane| lane.operations).max().unwrap_or(0);
        let fits = |shares: &usize| longest.div_ceil(*shares) <= MAX_LANE_OPERATIONS;
        let shares = (1..=most_shares).find(fits)?;
        (lanes.len() * shares <= MAX_BLOCKS).then_some(LaneWriter { shares, ..writer })
    }

    /// What goes over a way at a distance, as numbers: those of the owner that is `x` away begin at `x` times the pieces
    /// of a chunk, if there are parts.
    fn list_entries(&self, step: usize, way: usize) -> Vec<u64> {
        let unit = self.count_units();
        let Some(load) = self.table.0.get(step).and_then(|loads| loads.get(way)) else {
            return Vec::new();
        };
        let wholes = load.wholes.iter().flat_map(|owner| {
            let first = u64::from(*owner) * unit;
            first..first + unit
        });
        let parts = load.parts.iter().flat_map(|part| {
            let first = u64::from(part.owner) * unit + part.first;
            first..first + part.count
        });
        wholes.chain(parts).collect()
    }

    /// Into how many entries a chunk is divided.
    fn count_units(&self) -> u64 {
        if self.table.has_parts() { self.head.chunks } else { 1 }
    }

    /// What comes over a way, as numbers of the rank that gets it, in order.
    fn list_arrived(&self, step: usize, way: usize) -> Vec<u64> {
        let unit = self.count_units().max(1);
        let offset = Vertex(self.rules.ways.get(way).copied().unwrap_or(0));
        let turn = |entry: u64| {
            let owner = self.rules.group.subtract(Vertex((entry / unit) as u32), offset);
            u64::from(owner.0) * unit + entry % unit
        };
        let mut arrived: Vec<u64> = self.list_entries(step, way).into_iter().map(turn).collect();
        arrived.sort_unstable();
        arrived
    }

    /// The lanes that send something.
    fn list_lanes(&self) -> Vec<LaneHops> {
        let (steps, ways) = (self.table.0.len(), self.rules.ways.len());
        let mut lanes = Vec::new();
        for step in 0..steps {
            let sent: Vec<Vec<u64>> = (0..ways).map(|way| self.list_entries(step, way)).collect();
            for lane in 0..ways {
                let came = step.checked_sub(1).map(|before| self.list_arrived(before, lane));
                let mut hops = LaneHops { step, lane, ways: Vec::new(), operations: 0 };
                let mut pieces = BTreeSet::new();
                let (mut longest, mut copies) = (0, 0);
                for (way, entries) in sent.iter().enumerate() {
                    let goes_on = |entry: &&u64| match &came {
                        None => way % self.roots == lane,
                        Some(came) => came.binary_search(entry).is_ok(),
                    };
                    let onward: Vec<u64> = entries.iter().filter(goes_on).copied().collect();
                    if !onward.is_empty() {
                        hops.ways.push(way);
                    }
                    longest = longest.max(onward.len());
                    copies += onward.len();
                    pieces.extend(onward);
                }
                // Where sums are pushed, leaves are sent, and what is added up goes on.
                hops.operations = match (self.adds_up, self.channels.can_read()) {
                    (false, _) => longest.max(copies.div_ceil(JOINED_COPIES)),
                    (true, true) => pieces.len(),
                    (true, false) => pieces.len() + longest + came.map_or(0, |came| came.len()),
                };
                if !hops.ways.is_empty() {
                    lanes.push(hops);
                }
            }
        }
        lanes
    }

    fn has_room(&self, lane: &LaneHops, lanes: &[LaneHops]) -> bool {
        let is_leaf =
            |way: &usize| !lanes.iter().any(|next| next.step == lane.step + 1 && next.lane == *way);
        let away = lane.ways.iter().map(|way| LaneEnd { way: *way, is_away: true });
        let leaves = lane.ways.iter().copied().filter(is_leaf);
        let sends_here =
            |before: &&LaneHops| before.step + 1 == lane.step && before.ways.contains(&lane.lane);
        let came = lanes.iter().filter(sends_here).map(|_| lane.lane);
        let here = leaves.chain(came).map(|way| LaneEnd { way, is_away: false });
        let ends: Vec<LaneEnd> = away.chain(here).collect();
        (0..self.rules.group.count_ranks()).map(Vertex).all(|rank| {
            let near = ends.iter().filter(|end| self.is_memory(rank, **end)).count();
            near.max(ends.len() - near) <= MAX_BLOCK_CHANNELS
        })
    }

    fn is_memory(&self, rank: Vertex, end: LaneEnd) -> bool {
        let offset = Vertex(self.rules.ways.get(end.way).copied().unwrap_or(0));
        let group = &self.rules.group;
        let peer = if end.is_away { group.add(rank, offset) } else { group.subtract(rank, offset) };
        self.channels.is_memory(rank, peer)
    }

    /// Writes the program.
    pub(super) fn write_program(&self, text: &mut String) -> fmt::Result {
        write_head(self.head, text)?;
        write_tables(self.rules, &[TableNames::LEVELS], WayBack::OfWays, text)?;
        self.write_onward(text)?;
        self.channels.write_functions(text)?;
        write_declarations(self.head, true, text)?;
        let share =
            if self.shares > 1 { format!("j in 0..{}, ", self.shares) } else { String::new() };
        let (steps, ways) = (self.table.0.len(), self.rules.ways.len());
        let binders = format!("{share}t in 0..{steps}, v in 0..{ways}, w in hops[t][v]");
        let names = format!("{}t, v, w", self.share_index());
        let pairs = WayBinders { binders: &binders, names: &names };
        write_pairs(self.channels, self.rules, &pairs, text)?;
        if self.adds_up && !self.channels.can_read() {
            let is_whole = self.head.chunks > 1 && !self.table.has_parts();
            let pieces = if is_whole { format!(", {}", self.head.chunks) } else { String::new() };
            writeln!(text, "scratch got[{binders}, x in onward[t][v][w]{pieces}];")?;
        }
        if self.is_chained() {
            writeln!(text, "semaphore turn[{share}v in 1..{}];", self.roots)?;
        }
        writeln!(
            text,
            "\nblock lane[{share}t in 0..{steps}, v in 0..{ways} if hops[t][v].len() > 0] {{"
        )?;
        LaneBody { writer: self }.write(text)?;
        writeln!(text, "}}\n}}")
    }

    /// The index of the share that begins those of a lane.
    fn share_index(&self) -> &'static str {
        if self.shares > 1 { "j, " } else { "" }
    }

    /// Whether lanes of distance 0 add up one after another.
    fn is_chained(&self) -> bool {
        self.adds_up && self.roots > 1
    }

    /// Whether something comes over a way and goes on.
    fn is_deep(&self) -> bool {
        self.table.0.len() > 1
    }

    /// What each lane sends on.
    fn write_onward(&self, text: &mut String) -> fmt::Result {
        let (steps, ways) = (self.table.0.len(), self.rules.ways.len());
        let chunks = self.head.chunks;
        let has_parts = self.table.has_parts();
        let (list, turned, noun) = if has_parts {
            writeln!(
                text,
                "/// The same in pieces: `x * {chunks} + i` is the i-th of the rank that is `x` away.
                fn list_pieces(t: int, w: int) -> int[] = [x in sends[t][w], i in 0..{chunks}: x * {chunks} + i] + [s in parts if s[0] == t && s[1] == w, i in s[3] ..+ s[4]: s[2] * {chunks} + i];\n
                /// These, level by level.
                let pieces = [t in 0..{steps}: [w in 0..{ways}: list_pieces(t, w)]];\n"
            )?;
            let turned = format!("at(x / {chunks}, ways[v]) * {chunks} + x % {chunks}");
            ("pieces", turned, "piece `x`")
        } else {
            ("sends", "at(x, ways[v])".to_owned(), "chunk of the rank that is `x` away")
        };
        let own = match (self.roots, ways) {
            (1, _) => "v == 0".to_owned(),
            (roots, ways) if roots == ways => "v == w".to_owned(),
            (roots, _) => format!("w % {roots} == v"),
        };
        let needs_way = self.roots > 1;
        let (way, argument) = if needs_way { (", w: int", ", w") } else { ("", "") };
        let condition = if self.is_deep() {
            writeln!(
                text,
                "/// Whether the {noun} has come to the lane `[t, v]`, by the way `v`; at distance 0, whether it is for its ways.
                fn has_come(t: int, v: int{way}, x: int) -> bool = if t == 0 {{ {own} }} else {{ {list}[t - 1][v].contains({turned}) }};\n"
            )?;
            format!("has_come(t, v{argument}, x)")
        } else {
            own
        };
        let entries = if has_parts { "pieces" } else { "chunks" };
        let does = if self.adds_up { "adds up from each way" } else { "sends over each way" };
        writeln!(
            text,
            "/// The {entries} that each lane {does}.
            let onward = [t in 0..{steps}: [v in 0..{ways}: [w in 0..{ways}: [x in {list}[t][w] if {condition}: x]]]];\n"
        )?;
        writeln!(
            text,
            "/// The ways of each lane.
            let hops = [t in 0..{steps}: [v in 0..{ways}: [w in 0..{ways} if onward[t][v][w].len() > 0: w]]];\n"
        )
    }
}
