//! Which statements of a program synchronize with each other: a signal and the wait for it, the releases and acquires of
//! a semaphore, a barrier, a call of a procedure that both signals and waits.
//!
//! Removing some of them and not the others would leave a counter unbalanced.

use crate::ir::counter::{self, CounterKind, Owned};
use crate::ir::{self, Action, BlockId, ChannelId, ChannelKind, Op, Program, Rank, RankId};
use crate::source::{Place, Span};
use crate::table::Sets;
use std::collections::BTreeMap;

/// Statements that synchronize with each other, by place.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// The verb of the first one, or the procedure that it calls.
    pub(super) verb: String,
    /// Where they are.
    pub(super) places: Vec<Place>,
    /// Whether `relaxed` would mean something: they use no port channel.
    pub(super) may_relax: bool,
}

/// A statement of the author's.
#[derive(Clone, Debug)]
struct Statement {
    verb: String,
    /// Whether it moves no data.
    only_synchronizes: bool,
    /// Whether it uses a port channel.
    uses_ports: bool,
}

/// Collects statements from programs.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    statements: BTreeMap<Span, Statement>,
    /// Pairs of statements that belong together.
    pairs: Vec<(Span, Span)>,
}

/// The statements of each block that give to a counter, in order, or that take from it.
#[derive(Debug, Default)]
struct Users {
    gives: BTreeMap<(RankId, BlockId), Vec<Span>>,
    takes: BTreeMap<(RankId, BlockId), Vec<Span>>,
}

impl Exchanges {
    /// Adds the statements of a program.
    pub(super) fn add(&mut self, program: &Program) {
        let mut users: BTreeMap<Owned, Users> = BTreeMap::new();
        for (rank, row) in program.ranks.entries() {
            for (block, ops) in row.blocks.entries() {
                for op in ir::all_ops(&ops.ops) {
                    let Some(span) = self.statement(program, row, op) else { continue };
                    for owned in counter::given(program, rank, op) {
                        let gives = &mut users.entry(owned).or_default().gives;
                        gives.entry((rank, block)).or_default().push(span);
                    }
                    for counter in counter::takes(&op.action) {
                        let takes = &mut users.entry((rank, counter)).or_default().takes;
                        takes.entry((rank, block)).or_default().push(span);
                    }
                }
            }
        }
        for (owned, users) in &users {
            self.pairs.extend(users.pairs(initial(program, *owned) == 0));
        }
        self.pairs.sort_unstable();
        self.pairs.dedup();
    }

    /// The author's statement that an operation comes from.
    fn statement(&mut self, program: &Program, rank: &Rank, op: &Op) -> Option<Span> {
        let at = program.origins.at(op.origin);
        let call = program.origins.into_library(at.place, &at.calls);
        let (span, verb) = match call.and_then(|call| at.calls.get(call)) {
            Some(call) => (call.span, Some(call.name.as_ref())),
            None => match at.place {
                Place::Source(span) => (span, verb(&op.action)),
                Place::Plan(_) => return None,
            },
        };
        let statement = self.statements.entry(span).or_insert_with(|| Statement {
            verb: verb.unwrap_or_default().to_owned(),
            only_synchronizes: true,
            uses_ports: false,
        });
        statement.only_synchronizes &= self::verb(&op.action).is_some();
        statement.uses_ports |= uses_ports(rank, &op.action);
        Some(span)
    }

    /// Those that move no data, by the place of their first statement.
    pub(super) fn finish(self) -> Vec<Exchange> {
        let spans: Vec<Span> = self.statements.keys().copied().collect();
        let mut sets = Sets::new(spans.len());
        for (one, other) in &self.pairs {
            if let (Ok(one), Ok(other)) = (spans.binary_search(one), spans.binary_search(other)) {
                sets.unite(one, other);
            }
        }
        let mut exchanges: BTreeMap<usize, (Exchange, bool)> = BTreeMap::new();
        for (at, (span, statement)) in self.statements.into_iter().enumerate() {
            let Statement { verb, only_synchronizes, uses_ports } = statement;
            let none = Exchange { verb, places: Vec::new(), may_relax: true };
            let (exchange, only) = exchanges.entry(sets.find(at)).or_insert((none, true));
            exchange.places.push(Place::Source(span));
            exchange.may_relax &= !uses_ports;
            *only &= only_synchronizes;
        }
        let of_use = exchanges.into_values().filter(|(_, only_synchronizes)| *only_synchronizes);
        of_use.map(|(exchange, _)| exchange).collect()
    }
}

impl Users {
    /// The statements that belong together. If `in_order`, and one block gives and one takes, the first that is given is the
    /// first that is taken; otherwise all of them belong together.
    fn pairs(&self, in_order: bool) -> Vec<(Span, Span)> {
        let all = |side: &BTreeMap<_, Vec<Span>>| side.values().flatten().copied().collect();
        let (gives, takes): (Vec<Span>, Vec<Span>) = (all(&self.gives), all(&self.takes));
        let is_simple = self.gives.len() == 1 && self.takes.len() == 1;
        if in_order && is_simple && gives.len() == takes.len() {
            return gives.into_iter().zip(takes).collect();
        }
        let mut every = gives.into_iter().chain(takes);
        let Some(first) = every.next() else { return Vec::new() };
        every.map(|other| (first, other)).collect()
    }
}

/// What a counter starts with.
fn initial(program: &Program, (rank, counter): Owned) -> i64 {
    let CounterKind::Semaphore(id) = counter else { return 0 };
    let semaphore = program.ranks.lookup(rank).and_then(|rank| rank.semaphores.lookup(id));
    semaphore.map_or(0, |semaphore| semaphore.initial)
}

fn uses_ports(rank: &Rank, action: &Action) -> bool {
    let (Action::Signal(signal) | Action::Wait(signal)) = action else { return false };
    let is_port = |id: &ChannelId| rank.channels[*id].kind() == ChannelKind::Port;
    signal.channels.iter().any(is_port)
}

/// The verb of an operation that only synchronizes.
fn verb(action: &Action) -> Option<&'static str> {
    match action {
        Action::Sync => Some("sync"),
        Action::Barrier { .. } => Some("barrier"),
        Action::Signal(_) => Some("signal"),
        Action::Wait(_) => Some("wait"),
        Action::Flush(_) => Some("flush"),
        Action::Acquire(_) => Some("acquire"),
        Action::Release(_) => Some("release"),
        Action::Transfer(_) | Action::Pipeline(_) => None,
    }
}
