//! Programs in which a piece has the same place on all ranks. What is added up is read by the rank that adds, over memory
//! channels; where there are ports, which cannot read, or where others add to it in the same step, it is put into its
//! scratch memory.

use super::channels::{Channels, RowEnds};
use super::rows::TableSteps;
use super::{ProgramHead, sends_what_it_adds, write_declarations, write_head};
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;
use synth::collective::CollectiveKind;
use synth::schedule::{Move, MoveAction, StepSchedule};

/// Where the pieces are: the buffer that a rank works in.
fn find_buffer(kind: CollectiveKind) -> &'static str {
    if kind == CollectiveKind::ReduceScatter { "input" } else { "output" }
}

/// The places in scratch memory for what arrives over ports to be added.
struct ReceiveSlots<'s> {
    /// For each such move.
    slots: BTreeMap<&'s Move, u32>,
    /// The largest number of them on a rank.
    count: u32,
}

impl<'s> ReceiveSlots<'s> {
    fn assign(reductions: &TableSteps<'s>) -> ReceiveSlots<'s> {
        let mut next: BTreeMap<u32, u32> = BTreeMap::new();
        let mut slots = BTreeMap::new();
        for own in reductions.steps.iter().flatten().copied() {
            let slot = next.entry(own.to.0).or_default();
            slots.insert(own, *slot);
            *slot += 1;
        }
        ReceiveSlots { slots, count: next.into_values().max().unwrap_or(0) }
    }
}

pub(super) fn write_program(
    head: &ProgramHead<'_>,
    schedule: &StepSchedule,
    channels: &Channels,
    text: &mut String,
) -> fmt::Result {
    let reductions = TableSteps::select(schedule, MoveAction::Reduce);
    let copies = TableSteps::select(schedule, MoveAction::Copy);
    // What others add to in the same step cannot be read from them either.
    let is_exchange = sends_what_it_adds(schedule);
    let needs_slots = !channels.can_read() || is_exchange;
    let is_mirrored = !needs_slots
        && !reductions.steps.is_empty()
        && !copies.steps.is_empty()
        && reductions.is_reverse_of(&copies);
    let writer = TableWriter {
        channels,
        buffer: find_buffer(head.kind),
        slots: needs_slots.then(|| ReceiveSlots::assign(&reductions)),
        is_exchange,
    };
    write_head(head, text)?;
    let plain = |own: &Move| format!("[{}, {}, {}]", own.piece.0, own.from, own.to);
    if !copies.steps.is_empty() {
        writeln!(
            text,
            "/// Step by step: [piece, from, to]. A piece has the same place on all ranks."
        )?;
        copies.write_table("copies", plain, text)?;
    }
    if !reductions.steps.is_empty() && !is_mirrored {
        let slots = writer.slots.as_ref();
        let shape = if slots.is_some() { ", place in the scratch memory of `to`" } else { "" };
        writeln!(text, "/// What is added up, step by step: [piece, from, to{shape}].")?;
        let row = |own: &Move| match slots.and_then(|slots| slots.slots.get(own)) {
            Some(slot) => format!("[{}, {}, {}, {slot}]", own.piece.0, own.from, own.to),
            None => plain(own),
        };
        reductions.write_table("reductions", row, text)?;
    }
    let mut tables: Vec<&str> = Vec::new();
    if !copies.steps.is_empty() {
        tables.push("copies");
    }
    if !reductions.steps.is_empty() && !is_mirrored {
        tables.push("reductions");
    }
    write_neighbors(&tables, text)?;
    channels.write_functions(text)?;
    write_declarations(head, true, text)?;
    channels.write_declaration(text)?;
    if let Some(slots) = writer.slots.as_ref().filter(|slots| slots.count > 0) {
        writeln!(text, "scratch parts[{}];", slots.count)?;
    }
    writeln!(text, "\nblock main {{")?;
    channels.write_greeting(text)?;
    if is_mirrored {
        writer.write_reductions("copies.rev()", RowEnds::BACKWARD, text)?;
    } else if !reductions.steps.is_empty() {
        writer.write_reductions("reductions", RowEnds::FORWARD, text)?;
    }
    if !copies.steps.is_empty() {
        writer.write_copies(text)?;
    }
    // Where there are no slots, ranks read from others, and where there are ports, proxies read until all has arrived.
    let is_read = match (channels.can_read(), copies.steps.is_empty()) {
        (true, is_last) => is_last && !needs_slots,
        (false, is_last) => !is_last || !is_exchange,
    };
    if is_read {
        channels.write_farewell(text)?;
    }
    writeln!(text, "}}\n}}")
}

/// The function that lists the neighbors of a rank, from the rows of tables.
pub(super) fn write_neighbors(tables: &[&str], text: &mut String) -> fmt::Result {
    writeln!(text, "/// The ranks that `r` sends to or receives from.")?;
    let find = |table: &&str| {
        format!("{{step in {table}, s in step if s[1] == r || s[2] == r: s[1] + s[2] - r}}")
    };
    if let [one, other] = tables {
        let [one, other] = [find(one), find(other)];
        writeln!(text, "fn neighbors(r: rank) -> int[] = {{p in {one} + {other}: p}};")?;
    } else {
        let only: String = tables.iter().map(find).collect();
        writeln!(text, "fn neighbors(r: rank) -> int[] = {only};")?;
    }
    writeln!(text)
}

struct TableWriter<'a> {
    channels: &'a Channels,
    buffer: &'static str,
    /// Where what arrives over ports is added from; none if there are no ports.
    slots: Option<ReceiveSlots<'a>>,
    /// Whether ranks send what they add to in the same step.
    is_exchange: bool,
}

impl TableWriter<'_> {
    fn write_reductions(&self, table: &str, ends: RowEnds, text: &mut String) -> fmt::Result {
        let (buffer, name, RowEnds { from, to }) = (self.buffer, self.channels.name(), ends);
        writeln!(text, "for step in {table} {{")?;
        if self.slots.is_some() {
            writeln!(
                text,
                "for s in step if {from} == rank {{ put {buffer}[s[0]] -> ({to}).parts[s[3]] via {name}[{to}]; }}"
            )?;
        }
        self.channels.write_exchange(ends, text)?;
        if self.is_exchange && !self.channels.can_read() {
            writeln!(text, "// What I sent has arrived: proxies read it no longer.")?;
            self.channels.write_exchange(RowEnds { from: to, to: from }, text)?;
        }
        let read = if self.slots.is_some() {
            "parts[s[3]]".to_owned()
        } else {
            format!("({from}).{buffer}[s[0]]")
        };
        let via = if self.slots.is_some() { String::new() } else { format!(" via {name}[{from}]") };
        writeln!(
            text,
            "for s in step if {to} == rank {{ reduce {buffer}[s[0]], {read} -> {buffer}[s[0]]{via}; }}\n}}"
        )
    }

    fn write_copies(&self, text: &mut String) -> fmt::Result {
        let (buffer, name) = (self.buffer, self.channels.name());
        writeln!(text, "for step in copies {{")?;
        writeln!(
            text,
            "for s in step if s[1] == rank {{ put {buffer}[s[0]] -> (s[2]).{buffer}[s[0]] via {name}[s[2]]; }}"
        )?;
        self.channels.write_exchange(RowEnds::FORWARD, text)?;
        writeln!(text, "}}")
    }
}
