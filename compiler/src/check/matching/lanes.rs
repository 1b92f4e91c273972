//! Threads of one block that use one counter without meeting in between (E0605).
//!
//! Entry k of a list of channels or semaphores belongs to thread k, and two threads of a block are unordered until they
//! meet: in `signal [a, b]; signal [b, a];` either signal over `a` may come first.

use crate::check::race::step::Steps;
use crate::ir::memory::reads_packets;
use crate::ir::{self, Action, BlockId, ChannelId, ChannelKind, OriginId, SemaphoreId, run};
use crate::table::Id;
use std::sync::Arc;

/// Two uses of a counter by two threads, in order.
pub(in crate::check) struct Unordered {
    /// The counter's name.
    pub(in crate::check) name: Arc<str>,
    /// What the threads do with it, as a verb.
    pub(in crate::check) does: &'static str,
    /// The block of the threads.
    pub(in crate::check) block: BlockId,
    /// Where the first one uses it.
    pub(in crate::check) first: OriginId,
    /// Where the second one uses it.
    pub(in crate::check) second: OriginId,
}

/// A counter and how it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Which {
    Signals(ChannelId),
    Waits(ChannelId),
    Acquires(SemaphoreId),
    Releases(SemaphoreId),
}

/// All such uses on a rank, except of counters that may be shared.
pub(super) fn unordered(
    program: &ir::Program,
    windows: &run::Windows,
    rank: &ir::Rank,
) -> Vec<Unordered> {
    all_unordered(program, windows, rank, false)
}

/// Where threads of a block take from counters that may be shared.
pub(super) fn shared(
    program: &ir::Program,
    windows: &run::Windows,
    rank: &ir::Rank,
) -> Vec<Unordered> {
    let mut found = all_unordered(program, windows, rank, true);
    found.retain(|one| one.does != USES);
    found
}

/// The uses of counters that are shared, or of those that are not.
fn all_unordered(
    program: &ir::Program,
    windows: &run::Windows,
    rank: &ir::Rank,
    shared: bool,
) -> Vec<Unordered> {
    let signalled = signalled(rank);
    let mut last = LastUses::new(rank);
    let mut found = Vec::new();
    for (block, row) in rank.blocks.entries() {
        last.meet();
        for step in Steps::new(program, windows, &row.ops, 1).iter(program) {
            if step.joined || meets(step.op) {
                last.meet();
            }
            uses(&signalled, step.op, &mut |thread, which| {
                let second = step.op.origin;
                let before = last.put(which, (thread, second));
                let Some((_, first)) = before.filter(|(other, _)| *other != thread) else { return };
                let Some((name, does)) = named(rank, which, shared) else { return };
                found.push(Unordered { name, does, block, first, second });
            });
        }
    }
    found
}

/// The last use of every counter: by which thread and where, since the threads last met.
struct LastUses {
    signals: Vec<Use>,
    waits: Vec<Use>,
    acquires: Vec<Use>,
    /// How often the threads have met.
    met: u32,
}

/// A use of a counter, and how often the threads had met by then.
type Use = Option<(u32, (usize, OriginId))>;

impl LastUses {
    fn new(rank: &ir::Rank) -> LastUses {
        let channels = vec![None; rank.channels.len()];
        LastUses {
            signals: channels.clone(),
            waits: channels,
            acquires: vec![None; rank.semaphores.len()],
            met: 0,
        }
    }

    fn meet(&mut self) {
        self.met += 1;
    }

    /// Replaces the last use of a counter, and returns the previous one if the threads have not met since.
    fn put(&mut self, which: Which, by: (usize, OriginId)) -> Option<(usize, OriginId)> {
        let row = match which {
            Which::Signals(id) => self.signals.get_mut(id.index()),
            Which::Waits(id) => self.waits.get_mut(id.index()),
            Which::Acquires(id) => self.acquires.get_mut(id.index()),
            Which::Releases(_) => None,
        };
        let before = row?.replace((self.met, by));
        before.filter(|(met, _)| *met == self.met).map(|(_, by)| by)
    }
}

/// Whether an operation is a meeting of the threads, or has one before its threads use a counter.
pub(super) fn meets(op: &ir::Op) -> bool {
    match &op.action {
        Action::Sync | Action::Barrier { .. } => true,
        Action::Transfer(transfer) => {
            reads_packets(transfer.verb, 0) && transfer.via == Some(ChannelKind::Port)
        }
        Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => false,
    }
}

/// Each counter that an operation uses, and by which thread. A put over a port channel shares a queue with its signals.
pub(super) fn uses(signalled: &[bool], op: &ir::Op, visit: &mut dyn FnMut(usize, Which)) {
    let threads = 0..;
    match &op.action {
        Action::Signal(signal) => {
            threads.zip(&signal.channels).for_each(|(at, id)| visit(at, Which::Signals(*id)));
        }
        Action::Wait(signal) => {
            threads.zip(&signal.channels).for_each(|(at, id)| visit(at, Which::Waits(*id)));
        }
        Action::Acquire(list) => {
            threads.zip(list).for_each(|(at, id)| visit(at, Which::Acquires(*id)));
        }
        Action::Transfer(transfer) if transfer.via == Some(ChannelKind::Port) => {
            let counted = |id: &ChannelId| signalled.get(id.index()) == Some(&true);
            let all = threads.zip(&transfer.channels).filter(|(_, id)| counted(id));
            all.for_each(|(at, id)| visit(at, Which::Signals(*id)));
        }
        Action::Transfer(_)
        | Action::Sync
        | Action::Barrier { .. }
        | Action::Flush(_)
        | Action::Release(_)
        | Action::Pipeline(_) => {}
    }
}

/// For each channel, whether anything signals over it.
pub(super) fn signalled(rank: &ir::Rank) -> Vec<bool> {
    let mut found = vec![false; rank.channels.len()];
    let mut mark = |channels: &[ChannelId]| {
        for id in channels {
            if let Some(one) = found.get_mut(id.index()) {
                *one = true;
            }
        }
    };
    for op in rank.all_ops() {
        match &op.action {
            Action::Signal(signal) => mark(&signal.channels),
            Action::Transfer(transfer) if transfer.verb.signals() => mark(&transfer.channels),
            Action::Sync
            | Action::Barrier { .. }
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => {}
        }
    }
    found
}

/// The verb for signals and puts, which do not wait.
const USES: &str = "use";

/// The name of a counter, and the verb for its use; none if it may be shared and `shared` is not set, or the other way
/// round.
fn named(rank: &ir::Rank, which: Which, shared: bool) -> Option<(Arc<str>, &'static str)> {
    let channel = |id| rank.channels.lookup(id).filter(|channel| channel.shared == shared);
    match which {
        Which::Signals(id) => Some((Arc::clone(&channel(id)?.name), USES)),
        Which::Waits(id) => Some((Arc::clone(&channel(id)?.name), "wait on")),
        Which::Acquires(id) => {
            let semaphore = rank.semaphores.lookup(id).filter(|one| one.shared == shared)?;
            Some((Arc::clone(&semaphore.name), "acquire"))
        }
        // Any number of threads may release.
        Which::Releases(_) => None,
    }
}
