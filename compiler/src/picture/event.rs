//! A program as columns of events.

use super::label;
use crate::ir::counter::{self, Counter};
use crate::ir::{BlockId, ChannelId, ChannelKind, Op, Program, Rank, RankId, all_ops};

/// The agent of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// A thread block.
    Block(BlockId),
    /// The proxy of a port channel.
    Proxy(ChannelId),
}

/// An agent that does one thing after the other.
pub(super) struct Column {
    pub(super) rank: RankId,
    pub(super) who: Who,
    pub(super) name: String,
    /// Its events, in order, as rows of [`Scene::events`].
    pub(super) events: Vec<usize>,
}

/// Something that an agent does.
pub(super) struct Event {
    pub(super) column: usize,
    /// The text in its box.
    pub(super) lines: Vec<String>,
    /// The block and the operation for which it is done.
    pub(super) block: BlockId,
    pub(super) operation: usize,
}

/// How one event comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// What is done before the first is visible to what follows the second.
    Memory,
    /// The first is executed before the second.
    Execution,
    /// A packet goes from the first to the second.
    Packet,
    /// They meet.
    Meeting,
}

/// An arrow.
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) order: Order,
}

/// Everything that is drawn.
#[derive(Default)]
pub(super) struct Scene {
    pub(super) columns: Vec<Column>,
    pub(super) events: Vec<Event>,
    pub(super) arrows: Vec<Arrow>,
}

impl Scene {
    /// The event of a column that is an operation of a block, or is done for it.
    pub(super) fn find(
        &self,
        rank: RankId,
        who: Who,
        block: BlockId,
        operation: usize,
    ) -> Option<usize> {
        let column = self.columns.iter().find(|column| column.rank == rank && column.who == who)?;
        column.events.iter().copied().find(|event| {
            let event = self.events.get(*event);
            event.is_some_and(|event| event.block == block && event.operation == operation)
        })
    }

    /// Adds an arrow.
    pub(super) fn arrow(&mut self, from: usize, to: usize, order: Order) {
        self.arrows.push(Arrow { from, to, order });
    }

    fn push(&mut self, column: usize, event: (Vec<String>, BlockId, usize)) {
        let (lines, block, operation) = event;
        if let Some(column) = self.columns.get_mut(column) {
            column.events.push(self.events.len());
        }
        self.events.push(Event { column, lines, block, operation });
    }
}

/// The columns and events of a program, without arrows.
pub(super) fn scene(program: &Program) -> Scene {
    let mut scene = Scene::default();
    for (id, rank) in program.ranks.entries() {
        for (block, content) in rank.blocks.entries() {
            let column = scene.columns.len();
            let name = content.name.to_string();
            scene.columns.push(Column {
                rank: id,
                who: Who::Block(block),
                name,
                events: Vec::new(),
            });
            for (number, op) in content.ops.iter().enumerate() {
                let lines = label::operation(program, id, op);
                scene.push(column, (lines, block, number));
            }
        }
        proxies(program, id, rank, &mut scene);
    }
    scene
}

/// The columns of a rank's port channels, with the requests to each.
fn proxies(program: &Program, id: RankId, rank: &Rank, scene: &mut Scene) {
    for (channel, end) in rank.channels.entries() {
        if end.kind() != ChannelKind::Port {
            continue;
        }
        let column = scene.columns.len();
        let name = format!("proxy of {}", end.name);
        scene.columns.push(Column { rank: id, who: Who::Proxy(channel), name, events: Vec::new() });
        for (block, content) in rank.blocks.entries() {
            for (number, op) in content.ops.iter().enumerate() {
                if asks(program, rank, op, channel) {
                    scene.push(column, (label::request(program, id, op), block, number));
                }
            }
        }
        if scene.columns.last().is_some_and(|column| column.events.is_empty()) {
            scene.columns.pop();
        }
    }
}

/// Whether an operation makes a request to the proxy of a port channel.
pub(super) fn asks(program: &Program, rank: &Rank, op: &Op, channel: ChannelId) -> bool {
    let is_port = rank.channels.lookup(channel).is_some_and(|end| end.kind() == ChannelKind::Port);
    let requests = if program.flush_waits { counter::asks } else { counter::sends };
    is_port && all_ops(std::slice::from_ref(op)).any(|op| requests(&op.action).contains(&channel))
}

/// Whether the proxy of a port channel signals after it has done what an operation requests.
pub(super) fn is_followed_by_a_signal(op: &Op) -> bool {
    all_ops(std::slice::from_ref(op))
        .any(|op| counter::gives(&op.action).any(|given| matches!(given, Counter::Channel(_))))
}
