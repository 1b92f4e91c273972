//! A program as columns of events.

use super::label;
use crate::ir::counter::{self, Counter};
use crate::ir::{Action, BlockId, ChannelId, ChannelKind, Op, Program, Rank, RankId};

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
    /// The operation for which it is done.
    pub(super) step: Step,
    /// In a pipeline: the bytes of a window.
    pub(super) unit: Option<u64>,
}

/// An operation of a block, counted from 0; in a pipeline, also that of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) block: BlockId,
    pub(super) operation: usize,
    pub(super) inner: Option<usize>,
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
    pub(super) fn find(&self, rank: RankId, who: Who, step: Step) -> Option<usize> {
        let column = self.columns.iter().find(|column| column.rank == rank && column.who == who)?;
        let is = |event: &usize| self.events.get(*event).is_some_and(|event| event.step == step);
        column.events.iter().copied().find(is)
    }

    /// Adds an arrow.
    pub(super) fn arrow(&mut self, from: usize, to: usize, order: Order) {
        self.arrows.push(Arrow { from, to, order });
    }

    fn push(&mut self, column: usize, lines: Vec<String>, (step, unit): (Step, Option<u64>)) {
        if let Some(column) = self.columns.get_mut(column) {
            column.events.push(self.events.len());
        }
        self.events.push(Event { column, lines, step, unit });
    }
}

/// The operations of a block: in place of a pipeline those of its body, with the bytes of its window.
pub(super) fn steps(block: BlockId, ops: &[Op]) -> Vec<(Step, Option<u64>, &Op)> {
    let mut steps = Vec::new();
    for (operation, op) in ops.iter().enumerate() {
        if let Action::Pipeline(pipeline) = &op.action {
            let step = |inner| Step { block, operation, inner: Some(inner) };
            let body = pipeline.body.iter().enumerate();
            steps.extend(body.map(|(inner, op)| (step(inner), Some(pipeline.unit), op)));
        } else {
            steps.push((Step { block, operation, inner: None }, None, op));
        }
    }
    steps
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
            for (step, unit, op) in steps(block, &content.ops) {
                scene.push(column, label::operation(program, id, op), (step, unit));
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
            for (step, unit, op) in steps(block, &content.ops) {
                if asks(program, rank, op, channel) {
                    let lines = label::request(program, id, op, channel);
                    scene.push(column, lines, (step, unit));
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
    is_port && requests(&op.action).contains(&channel)
}

/// How often the proxy of a port channel signals after it has done what an operation requests.
pub(super) fn signals(op: &Op, channel: ChannelId) -> usize {
    counter::gives(&op.action).filter(|given| *given == Counter::Channel(channel)).count()
}
