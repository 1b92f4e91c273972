//! Threads of one block that use one counter without meeting in between (E0605).
//!
//! Entry k of a list of channels or semaphores belongs to thread k, and two threads of a block are unordered until they
//! meet: in `signal [a, b]; signal [b, a];` either signal over `a` may come first.

use crate::events::{Events, Give, ProxyRequest, Step, StepBuffer, StepSink};
use crate::ir::counter::CounterKind;
use crate::ir::{self, BlockId, ChannelId, OriginId, RankId, SemaphoreId};
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
pub(super) fn unordered(events: &Events, rank: RankId) -> Vec<Unordered> {
    all_unordered(events, rank, false)
}

/// Where threads of a block take from counters that may be shared.
pub(super) fn shared(events: &Events, rank: RankId) -> Vec<Unordered> {
    let mut found = all_unordered(events, rank, true);
    found.retain(|one| one.does != USES);
    found
}

/// The uses of counters that are shared, or of those that are not.
fn all_unordered(events: &Events, id: RankId, shared: bool) -> Vec<Unordered> {
    let Some(rank) = events.program().ranks.lookup(id) else { return Vec::new() };
    let signalled = list_signalled(events, id);
    let mut last = LastUses::new(rank);
    let mut found = Vec::new();
    let mut buffer = StepBuffer::default();
    for block in rank.blocks.ids() {
        last.meet();
        let steps = events.block_steps(id, block);
        for at in 0..steps.len() {
            let Some(step) = events.lower_step(&steps, at, &mut buffer) else { continue };
            if step.joined || step.is_join {
                last.meet();
            }
            visit_uses(events, id, &signalled, &step, &mut |thread, which| {
                let second = step.origin;
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
type Use = Option<(u32, (u32, OriginId))>;

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
    fn put(&mut self, which: Which, by: (u32, OriginId)) -> Option<(u32, OriginId)> {
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

/// Visits each counter that a step uses, and by which thread. A put over a port channel shares a queue with its signals.
pub(super) fn visit_uses(
    events: &Events,
    rank: RankId,
    signalled: &[bool],
    step: &Step,
    visit: &mut dyn FnMut(u32, Which),
) {
    for take in step.takes {
        let which = match events.kind_on(rank, take.counter) {
            CounterKind::Channel(channel) => Which::Waits(channel),
            CounterKind::Semaphore(semaphore) => Which::Acquires(semaphore),
        };
        visit(take.thread, which);
    }
    for give in step.gives {
        if let Some(channel) = give.channel {
            visit(give.thread, Which::Signals(channel));
        } else if let Some(counter) = give.counter
            && let CounterKind::Semaphore(semaphore) = events.kind_on(rank, counter)
        {
            visit(give.thread, Which::Releases(semaphore));
        }
    }
    for request in step.requests {
        let is_counted = request.put.is_some() || request.signal.is_some();
        if is_counted && signalled.get(request.channel.index()) == Some(&true) {
            visit(request.thread, Which::Signals(request.channel));
        }
    }
}

/// For each channel of a rank, whether anything signals over it.
pub(super) fn list_signalled(events: &Events, id: RankId) -> Vec<bool> {
    let Some(rank) = events.program().ranks.lookup(id) else { return Vec::new() };
    let mut signalled = Signalled(vec![false; rank.channels.len()]);
    for block in rank.blocks.ids() {
        events.visit_block(id, block, &mut signalled);
    }
    signalled.0
}

/// For each channel, whether anything signals over it.
struct Signalled(Vec<bool>);

impl Signalled {
    fn mark(&mut self, channel: ChannelId) {
        if let Some(one) = self.0.get_mut(channel.index()) {
            *one = true;
        }
    }
}

impl StepSink for Signalled {
    fn give(&mut self, give: Give) {
        give.channel.into_iter().for_each(|channel| self.mark(channel));
    }

    fn request(&mut self, request: ProxyRequest) {
        if request.signal.is_some() {
            self.mark(request.channel);
        }
    }
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
