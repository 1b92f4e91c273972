//! A program as columns of events.

use super::label;
use crate::events::{Events, ProxyRequest, StepBuffer};
use crate::ir::{BlockId, ChannelId, Op, Program, RankId};

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

/// An operation of a block, with what it does: in place of a pipeline those of its body, with the bytes of its window.
pub(super) struct OutlineRow<'p> {
    pub(super) step: Step,
    /// In a pipeline: the bytes of a window.
    pub(super) unit: Option<u64>,
    pub(super) op: &'p Op,
    /// The steps that it consists of.
    pub(super) parts: Vec<StepBuffer>,
}

impl OutlineRow<'_> {
    /// What it asks of the proxy of a port channel.
    pub(super) fn requests_to(&self, channel: ChannelId) -> impl Iterator<Item = &ProxyRequest> {
        let requests = self.parts.iter().filter_map(StepBuffer::step).flat_map(|one| one.requests);
        requests.filter(move |request| request.channel == channel)
    }
}

/// What a block does.
pub(super) fn outline_block<'p>(
    events: &Events<'p>,
    rank: RankId,
    block: BlockId,
) -> Vec<OutlineRow<'p>> {
    let steps = events.block_steps(rank, block);
    let ops = events.program().ranks.lookup(rank).and_then(|row| row.blocks.lookup(block));
    let unit_of = |operation: usize| ops?.ops.get(operation)?.pipeline().map(|one| one.unit);
    let mut rows: Vec<OutlineRow> = Vec::new();
    for at in 0..steps.len() {
        let mut buffer = StepBuffer::default();
        let Some(site) = events.lower_step(&steps, at, &mut buffer).map(|step| step.site) else {
            continue;
        };
        let Some(op) = events.operation(&steps, at) else { continue };
        if site.part > 0
            && let Some(last) = rows.last_mut()
        {
            last.parts.push(buffer);
            continue;
        }
        let operation = site.operation as usize;
        let inner = site.inner.map(|inner| inner.operation as usize);
        let unit = unit_of(operation);
        rows.push(OutlineRow {
            step: Step { block, operation, inner },
            unit,
            op,
            parts: vec![buffer],
        });
    }
    rows
}

/// The columns and events of a program, without arrows.
pub(super) fn scene(events: &Events) -> Scene {
    let program = events.program();
    let mut scene = Scene::default();
    for (id, rank) in program.ranks.entries() {
        let mut all = Vec::new();
        for (block, content) in rank.blocks.entries() {
            let column = scene.columns.len();
            let name = content.name.to_string();
            scene.columns.push(Column {
                rank: id,
                who: Who::Block(block),
                name,
                events: Vec::new(),
            });
            for row in outline_block(events, id, block) {
                scene.push(column, label::operation(program, id, row.op), (row.step, row.unit));
                all.push(row);
            }
        }
        add_proxies(program, id, &all, &mut scene);
    }
    scene
}

/// The columns of a rank's port channels, with the requests to each.
fn add_proxies(program: &Program, id: RankId, rows: &[OutlineRow], scene: &mut Scene) {
    let Some(rank) = program.ranks.lookup(id) else { return };
    for (channel, end) in rank.channels.entries() {
        let column = scene.columns.len();
        let name = format!("proxy of {}", end.name);
        scene.columns.push(Column { rank: id, who: Who::Proxy(channel), name, events: Vec::new() });
        for row in rows {
            let requests = row.requests_to(channel);
            let signals: Vec<bool> = requests.map(|request| request.signal.is_some()).collect();
            if !signals.is_empty() {
                let signals = signals.iter().filter(|signals| **signals).count();
                let lines = label::request(program, id, row.op, channel, signals);
                scene.push(column, lines, (row.step, row.unit));
            }
        }
        if scene.columns.last().is_some_and(|column| column.events.is_empty()) {
            scene.columns.pop();
        }
    }
}
