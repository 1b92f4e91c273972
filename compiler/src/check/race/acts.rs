//! Accesses, and what is kept of them: a [`Footprint`] for each, and one row for all that an agent does in a step.

use super::access::{Access, Element};
use super::agents::{Agent, Agents};
use super::history::FlowId;
use super::pages::Pages;
use super::turn::{By, Turn};
use crate::ir::threads::Share;
use crate::ir::{Buffer, Op, RankId};

/// One access to one cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch<'p> {
    /// Who.
    pub(super) agent: Agent,
    /// Whose block, or on whose behalf.
    pub(super) rank: RankId,
    /// In which step.
    pub(super) step: u32,
    /// Which element of it.
    pub(super) element: u32,
    /// How far that is from where its operands begin.
    pub(super) lane: u32,
    /// How its elements fall to threads.
    pub(super) share: Share,
    /// What its element makes of what it reads.
    pub(super) flow: (FlowId, By),
    /// The buffer as the author names it.
    pub(super) buffer: Buffer,
    /// Whether it writes.
    pub(super) write: bool,
    /// Whether as a packet.
    pub(super) packet: bool,
    /// The operation.
    pub(super) op: &'p Op,
}

/// What is kept of an access as long as another one may meet it: all else is in the row of its act.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    act: ActId,
    /// What its element makes of what it reads.
    flow: FlowId,
    /// The turn that leads from who is followed to who does it.
    by: By,
    buffer: Buffer,
    share: Share,
    write: bool,
    packet: bool,
}

/// A row of [`Acts`].
type ActId = u32;

/// What an agent does in a step, as far as its elements follow each other.
#[derive(Clone, Copy, Debug)]
struct Act<'p> {
    agent: Agent,
    step: u32,
    op: &'p Op,
    /// How much the flow of each of its elements is more than its number, and than its lane.
    to_element: u32,
    to_lane: u32,
}

/// All that is done in a launch.
#[derive(Debug, Default)]
pub(super) struct Acts<'p>(Pages<Act<'p>>);

impl<'p> Acts<'p> {
    /// The act of an element that is done next.
    pub(super) fn next(
        &mut self,
        (agent, step, op): (Agent, u32, &'p Op),
        element: &Element,
        flow: FlowId,
    ) -> ActId {
        let to_element = flow.wrapping_sub(element.number);
        let to_lane = flow.wrapping_sub(element.lane.at as u32);
        let goes_on = self.0.last().is_some_and(|last| {
            (last.agent, last.step) == (agent, step)
                && (last.to_element, last.to_lane) == (to_element, to_lane)
        });
        if !goes_on {
            self.0.push(Act { agent, step, op, to_element, to_lane });
        }
        self.0.len() as ActId - 1
    }

    /// The access that a footprint is of.
    pub(super) fn touch(&self, agents: &Agents, print: Footprint) -> Touch<'p> {
        let Footprint { flow, by, buffer, share, write, packet, .. } = print;
        let act = self.0.get(print.act as usize).expect("a footprint is made with its act");
        let agent = agents.moved(act.agent, by);
        Touch {
            agent,
            rank: agents.rank(agent),
            step: act.step,
            element: flow.wrapping_sub(act.to_element),
            lane: flow.wrapping_sub(act.to_lane),
            share,
            flow: (flow, by),
            buffer,
            write,
            packet,
            op: act.op,
        }
    }
}

impl Footprint {
    /// What an act does to a cell.
    pub(super) fn new((act, flow): (ActId, FlowId), access: &Access, write: bool) -> Footprint {
        let Access { buffer, share, packet, .. } = *access;
        Footprint { act, flow, by: 0, buffer, share, write, packet }
    }

    /// The access that a turn puts in the place of this one.
    pub(super) fn moved(self, turn: Turn, by: By) -> Footprint {
        Footprint { by: turn.then(self.by, by), ..self }
    }

    /// Whether it writes.
    pub(super) fn writes(&self) -> bool {
        self.write
    }

    /// What its element makes of what it reads.
    pub(super) fn flow(&self) -> (FlowId, By) {
        (self.flow, self.by)
    }
}
