//! Threads of one block that use one counter without meeting in between (E0605).
//!
//! Entry k of a list of channels or semaphores belongs to thread k, and two threads of a block are unordered until they
//! meet: in `signal [a, b]; signal [b, a];` either signal over `a` may come first.

use crate::events::{Events, Give, ProxyRequest, Step, StepPlace, StepSink, Take};
use crate::ir::counter::CounterKind;
use crate::ir::{self, BlockId, ChannelId, ChannelKind, OriginId, RankId, SemaphoreId};
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
    let unordered = Vec::new();
    let (block, origin) = (BlockId::default(), OriginId::default());
    let (signalled, last) = (list_signalled(events, id), LastUses::new(rank));
    let mut search =
        UnorderedSearch { events, id, rank, shared, signalled, last, block, origin, unordered };
    for block in rank.blocks.ids() {
        search.block = block;
        search.last.meet();
        // The second turn of a pipeline shows what meets across its end.
        events.visit_turns(id, block, 2, &mut search);
    }
    search.unordered
}

/// The search for uses of one counter by two threads without a meeting in between.
struct UnorderedSearch<'a, 'p> {
    events: &'a Events<'p>,
    id: RankId,
    rank: &'p ir::Rank,
    /// Whether counters that may be shared are sought, or the others.
    shared: bool,
    signalled: Vec<bool>,
    last: LastUses,
    block: BlockId,
    /// Of the current step.
    origin: OriginId,
    unordered: Vec<Unordered>,
}

impl UnorderedSearch<'_, '_> {
    fn use_counter(&mut self, thread: u32, which: Which) {
        let second = self.origin;
        let before = self.last.put(which, (thread, second));
        let Some((_, first)) = before.filter(|(other, _)| *other != thread) else { return };
        let Some((name, does)) = named(self.rank, which, self.shared) else { return };
        self.unordered.push(Unordered { name, does, block: self.block, first, second });
    }
}

impl StepSink for UnorderedSearch<'_, '_> {
    const ASKS_FOR_MEMORY: bool = false;

    fn open_step(&mut self, place: &StepPlace) {
        self.origin = place.origin;
        if place.joined || place.is_join {
            self.last.meet();
        }
    }

    fn take(&mut self, take: Take) {
        self.use_counter(take.thread, find_taken(self.events, self.id, &take));
    }

    fn give(&mut self, give: Give) {
        if let Some(channel) = give.channel {
            self.use_counter(give.thread, Which::Signals(channel));
        }
    }

    fn request(&mut self, request: ProxyRequest) {
        if is_counted(&self.signalled, &request) {
            self.use_counter(request.thread, Which::Signals(request.channel));
        }
    }
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
        visit(take.thread, find_taken(events, rank, take));
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
    for request in step.requests.iter().filter(|request| is_counted(signalled, request)) {
        visit(request.thread, Which::Signals(request.channel));
    }
}

fn find_taken(events: &Events, rank: RankId, take: &Take) -> Which {
    match events.kind_on(rank, take.counter) {
        CounterKind::Channel(channel) => Which::Waits(channel),
        CounterKind::Semaphore(semaphore) => Which::Acquires(semaphore),
    }
}

/// Whether a request is in a queue with signals: one of them, or a put over a channel that has some.
fn is_counted(signalled: &[bool], request: &ProxyRequest) -> bool {
    let is_flush = request.put.is_none() && request.signal.is_none();
    !is_flush && signalled.get(request.channel.index()) == Some(&true)
}

/// For each channel of a rank, whether anything signals over it.
pub(super) fn list_signalled(events: &Events, id: RankId) -> Vec<bool> {
    let Some(rank) = events.program().ranks.lookup(id) else { return Vec::new() };
    let mut signalled = Signalled(vec![false; rank.channels.len()]);
    // It matters for puts over ports only.
    if !rank.channels.iter().any(|channel| channel.kind() == ChannelKind::Port) {
        return signalled.0;
    }
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
    const ASKS_FOR_MEMORY: bool = false;

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
