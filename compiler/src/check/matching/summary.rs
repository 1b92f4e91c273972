//! Whether every counter is used as it should be: a quick look, without saying what is wrong.
//!
//! Most programs have no such mistake, and there are as many counters as operations; so only what decides this is kept
//! for each counter.

use crate::events::{Events, Give, ProxyRequest, StepSink, Take};
use crate::ir::counter::CounterKind;
use crate::ir::{BlockId, ChannelId, Rank, RankId};
use crate::table::{Id, Table};

/// Which blocks do something: none, one, or several.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Who(u32);

const NOBODY: Who = Who(u32::MAX);
const SEVERAL: Who = Who(u32::MAX - 1);

impl Who {
    fn add(&mut self, block: BlockId) {
        *self = match *self {
            NOBODY => Who(block.0),
            Who(known) if known == block.0 => *self,
            Who(_) => SEVERAL,
        };
    }
}

/// How often something is done, and by which blocks.
#[derive(Clone, Copy)]
struct Times {
    count: u32,
    who: Who,
}

const NEVER: Times = Times { count: 0, who: NOBODY };

impl Times {
    fn add(&mut self, block: BlockId) {
        self.count += 1;
        self.who.add(block);
    }
}

/// An end of a channel.
#[derive(Clone, Copy)]
struct End {
    signals: Times,
    waits: Times,
    pushers: Who,
}

/// A semaphore.
#[derive(Clone, Copy)]
struct Semaphore {
    acquires: Times,
    releases: u32,
}

struct Uses {
    ends: Vec<End>,
    semaphores: Vec<Semaphore>,
}

/// Whether every counter balances and has one user at each end, or may have several. False for programs that use
/// counters in pipelines: these need the full check.
pub(super) fn is_sound(events: &Events) -> bool {
    let program = events.program();
    let mut uses = Table::default();
    for (id, rank) in program.ranks.entries() {
        let Some(of_rank) = uses_of(events, id, rank) else { return false };
        uses.push(of_rank);
    }
    program.ranks.entries().all(|(id, rank)| {
        let Some(own) = uses.lookup(id) else { return false };
        let ends = rank.channels.iter().zip(&own.ends).all(|(channel, end)| {
            let there = channel.peer().zip(channel.partner);
            let there = there.and_then(|(peer, there)| uses.lookup(peer)?.ends.get(there.index()));
            let alone = channel.partner.is_some() || end.waits.count == 0;
            let waits = there.map_or(0, |there: &End| there.waits.count);
            alone && end.signals.count == waits && (channel.shared || !is_shared(end))
        });
        let mut semaphores = rank.semaphores.iter().zip(&own.semaphores);
        ends && semaphores.all(|(semaphore, uses)| {
            uses.acquires.count == uses.releases
                && (semaphore.shared || uses.acquires.who != SEVERAL)
        })
    })
}

fn is_shared(end: &End) -> bool {
    let pushed = end.signals.count > 0 && end.pushers == SEVERAL;
    pushed || end.signals.who == SEVERAL || end.waits.who == SEVERAL
}

/// How a rank uses its counters; none where it has pipelines.
fn uses_of(events: &Events, id: RankId, rank: &Rank) -> Option<Uses> {
    if rank.blocks.iter().flat_map(|block| &block.ops).any(|op| op.pipeline().is_some()) {
        return None;
    }
    let end = End { signals: NEVER, waits: NEVER, pushers: NOBODY };
    let semaphore = Semaphore { acquires: NEVER, releases: 0 };
    let uses = Uses {
        ends: vec![end; rank.channels.len()],
        semaphores: vec![semaphore; rank.semaphores.len()],
    };
    let mut quick = QuickCounts { events, rank: id, block: BlockId::default(), uses };
    for block in rank.blocks.ids() {
        quick.block = block;
        events.visit_block(id, block, &mut quick);
    }
    Some(quick.uses)
}

/// Counts the uses of a rank's counters.
struct QuickCounts<'a, 'p> {
    events: &'a Events<'p>,
    rank: RankId,
    block: BlockId,
    uses: Uses,
}

impl QuickCounts<'_, '_> {
    fn signal(&mut self, channel: ChannelId) {
        if let Some(end) = self.uses.ends.get_mut(channel.index()) {
            end.signals.add(self.block);
        }
    }
}

impl StepSink for QuickCounts<'_, '_> {
    const ASKS_FOR_MEMORY: bool = false;

    fn take(&mut self, take: Take) {
        let times = match self.events.kind_on(self.rank, take.counter) {
            CounterKind::Channel(channel) => {
                self.uses.ends.get_mut(channel.index()).map(|end| &mut end.waits)
            }
            CounterKind::Semaphore(id) => {
                self.uses.semaphores.get_mut(id.index()).map(|row| &mut row.acquires)
            }
        };
        times.into_iter().for_each(|times| times.add(self.block));
    }

    fn give(&mut self, give: Give) {
        if let Some(channel) = give.channel {
            self.signal(channel);
        } else if let Some(counter) = give.counter
            && let CounterKind::Semaphore(id) = self.events.kind_on(self.rank, counter)
            && let Some(row) = self.uses.semaphores.get_mut(id.index())
        {
            row.releases += 1;
        }
    }

    fn request(&mut self, request: ProxyRequest) {
        if request.put.is_some()
            && let Some(end) = self.uses.ends.get_mut(request.channel.index())
        {
            end.pushers.add(self.block);
        }
        if request.signal.is_some() {
            self.signal(request.channel);
        }
    }
}
