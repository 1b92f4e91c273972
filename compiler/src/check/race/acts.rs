//! The record of accesses: a [`Footprint`] for each, and one row for everything that an agent does in a step.

use super::access::{Access, Element};
use super::agents::{Agent, Agents};
use super::history::FlowId;
use super::pages::Pages;
use super::turn::{Turn, TurnId};
use crate::ir::threads::Share;
use crate::ir::{Buffer, Op, RankId};

/// One access to one cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch<'p> {
    /// The agent.
    pub(super) agent: Agent,
    /// The rank of the block or proxy.
    pub(super) rank: RankId,
    /// The agent's step.
    pub(super) step: u32,
    /// The element of the step.
    pub(super) element: u32,
    /// The element's distance from the beginning of its operands.
    pub(super) lane: u32,
    /// How the elements are distributed over threads.
    pub(super) share: Share,
    /// The flow of its element: what the element's value was made from.
    pub(super) flow: (FlowId, TurnId),
    /// The buffer as the author names it.
    pub(super) buffer: Buffer,
    /// Whether it writes.
    pub(super) write: bool,
    /// Whether as a packet.
    pub(super) packet: bool,
    /// The operation.
    pub(super) op: &'p Op,
}

/// The part of an access that is kept as long as another one may conflict with it: the rest is in the row of its act.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    act: ActId,
    /// The flow of its element: what the element's value was made from.
    flow: FlowId,
    /// The turn that leads from the followed agent to the one that makes the access.
    by: TurnId,
    buffer: Buffer,
    share: Share,
    write: bool,
    packet: bool,
}

/// A row of [`Acts`].
type ActId = u32;

/// What an agent does in a step, for elements with consecutive flows.
#[derive(Clone, Copy, Debug)]
struct Act<'p> {
    agent: Agent,
    step: u32,
    op: &'p Op,
    /// The difference between the flow of each of its elements and the element's number, and its lane.
    to_element: u32,
    to_lane: u32,
}

/// Everything that is done in a launch.
#[derive(Debug, Default)]
pub(super) struct Acts<'p>(Pages<Act<'p>>);

impl<'p> Acts<'p> {
    /// The act of the next element.
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
    /// The footprint of an act on a cell.
    pub(super) fn new((act, flow): (ActId, FlowId), access: &Access, write: bool) -> Footprint {
        let Access { buffer, share, packet, .. } = *access;
        Footprint { act, flow, by: 0, buffer, share, write, packet }
    }

    /// The access to which a turn takes this one.
    pub(super) fn moved(self, turn: Turn, by: TurnId) -> Footprint {
        Footprint { by: turn.then(self.by, by), ..self }
    }

    /// Whether it writes.
    pub(super) fn writes(&self) -> bool {
        self.write
    }

    /// The flow of its element: what the element's value was made from.
    pub(super) fn flow(&self) -> (FlowId, TurnId) {
        (self.flow, self.by)
    }
}
