//! How two plans differ in what they do.
//!
//! In: two programs that were read from plans. Out: what only one of them has, rank by rank and block by block;
//! differences that are alike on several ranks are reported once. Numbers that only name something, such as a channel's
//! or a semaphore's, do not count as a difference; neither do places where the threads of a block meet.

use crate::ir::{
    Action, BarrierId, Channel, ChannelId, ChannelKind, Op, Operand, Options, OriginId, Program,
    Rank, RankId, ReduceOp, Semaphore, SemaphoreId, Transfer, Where,
};
use crate::plan::names::protocol_name;
use crate::table::Id;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

/// For how many pairs of operations, at most, the order of two blocks is compared.
const MOST_PAIRS: usize = 1 << 22;

/// Something that is not the same in both plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is, for the first of the ranks.
    pub message: String,
    /// The ranks that have it, up to numbers.
    pub ranks: Vec<RankId>,
    /// Where it is in the first plan, if it is there.
    pub left: Option<OriginId>,
    /// Where it is in the second plan, if it is there.
    pub right: Option<OriginId>,
}

/// All differences of two programs, the first being `left`.
#[must_use]
pub fn compare(left: &Program, right: &Program) -> Vec<Difference> {
    let mut differences = heads(left, right);
    if left.ranks.len() != right.ranks.len() {
        return differences;
    }
    let mut alike = Alike::default();
    for (id, rank) in left.ranks.entries() {
        let Some(other) = right.ranks.lookup(id) else { continue };
        for difference in of_rank(id, rank, other) {
            let row = alike.row(id, &difference.message, differences.len());
            match differences.get_mut(row) {
                Some(known) => known.ranks.push(id),
                None => differences.push(difference),
            }
        }
    }
    differences
}

/// Finds differences that are the same on several ranks, apart from numbers: the n-th of a kind on one rank is reported
/// with the n-th of that kind on the others.
#[derive(Default)]
pub(crate) struct Alike {
    /// The row of the n-th difference of a kind; a kind is a message without its numbers.
    rows: BTreeMap<(String, usize), usize>,
    counts: BTreeMap<(RankId, String), usize>,
}

impl Alike {
    /// The row of a rank's difference: `new` if no rank has had one like it so far.
    pub(crate) fn row(&mut self, rank: RankId, message: &str, new: usize) -> usize {
        let kind: String = message.chars().filter(|c| !c.is_ascii_digit()).collect();
        let count = self.counts.entry((rank, kind.clone())).or_insert(0);
        let row = *self.rows.entry((kind, *count)).or_insert(new);
        *count += 1;
        row
    }
}

fn heads(left: &Program, right: &Program) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut add = |name: &str, a: String, b: String| {
        if a != b {
            let message = format!("`{name}` is {a} in the first plan and {b} in the second");
            differences.push(Difference { message, ranks: Vec::new(), left: None, right: None });
        }
    };
    add("ranks", left.ranks.len().to_string(), right.ranks.len().to_string());
    add("collective", left.collective.name.clone(), right.collective.name.clone());
    add("inplace", left.collective.in_place.to_string(), right.collective.in_place.to_string());
    let mut option = |name: &str, of: &dyn Fn(&Options) -> String| {
        add(name, of(&left.options), of(&right.options));
    };
    option("name", &|o| o.name.clone());
    option("protocol", &|o| protocol_name(o.protocol).to_owned());
    option("num_threads_per_block", &|o| o.threads.to_string());
    option("buffer_alignment", &|o| o.alignment.to_string());
    option("use_double_scratch_buffer", &|o| o.double_scratch.to_string());
    option("reuse_resources", &|o| o.reuse_resources.to_string());
    option("min_message_size", &|o| o.min_message_size.unwrap_or(0).to_string());
    option("max_message_size", &|o| o.max_message_size.unwrap_or(u64::MAX).to_string());
    differences
}

/// The differences of a rank.
fn of_rank(id: RankId, left: &Rank, right: &Rank) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut add = |what: String, a: Option<OriginId>, b: Option<OriginId>| {
        let message = format!("rank {}: {what}", id.0);
        differences.push(Difference { message, ranks: vec![id], left: a, right: b });
    };
    counts(left, right, &mut add);
    operations(left, right, &mut add);
    differences
}

/// Takes what differs, and where it is in each of the plans.
type Add<'a> = dyn FnMut(String, Option<OriginId>, Option<OriginId>) + 'a;

/// What a rank has another number of.
fn counts(left: &Rank, right: &Rank, add: &mut Add<'_>) {
    let count = |what: &str, a: usize, b: usize| {
        (a != b)
            .then(|| format!("the number of {what} is {a} in the first plan and {b} in the second"))
    };
    let chunks = [
        count("chunks of input", left.input_chunks as usize, right.input_chunks as usize),
        count("chunks of output", left.output_chunks as usize, right.output_chunks as usize),
        count("chunks of scratch", left.scratch_chunks as usize, right.scratch_chunks as usize),
        count("thread blocks", left.blocks.len(), right.blocks.len()),
        count("semaphores", left.semaphores.len(), right.semaphores.len()),
    ];
    chunks.into_iter().flatten().for_each(|what| add(what, place(left), place(right)));
    let (ours, theirs) = (channels(left), channels(right));
    for key in ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(*key))) {
        let of = |counts: &BTreeMap<String, usize>| counts.get(key).copied().unwrap_or(0);
        if let Some(what) = count(key, of(&ours), of(&theirs)) {
            add(what, place(left), place(right));
        }
    }
}

/// Where a rank begins.
fn place(rank: &Rank) -> Option<OriginId> {
    rank.blocks.iter().next().map(|block| block.origin)
}

/// Operations that only one of the plans has, or has elsewhere, and initial values of semaphores, which are matched by
/// the operations that use them.
fn operations(left: &Rank, right: &Rank, add: &mut Add<'_>) {
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    let ((a, ours), (b, theirs)) = (blocks(left), blocks(right));
    for (number, (one, other)) in ours.iter().zip(&theirs).enumerate() {
        if one.initial != other.initial {
            let (a, b) = (one.initial, other.initial);
            let what =
                format!("semaphore {number} starts at {a} in the first plan, at {b} in the second");
            add(what, place(left), place(right));
        }
    }
    for at in 0..a.len().max(b.len()) {
        let row = |side: &[Vec<Line>]| side.get(at).cloned().unwrap_or_default();
        let (only_left, only_right) = unmatched(row(&a), row(&b));
        gone.extend(only_left.into_iter().map(|line| (at, line)));
        new.extend(only_right.into_iter().map(|line| (at, line)));
    }
    let mut places: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
    for (at, (_, line)) in new.iter().enumerate() {
        places.entry(&line.text).or_default().push_back(at);
    }
    for (block, line) in gone {
        let text = &line.text;
        let moved = places.get_mut(text.as_str()).and_then(VecDeque::pop_front);
        match moved.and_then(|at| new.get(at)) {
            Some((other, there)) if *other == block => {
                let what = format!("block {block} does this in another order: `{text}`");
                add(what, Some(line.origin), Some(there.origin));
            }
            Some((other, there)) => {
                let what = format!(
                    "in block {block} of the first plan, in block {other} of the second: `{text}`"
                );
                add(what, Some(line.origin), Some(there.origin));
            }
            None => add(
                format!("block {block}, only in the first plan: `{text}`"),
                Some(line.origin),
                None,
            ),
        }
    }
    let mut only_new: Vec<usize> = places.into_values().flatten().collect();
    only_new.sort_unstable();
    for (block, line) in only_new.into_iter().filter_map(|at| new.get(at)) {
        let what = format!("block {block}, only in the second plan: `{}`", line.text);
        add(what, None, Some(line.origin));
    }
}

/// How many channels a rank has of each kind to each peer, or over each group.
fn channels(rank: &Rank) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for channel in &rank.channels {
        let key = match (&channel.link, channel.peer()) {
            (crate::ir::Link::Switch(group), _) => {
                let ranks: Vec<u32> = group.ranks.iter().map(|rank| rank.0).collect();
                format!("switch channels over {:?} of ranks {ranks:?}", group.buffer)
            }
            (_, Some(peer)) if channel.kind() == ChannelKind::Port => {
                format!("port channels to rank {}", peer.0)
            }
            (_, peer) => format!("memory channels to rank {}", peer.map_or(0, |peer| peer.0)),
        };
        *counts.entry(key).or_insert(0) += 1;
    }
    counts
}

/// An operation as text, and its origin.
#[derive(Clone)]
struct Line {
    text: String,
    origin: OriginId,
}

/// The operations of each block, except those at which its threads meet, and the
/// semaphores that they use, by first use.
fn blocks(rank: &Rank) -> (Vec<Vec<Line>>, Vec<&Semaphore>) {
    let mut printer = OpPrinter { rank, channels: numbers(rank), semaphores: BTreeMap::new() };
    let lines = |block: &crate::ir::Block| {
        let mut lines = Vec::new();
        block.ops.iter().for_each(|op| printer.lines(op, "", &mut lines));
        lines
    };
    let lines = rank.blocks.iter().map(lines).collect();
    let mut used: Vec<(usize, SemaphoreId)> =
        printer.semaphores.into_iter().map(|(id, number)| (number, id)).collect();
    used.sort_unstable();
    let semaphores = used.into_iter().filter_map(|(_, id)| rank.semaphores.lookup(id));
    (lines, semaphores.collect())
}

/// The position of each channel of a rank among those of its kind to its peer.
fn numbers(rank: &Rank) -> Vec<usize> {
    let mut counts: BTreeMap<(ChannelKind, Option<RankId>), usize> = BTreeMap::new();
    let number = |channel: &Channel| {
        let count = counts.entry((channel.kind(), channel.peer())).or_default();
        *count += 1;
        *count - 1
    };
    rank.channels.iter().map(number).collect()
}

/// What is left of two blocks after a longest common subsequence is removed.
fn unmatched(left: Vec<Line>, right: Vec<Line>) -> (Vec<Line>, Vec<Line>) {
    let same = |a: usize, b: usize| match (left.get(a), right.get(b)) {
        (Some(a), Some(b)) => a.text == b.text,
        (_, _) => false,
    };
    let head = (0..left.len().min(right.len())).take_while(|at| same(*at, *at)).count();
    let tail = (0..left.len().min(right.len()) - head)
        .take_while(|at| same(left.len() - 1 - at, right.len() - 1 - at))
        .count();
    let (rows, columns) = (left.len() - head - tail, right.len() - head - tail);
    let (mut kept_left, mut kept_right) = (vec![false; left.len()], vec![false; right.len()]);
    if rows.saturating_mul(columns) <= MOST_PAIRS {
        let width = columns + 1;
        let mut longest = vec![0_u32; (rows + 1) * width];
        let at = |longest: &[u32], row: usize, column: usize| {
            longest.get(row * width + column).copied().unwrap_or(0)
        };
        for row in (0..rows).rev() {
            for column in (0..columns).rev() {
                let length = if same(head + row, head + column) {
                    at(&longest, row + 1, column + 1) + 1
                } else {
                    at(&longest, row + 1, column).max(at(&longest, row, column + 1))
                };
                if let Some(slot) = longest.get_mut(row * width + column) {
                    *slot = length;
                }
            }
        }
        let (mut row, mut column) = (0, 0);
        while row < rows && column < columns {
            if same(head + row, head + column) {
                mark(&mut kept_left, head + row);
                mark(&mut kept_right, head + column);
                (row, column) = (row + 1, column + 1);
            } else if at(&longest, row + 1, column) >= at(&longest, row, column + 1) {
                row += 1;
            } else {
                column += 1;
            }
        }
    }
    let rest = |lines: Vec<Line>, kept: Vec<bool>| {
        let end = lines.len() - tail;
        let middle = lines.into_iter().zip(kept).enumerate();
        let left = middle.filter(|(at, (_, kept))| (head..end).contains(at) && !kept);
        left.map(|(_, (line, _))| line).collect()
    };
    (rest(left, kept_left), rest(right, kept_right))
}

fn mark(kept: &mut [bool], at: usize) {
    if let Some(slot) = kept.get_mut(at) {
        *slot = true;
    }
}

/// Prints operations of a rank without the numbers that only name things.
struct OpPrinter<'a> {
    rank: &'a Rank,
    /// The numbers of its channels.
    channels: Vec<usize>,
    /// Semaphores by first use.
    semaphores: BTreeMap<SemaphoreId, usize>,
}

impl OpPrinter<'_> {
    fn lines(&mut self, op: &Op, margin: &str, lines: &mut Vec<Line>) {
        let text = match &op.action {
            Action::Sync => return,
            Action::Barrier { id, arrivals } => self.barrier(*id, *arrivals),
            Action::Signal(signal) => {
                let relaxed = if signal.relaxed { " relaxed" } else { "" };
                format!("signal {}{relaxed}", self.channels(&signal.channels))
            }
            Action::Wait(signal) => {
                let relaxed = if signal.relaxed { " relaxed" } else { "" };
                format!("wait {}{relaxed}", self.channels(&signal.channels))
            }
            Action::Flush(list) => format!("flush {}", self.channels(list)),
            Action::Acquire(list) => format!("acquire {}", self.semaphores(list)),
            Action::Release(list) => format!("release {}", self.semaphores(list)),
            Action::Transfer(transfer) => self.transfer(transfer),
            Action::Pipeline(pipeline) => {
                let text =
                    format!("pipeline of {} bytes of {} chunks", pipeline.unit, pipeline.chunks);
                lines.push(Line { text, origin: op.origin });
                pipeline.body.iter().for_each(|inner| self.lines(inner, "in a pipeline: ", lines));
                return;
            }
        };
        lines.push(Line { text: format!("{margin}{text}"), origin: op.origin });
    }

    fn barrier(&self, id: BarrierId, arrivals: u32) -> String {
        let blocks = self.rank.barriers.lookup(id).into_iter().flatten();
        let blocks: Vec<String> = blocks.map(|block| block.0.to_string()).collect();
        format!("barrier of blocks {}, {arrivals} arrivals", blocks.join(", "))
    }

    fn semaphores(&mut self, list: &[SemaphoreId]) -> String {
        let mut text = Vec::new();
        for id in list {
            let next = self.semaphores.len();
            let number = *self.semaphores.entry(*id).or_insert(next);
            text.push(format!("semaphore {number}"));
        }
        text.join(", ")
    }

    /// Channels, sorted: where each leads, and its position among those that lead there.
    fn channels(&self, list: &[ChannelId]) -> String {
        let mut names: Vec<String> = list.iter().map(|id| self.channel(*id)).collect();
        names.sort();
        names.join(", ")
    }

    fn channel(&self, id: ChannelId) -> String {
        let Some(channel) = self.rank.channels.lookup(id) else { return String::new() };
        let number = self.channels.get(id.index()).copied().unwrap_or(0);
        let kind = match channel.kind() {
            ChannelKind::Memory => "memory",
            ChannelKind::Port => "port",
            ChannelKind::Switch => "switch",
        };
        match channel.peer() {
            Some(peer) => format!("{kind} to rank {} ({number})", peer.0),
            None => format!("{kind} ({number})"),
        }
    }

    fn transfer(&self, transfer: &Transfer) -> String {
        let list = |operands: &[Operand]| {
            operands.iter().map(|operand| self.operand(operand)).collect::<Vec<_>>().join(", ")
        };
        let mut text = format!(
            "{} {} -> {}",
            transfer.verb.word(),
            list(&transfer.sources),
            list(&transfer.destinations)
        );
        // A plan names the channel for a port, but only the buffer for memory. Writing to a string cannot fail.
        let _ = match transfer.via {
            Some(ChannelKind::Port) => write!(text, " via {}", self.channels(&transfer.channels)),
            Some(ChannelKind::Memory) => write!(text, " via memory"),
            Some(ChannelKind::Switch) | None => Ok(()),
        };
        let _ = match transfer.reduce {
            ReduceOp::Sum => Ok(()),
            ReduceOp::Min => write!(text, " by min"),
            ReduceOp::Max => write!(text, " by max"),
        };
        if let Some(slice) = transfer.slice {
            let _ = write!(text, " slice = {} of {}", slice.index, slice.count);
        }
        text
    }

    fn operand(&self, operand: &Operand) -> String {
        let owner = match operand.place {
            Where::Local => String::new(),
            Where::Remote(peer) => format!("({}).", peer.0),
            Where::Switch(channel) => format!("{}.", self.channel(channel)),
        };
        let buffer = operand.buffer.word();
        match operand.size {
            1 => format!("{owner}{buffer}[{}]", operand.index),
            size => format!("{owner}{buffer}[{}..+{size}]", operand.index),
        }
    }
}
