//! Which agent runs next.
//!
//! A seed determines the whole schedule, so the same seed always gives the same one. Consecutive seeds give four kinds
//! of schedules: agents take turns; any agent runs next, at random; agents run as far as they can, in a random order;
//! or the same with an order that is random for ranks first. Such an order changes now and then, so that one agent (or
//! rank) is ahead of or behind all others for as long as possible.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most pieces that a chunk is cut into.
const PIECES: u64 = 8;

/// The most bytes of a piece.
const LARGEST: u64 = 1 << 20;

/// In one of how many turns the order changes.
const CHANGES: u64 = 200;

/// Random numbers (SplitMix64), made here and not by a library, which may change them: `--seed` names a schedule for
/// good.
#[derive(Clone, Debug)]
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    pub(super) fn new(seed: u64) -> SplitMix64 {
        SplitMix64(mixed(seed ^ 0x5eed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

/// A number that looks random, and is always the same for one place.
pub(super) fn mixed(place: u64) -> u64 {
    let a = (place ^ place >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let b = (a ^ a >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    b ^ b >> 31
}

/// How blocks are run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Threads in a block.
    pub(super) threads: usize,
    /// How many pieces a chunk is cut into.
    pieces: u64,
    /// Whether stores may come late.
    pub(super) late: bool,
}

impl Shape {
    pub(super) fn drawn(random: &mut SplitMix64) -> Shape {
        Shape {
            pieces: 1 << random.below(u64::from(PIECES.ilog2()) + 1),
            threads: 1 + random.below(4) as usize,
            late: random.below(2) == 1,
        }
    }

    /// Bytes that a thread moves at a time.
    pub(super) fn piece(&self, chunk_bytes: u64) -> u64 {
        chunk_bytes.div_ceil(self.pieces).next_multiple_of(16).min(LARGEST)
    }
}

/// The agents that can go on.
pub(super) struct Ready {
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    order: Order,
    random: SplitMix64,
}

enum Order {
    Turn(u64),
    Random,
    /// By priority, the lowest number first.
    Drawn(Vec<u64>),
}

impl Ready {
    /// Nobody can continue yet; `groups` has the rank of every agent.
    pub(super) fn new(seed: u64, groups: &[u32]) -> Ready {
        let mut random = SplitMix64::new(seed.rotate_left(32));
        let order = match seed % 4 {
            0 => Order::Turn(0),
            1 => Order::Random,
            2 => Order::Drawn(groups.iter().map(|_| random.next()).collect()),
            _ => {
                let first = random.next();
                let of = |group: u32| mixed(first ^ u64::from(group)) & !0xffff_ffff;
                Order::Drawn(groups.iter().map(|group| of(*group) | random.next() >> 32).collect())
            }
        };
        Ready { heap: BinaryHeap::new(), order, random }
    }

    /// Adds an agent that can continue.
    pub(super) fn add(&mut self, agent: usize) {
        let number = match &mut self.order {
            Order::Turn(turn) => {
                *turn += 1;
                *turn
            }
            Order::Random => self.random.next(),
            Order::Drawn(numbers) => {
                if self.random.below(CHANGES) == 0
                    && let Some(number) = numbers.get_mut(agent)
                {
                    *number = self.random.next();
                }
                numbers.get(agent).copied().unwrap_or_default()
            }
        };
        self.heap.push(Reverse((number, agent)));
    }

    /// The agent that runs next.
    pub(super) fn next(&mut self) -> Option<usize> {
        self.heap.pop().map(|Reverse((_, agent))| agent)
    }
}
