//! Programs in which each piece goes from the input of its origin to the output of its receiver, through the scratch
//! memory of the ranks between: AllToAll, Scatter and Gather.

use super::channels::{Channels, RowEnds};
use super::rows::TableSteps;
use super::{ProgramHead, write_declarations, write_head};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write as _;
use synth::collective::{Collective, CollectiveKind};
use synth::graph::Vertex;
use synth::schedule::{Move, MoveAction, Piece, StepSchedule, Unit, list_units};

/// A piece on a rank.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct HeldPiece {
    rank: Vertex,
    piece: Piece,
}

/// Where pieces are in scratch memory, by rank and piece.
struct RelaySlots {
    slots: BTreeMap<HeldPiece, u32>,
    count: u32,
}

impl RelaySlots {
    fn assign(steps: &TableSteps<'_>, units: &[Unit], chunks: u32) -> RelaySlots {
        let mut next: BTreeMap<u32, u32> = BTreeMap::new();
        let mut slots = BTreeMap::new();
        for own in steps.steps.iter().flatten() {
            let unit = units.get((own.piece.0 / chunks) as usize);
            if unit.is_some_and(|unit| unit.has_receiver(own.to)) {
                continue;
            }
            slots.entry(HeldPiece { rank: own.to, piece: own.piece }).or_insert_with(|| {
                let slot = next.entry(own.to.0).or_default();
                *slot += 1;
                *slot - 1
            });
        }
        RelaySlots { slots, count: next.into_values().max().unwrap_or(0) }
    }

    /// The place of a piece on a rank; none where it is in the input or goes to the output.
    fn find(&self, rank: Vertex, own: &Move) -> Option<u32> {
        self.slots.get(&HeldPiece { rank, piece: own.piece }).copied()
    }
}

/// Where a piece is in the input of its origin and in the output of its receiver, as expressions of the piece; none if it
/// is the only one there.
struct PieceEnds {
    input: Option<String>,
    output: Option<String>,
    /// The pieces that a rank has for itself: the statement that copies them.
    own: String,
}

fn find_ends(kind: CollectiveKind, ranks: u32, chunks: u32) -> PieceEnds {
    let part = (chunks > 1).then(|| format!("piece % {chunks}"));
    let whole = Some("piece".to_owned());
    let span = |first: String| if chunks == 1 { first } else { format!("{first} ..+ {chunks}") };
    let at = |rank: &str| if chunks == 1 { rank.to_owned() } else { format!("{rank} * {chunks}") };
    let all = span("0".to_owned());
    match kind {
        CollectiveKind::Scatter(root) => PieceEnds {
            input: whole,
            output: part,
            own: format!(
                "if rank == {root} {{ copy input[{}] -> output[{all}]; }}",
                span(at(&root.to_string()))
            ),
        },
        CollectiveKind::Gather(root) => PieceEnds {
            input: part,
            output: whole,
            own: format!(
                "if rank == {root} {{ copy input[{all}] -> output[{}]; }}",
                span(at(&root.to_string()))
            ),
        },
        CollectiveKind::AllToAll
        | CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter
        | CollectiveKind::AllReduce
        | CollectiveKind::Broadcast(_)
        | CollectiveKind::Reduce(_) => {
            let place = |unit: String| {
                if chunks == 1 { unit } else { format!("{unit} * {chunks} + piece % {chunks}") }
            };
            let unit = if chunks == 1 { "piece".to_owned() } else { format!("piece / {chunks}") };
            let own = span(at("rank"));
            PieceEnds {
                input: Some(place(format!("{unit} / {ranks}"))),
                output: Some(place(format!("{unit} % {ranks}"))),
                own: format!("copy input[{own}] -> output[{own}];"),
            }
        }
    }
}

pub(super) fn write_program(
    head: &ProgramHead<'_>,
    schedule: &StepSchedule,
    channels: &Channels,
    text: &mut String,
) -> fmt::Result {
    let ranks = head.machine.graph.count_ranks();
    let chunks = schedule.chunks;
    let units = list_units(&Collective::Known(head.kind), ranks);
    let steps = TableSteps::select(schedule, MoveAction::Copy);
    let slots = RelaySlots::assign(&steps, &units, chunks);
    let ends = find_ends(head.kind, ranks, chunks);
    let legs = collect_legs(&steps, &slots);
    write_head(head, text)?;
    let has_relays = slots.count > 0;
    let shape = if has_relays { ", place in `from`, place in `to`" } else { "" };
    writeln!(text, "/// Step by step: [piece, from, to{shape}].")?;
    if has_relays {
        writeln!(
            text,
            "/// A place is one in scratch memory; -1 is the input of `from`, or the output of `to`."
        )?;
    }
    let write_row = |own: &Move| {
        let [piece, from, to] = [own.piece.0, own.from.0, own.to.0];
        if !has_relays {
            return format!("[{piece}, {from}, {to}]");
        }
        let [before, after] = [own.from, own.to].map(|rank| {
            slots.find(rank, own).map_or_else(|| "-1".to_owned(), |slot| slot.to_string())
        });
        format!("[{piece}, {from}, {to}, {before}, {after}]")
    };
    steps.write_table("steps", write_row, text)?;
    writeln!(text, "/// The ranks that `r` sends to or receives from.")?;
    writeln!(
        text,
        "fn neighbors(r: rank) -> int[] = {{step in steps, s in step if s[1] == r || s[2] == r: s[1] + s[2] - r}};\n"
    )?;
    channels.write_functions(text)?;
    if let Some(input) = &ends.input {
        writeln!(text, "/// Where a piece is in the input of the rank that has it.")?;
        writeln!(text, "fn in_input(piece: int) -> int = {input};\n")?;
    }
    if let Some(output) = &ends.output {
        writeln!(text, "/// Where a piece is in the output of the rank that gets it.")?;
        writeln!(text, "fn in_output(piece: int) -> int = {output};\n")?;
    }
    write_declarations(head, false, text)?;
    channels.write_declaration(text)?;
    if has_relays {
        writeln!(text, "scratch relayed[{}];", slots.count)?;
    }
    writeln!(text, "\nblock main {{")?;
    channels.write_greeting(text)?;
    writeln!(text, "{}", ends.own)?;
    writeln!(text, "for step in steps {{")?;
    let input = if ends.input.is_some() { "input[in_input(s[0])]" } else { "input[0]" };
    let output = if ends.output.is_some() { "output[in_output(s[0])]" } else { "output[0]" };
    for leg in &legs {
        let condition = if has_relays { leg.write_condition() } else { String::new() };
        let source = if leg.is_relayed_before { "relayed[s[3]]" } else { input };
        let target = if leg.is_relayed_after { "relayed[s[4]]" } else { output };
        let name = channels.name();
        writeln!(
            text,
            "for s in step if s[1] == rank{condition} {{ put {source} -> (s[2]).{target} via {name}[s[2]]; }}"
        )?;
    }
    channels.write_exchange(RowEnds::FORWARD, text)?;
    writeln!(text, "}}")?;
    if !channels.can_read() {
        channels.write_farewell(text)?;
    }
    writeln!(text, "}}\n}}")
}

/// Whether a move begins, or ends, in scratch memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Leg {
    is_relayed_before: bool,
    is_relayed_after: bool,
}

impl Leg {
    fn write_condition(self) -> String {
        let sign = |is_relayed: bool| if is_relayed { ">=" } else { "<" };
        format!(
            " && s[3] {} 0 && s[4] {} 0",
            sign(self.is_relayed_before),
            sign(self.is_relayed_after)
        )
    }
}

fn collect_legs(steps: &TableSteps<'_>, slots: &RelaySlots) -> BTreeSet<Leg> {
    let moves = steps.steps.iter().flatten();
    moves
        .map(|own| Leg {
            is_relayed_before: slots.find(own.from, own).is_some(),
            is_relayed_after: slots.find(own.to, own).is_some(),
        })
        .collect()
}
