//! Memory: the contents of each cell, and its accesses.
//!
//! A value is a multiset of contributions: which cell of which rank's input, and of which launch. Memory that nobody
//! wrote in a launch has a term of [`NOBODY`]. A term also has the operators of all reductions that it went through, and
//! so has every other term of the same value.
//!
//! For every cell, the accesses are recorded that a further one must be ordered after ([`Touched`]). An access is a
//! race if it conflicts with one that its agent cannot rely on, whichever of the two comes first in this schedule.
//! Three things are not races:
//! - reading a packet after the write that the read waits for, and writing a packet again with the same flag and value;
//! - writing over what has been read, by an agent that has since received a packet whose value depends on that read:
//!   the packet could not have that value otherwise;
//! - writing packets of another launch over packets that were read, if the read came earlier in any way: packets are
//!   single, coherent accesses.

use crate::view::{Told, View};
use compiler::ir::ReduceOp;
use std::rc::Rc;

/// The rank of a term that stands for memory that was not written.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A flag that no packet carries: the flags of launches begin with 1.
const NO_FLAG: u32 = 0;

/// A contribution, and how often it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Term {
    pub(crate) rank: u32,
    pub(crate) cell: u32,
    pub(crate) launch: u32,
    pub(crate) count: u32,
    /// The operators, one bit each ([`bit`]).
    pub(crate) by: u8,
}

/// The bit that stands for an operator.
pub(crate) fn bit(op: ReduceOp) -> u8 {
    match op {
        ReduceOp::Sum => 1,
        ReduceOp::Min => 2,
        ReduceOp::Max => 4,
    }
}

/// Puts a term after the last one of an ascending list, or counts it there.
pub(crate) fn count(terms: &mut Vec<Term>, op: ReduceOp, term: Term) {
    match terms.last_mut() {
        Some(last)
            if (last.rank, last.cell, last.launch) == (term.rank, term.cell, term.launch) =>
        {
            last.count = match op {
                ReduceOp::Sum => last.count.saturating_add(term.count),
                ReduceOp::Min | ReduceOp::Max => last.count.max(term.count),
            };
        }
        Some(_) | None => terms.push(term),
    }
}

/// The meaning of a cell's bytes, and the loads that they depend on.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) terms: Rc<[Term]>,
    pub(crate) loads: Rc<[u32]>,
}

impl Value {
    pub(crate) fn of(rank: u32, cell: u32, launch: u32) -> Value {
        Value {
            terms: Rc::from([Term { rank, cell, launch, count: 1, by: 0 }]),
            loads: Rc::from([]),
        }
    }

    /// Whether any part of it was not written in this launch.
    pub(crate) fn is_stale(&self, launch: u32) -> bool {
        self.terms.iter().any(|term| term.rank == NOBODY || term.launch != launch)
    }
}

/// The contents of a cell.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    Plain(Value),
    /// The first cell of a packet.
    Packet(Rc<Packet>),
    /// The second cell of a packet.
    Tail,
}

/// A packet.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) flag: u32,
    pub(crate) value: Value,
    /// What its writer could rely on.
    pub(crate) told: Told,
    /// When the latest launch began that its writer knew of.
    pub(crate) entered: u64,
}

/// A cell of memory.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) held: Held,
    /// Its contents before the last write, for loads that return old copies.
    pub(crate) before: Held,
    /// When and by which block it was last written.
    pub(crate) written: u64,
    pub(crate) writer: u32,
    pub(crate) touched: Touched,
}

/// The accesses to a cell that a further one must be ordered after.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    write: Option<Access>,
    reads: Vec<(Access, u32)>,
    packet_writes: Vec<(Access, u32, Rc<[Term]>)>,
    packet_reads: Vec<(Access, u32)>,
}

/// Its agent, its number among the agent's accesses, and its place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) agent: u32,
    pub(crate) count: u32,
    pub(crate) site: Site,
}

/// The place in the program that an access comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Site {
    pub(crate) launch: u32,
    pub(crate) actor: Actor,
}

/// Who makes an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Actor {
    /// A thread of a block, at a step.
    Thread { block: u32, step: u32 },
    /// A port's proxy, on behalf of a step of a block.
    Proxy { block: u32, step: u32 },
    /// The user of a rank's stream.
    User { rank: u32 },
}

/// Loads whose values went into packets, and the agents that received those packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loads {
    heard: Vec<Vec<(u32, u32)>>,
}

impl Loads {
    /// Registers a further load.
    pub(crate) fn add(&mut self) -> u32 {
        self.heard.push(Vec::new());
        self.heard.len() as u32 - 1
    }

    /// Notes that an agent has received a value that depends on these loads.
    pub(crate) fn hear(&mut self, loads: &[u32], agent: u32, count: u32) {
        for load in loads {
            self.heard[*load as usize].push((agent, count));
        }
    }

    fn done(&self, load: u32, view: &View) -> bool {
        self.heard.get(load as usize).is_some_and(|by| by.iter().any(|(a, n)| view.sees(*a, *n)))
    }
}

fn seen(view: &View, access: &Access) -> bool {
    view.sees(access.agent, access.count)
}

fn past(view: &View, access: &Access) -> bool {
    view.follows(access.agent, access.count)
}

impl Touched {
    /// A plain read.
    pub(crate) fn read(&mut self, view: &View, by: Access, load: u32) -> Result<(), Access> {
        self.after_plain_write(view)?;
        first(self.packet_writes.iter().map(|(w, _, _)| w).find(|w| !seen(view, w)))?;
        self.reads.push((by, load));
        Ok(())
    }

    /// A plain write.
    pub(crate) fn write(&mut self, view: &View, by: Access, loads: &Loads) -> Result<(), Access> {
        self.after_plain(view, loads)?;
        let packets = self.packet_reads.iter().map(|(r, _)| r);
        let packets = packets.chain(self.packet_writes.iter().map(|(w, _, _)| w));
        first({ packets }.find(|access| !seen(view, access)))?;
        *self = Touched { write: Some(by), ..Touched::default() };
        Ok(())
    }

    /// A read of a packet that has arrived.
    pub(crate) fn read_packet(&mut self, view: &View, by: Access, flag: u32) -> Result<(), Access> {
        self.after_plain_write(view)?;
        let mut same = self.packet_writes.iter().filter(|(_, f, _)| *f == flag).rev();
        if let Some((last, _, terms)) = same.next() {
            let other = same.any(|(_, _, older)| older != terms);
            first(Some(last).filter(|last| other && !past(view, last)))?;
        }
        self.packet_reads.push((by, flag));
        Ok(())
    }

    /// A read of bytes that are packets, by a proxy whose thread has found the packets there. The proxy does not look
    /// at their flags, so that packets of another launch must be known to have been written earlier.
    pub(crate) fn read_found(&mut self, view: &View, by: Access, flag: u32) -> Result<(), Access> {
        let others = self.packet_writes.iter().filter(|(_, f, _)| *f != flag);
        first(others.map(|(w, _, _)| w).find(|w| !past(view, w)))?;
        self.read_packet(view, by, flag)
    }

    /// A read of bytes that are packets, by a proxy whose thread has not looked for them.
    pub(crate) fn read_raw(&mut self, view: &View, by: Access, flag: u32) -> Result<(), Access> {
        self.after_plain_write(view)?;
        first(self.packet_writes.iter().map(|(w, _, _)| w).find(|w| !seen(view, w)))?;
        // If no packet with this flag was there yet, the read does not belong to the packet that a later write brings.
        let there = self.packet_writes.iter().any(|(_, f, _)| *f == flag);
        self.packet_reads.push((by, if there { flag } else { NO_FLAG }));
        Ok(())
    }

    /// A write of a packet.
    pub(crate) fn write_packet(
        &mut self,
        view: &View,
        by: Access,
        (flag, terms): (u32, &Rc<[Term]>),
        loads: &Loads,
    ) -> Result<(), Access> {
        self.after_plain(view, loads)?;
        let changes = self.packet_writes.iter().any(|(_, f, old)| *f == flag && old != terms);
        let must = |f: u32| f != flag || changes;
        first(self.packet_reads.iter().find(|(r, f)| must(*f) && !past(view, r)).map(|(r, _)| r))?;
        let writes = self.packet_writes.iter().filter(|(_, f, old)| *f != flag || old != terms);
        first(writes.map(|(w, _, _)| w).find(|w| !past(view, w)))?;
        self.packet_writes.retain(|(_, f, _)| *f == flag);
        self.packet_reads.retain(|(_, f)| *f == flag);
        self.packet_writes.push((by, flag, Rc::clone(terms)));
        Ok(())
    }

    fn after_plain_write(&self, view: &View) -> Result<(), Access> {
        first(self.write.as_ref().filter(|write| !seen(view, write)))
    }

    fn after_plain(&self, view: &View, loads: &Loads) -> Result<(), Access> {
        self.after_plain_write(view)?;
        let open = |(read, load): &&(Access, u32)| !seen(view, read) && !loads.done(*load, view);
        first(self.reads.iter().find(open).map(|(read, _)| read))
    }
}

/// The conflicting access, if there is one, as an error.
fn first(found: Option<&Access>) -> Result<(), Access> {
    found.map_or(Ok(()), |access| Err(*access))
}

/// The reduction of values, without their loads.
pub(crate) fn combine(op: ReduceOp, values: &[Value]) -> Rc<[Term]> {
    if let [one] = values {
        return Rc::clone(&one.terms);
    }
    let mut all: Vec<Term> = values.iter().flat_map(|value| value.terms.iter().copied()).collect();
    all.sort_unstable();
    let mut terms: Vec<Term> = Vec::with_capacity(all.len());
    all.into_iter().for_each(|term| count(&mut terms, op, term));
    let by = terms.iter().fold(bit(op), |by, term| by | term.by);
    terms.iter_mut().for_each(|term| term.by = by);
    terms.into()
}

/// The loads that values depend on, without duplicates.
pub(crate) fn depends(values: &[Value], new: &[u32]) -> Rc<[u32]> {
    if let ([one], []) = (values, new) {
        return Rc::clone(&one.loads);
    }
    let mut all: Vec<u32> = values.iter().flat_map(|value| value.loads.iter().copied()).collect();
    all.extend(new);
    all.sort_unstable();
    all.dedup();
    all.into()
}
