//! The text of a program whose pieces have places.

use super::DeclaredHead;
use super::places::{LocalCopy, PlaceOnRank, PlacedMove, PlacedMoves, PlacedSum};
use crate::synthesize::channels::Channels;
use std::fmt;
use std::fmt::Write as _;

impl PlacedMoves {
    /// The number that stands for a place in a table.
    fn number(&self, place: PlaceOnRank) -> u32 {
        match place {
            PlaceOnRank::Input(chunk) => chunk,
            PlaceOnRank::Output(chunk) => self.inputs + chunk,
            PlaceOnRank::Scratch(slot) => self.inputs + self.outputs + slot,
        }
    }

    /// The chunk that a number in a table stands for, if it is in the same buffer as a place.
    fn write_place(&self, place: PlaceOnRank, number: &str) -> String {
        let after = |first: u32| {
            if first == 0 { number.to_owned() } else { format!("{number} - {first}") }
        };
        match place {
            PlaceOnRank::Input(_) => format!("input[{number}]"),
            PlaceOnRank::Output(_) => format!("output[{}]", after(self.inputs)),
            PlaceOnRank::Scratch(_) => format!("held[{}]", after(self.inputs + self.outputs)),
        }
    }

    /// The condition that a number stands for a place in the same buffer.
    fn write_condition(&self, place: PlaceOnRank, number: &str) -> String {
        let last = self.inputs + self.outputs;
        match place {
            PlaceOnRank::Input(_) => format!("{number} < {}", self.inputs),
            PlaceOnRank::Output(_) => {
                format!("{number} >= {} && {number} < {last}", self.inputs)
            }
            PlaceOnRank::Scratch(_) => format!("{number} >= {last}"),
        }
    }

    /// Writes the program, unformatted.
    pub(super) fn write_program(
        &self,
        head: &DeclaredHead<'_>,
        channels: &Channels,
        text: &mut String,
    ) -> fmt::Result {
        let ranks = head.promises.len();
        for line in head.header {
            writeln!(text, "//! {line}")?;
        }
        writeln!(text, "use {};", head.import)?;
        if head.is_library_machine {
            let name = head.machine.name.split('(').next().unwrap_or_default();
            writeln!(text, "use std::topologies::{name};")?;
        }
        writeln!(text)?;
        self.write_tables(text)?;
        writeln!(text, "/// The ranks that `r` sends to or receives from.")?;
        writeln!(
            text,
            "fn neighbors(r: rank) -> int[] = {{step in steps, s in step if s[0] == r || s[1] == r: s[0] + s[1] - r}};\n"
        )?;
        channels.write_functions(text)?;
        writeln!(text, "program {}(ranks: int = {ranks}, instances: int = 1) {{", head.name)?;
        writeln!(text, "require ranks == {ranks}, \"this schedule is for {ranks} ranks\";")?;
        if head.is_library_machine {
            writeln!(text, "topology {};", head.machine.name)?;
        }
        writeln!(text, "collective {};", head.call)?;
        writeln!(text, "options {{ instances = instances; }}")?;
        channels.write_declaration(text)?;
        if self.scratch > 0 {
            writeln!(text, "scratch held[{}];", self.scratch)?;
        }
        writeln!(text, "\nblock main {{")?;
        channels.write_greeting(text)?;
        self.write_steps(channels, text)?;
        self.write_copies(text)?;
        if !channels.can_read() {
            channels.write_farewell(text)?;
        }
        writeln!(text, "}}\n}}")
    }

    fn write_tables(&self, text: &mut String) -> fmt::Result {
        let has_sums = self.steps.iter().flatten().any(|own| own.sum.is_some());
        let shape =
            if has_sums { ", what is added to it, the sum]; -1 where it is copied" } else { "]" };
        writeln!(
            text,
            "/// Step by step: [from, to, place in `from`, place in `to`{shape}. The places below {} are in the input",
            self.inputs
        )?;
        let last = self.inputs + self.outputs;
        if self.scratch > 0 {
            writeln!(
                text,
                "/// those below {last} in the output, and all others in scratch memory."
            )?;
        } else {
            writeln!(text, "/// and all others in the output.")?;
        }
        writeln!(text, "let steps = [")?;
        for step in &self.steps {
            writeln!(text, "[")?;
            for of_rank in step.chunk_by(|one, other| one.from == other.from) {
                let rows: Vec<String> =
                    of_rank.iter().map(|own| self.write_row(own, has_sums)).collect();
                writeln!(text, "{},", rows.join(", "))?;
            }
            writeln!(text, "],")?;
        }
        writeln!(text, "];\n")?;
        if self.copies.is_empty() {
            return Ok(());
        }
        writeln!(
            text,
            "/// What each rank copies in the end: [rank, place, chunk of the output].\nlet copies = ["
        )?;
        for of_rank in self.copies.chunk_by(|one, other| one.rank == other.rank) {
            let rows: Vec<String> = of_rank
                .iter()
                .map(|own| format!("[{}, {}, {}]", own.rank, self.number(own.source), own.output))
                .collect();
            writeln!(text, "{},", rows.join(", "))?;
        }
        writeln!(text, "];\n")
    }

    fn write_row(&self, own: &PlacedMove, has_sums: bool) -> String {
        let [source, landing] = [own.source, own.landing].map(|place| self.number(place));
        let ends = format!("{}, {}, {source}, {landing}", own.from, own.to);
        match own.sum {
            _ if !has_sums => format!("[{ends}]"),
            None => format!("[{ends}, -1, -1]"),
            Some(sum) => {
                format!("[{ends}, {}, {}]", self.number(sum.own), self.number(sum.target))
            }
        }
    }

    fn write_steps(&self, channels: &Channels, text: &mut String) -> fmt::Result {
        let name = channels.name();
        let kind = |place: PlaceOnRank| match place {
            PlaceOnRank::Input(_) => PlaceOnRank::Input(0),
            PlaceOnRank::Output(_) => PlaceOnRank::Output(0),
            PlaceOnRank::Scratch(_) => PlaceOnRank::Scratch(0),
        };
        let moves = || self.steps.iter().flatten();
        let mut puts: Vec<[PlaceOnRank; 2]> =
            moves().map(|own| [kind(own.source), kind(own.landing)]).collect();
        puts.sort();
        puts.dedup();
        let mut sums: Vec<PlacedSum> = moves()
            .filter_map(|own| own.sum)
            .map(|sum| PlacedSum { own: kind(sum.own), target: kind(sum.target) })
            .collect();
        // What is added to a sum in the output comes after what begins it, which may be anywhere else.
        sums.sort_by_key(|sum| (matches!(sum.own, PlaceOnRank::Output(_)), *sum));
        sums.dedup();
        writeln!(text, "for step in steps {{")?;
        let is_single = puts.len() == 1;
        for [source, landing] in &puts {
            let condition = if is_single {
                String::new()
            } else {
                format!(
                    " && {} && {}",
                    self.write_condition(*source, "s[2]"),
                    self.write_condition(*landing, "s[3]")
                )
            };
            writeln!(
                text,
                "for s in step if s[0] == rank{condition} {{ put {} -> (s[1]).{} via {name}[s[1]]; }}",
                self.write_place(*source, "s[2]"),
                self.write_place(*landing, "s[3]")
            )?;
        }
        writeln!(text, "for p in {{s in step if s[0] == rank: s[1]}} {{ signal {name}[p]; }}")?;
        writeln!(text, "for p in {{s in step if s[1] == rank: s[0]}} {{ wait {name}[p]; }}")?;
        let [own_number, target_number] = ["s[4]", "s[5]"];
        for sum in &sums {
            let condition = format!(
                "s[4] >= 0 && {} && {}",
                self.write_condition(sum.own, own_number),
                self.write_condition(sum.target, target_number)
            );
            writeln!(
                text,
                "for s in step if s[1] == rank && {condition} {{ reduce {}, {} -> {}; }}",
                self.write_place(sum.own, own_number),
                self.write_place(PlaceOnRank::Scratch(0), "s[3]"),
                self.write_place(sum.target, target_number)
            )?;
        }
        writeln!(text, "}}")
    }

    fn write_copies(&self, text: &mut String) -> fmt::Result {
        for source in [PlaceOnRank::Input(0), PlaceOnRank::Output(0), PlaceOnRank::Scratch(0)] {
            let condition = self.write_condition(source, "c[1]");
            let is_same = |own: &LocalCopy| {
                matches!(
                    (own.source, source),
                    (PlaceOnRank::Input(_), PlaceOnRank::Input(_))
                        | (PlaceOnRank::Output(_), PlaceOnRank::Output(_))
                        | (PlaceOnRank::Scratch(_), PlaceOnRank::Scratch(_))
                )
            };
            if self.copies.iter().any(is_same) {
                writeln!(
                    text,
                    "for c in copies if c[0] == rank && {condition} {{ copy {} -> output[c[2]]; }}",
                    self.write_place(source, "c[1]")
                )?;
            }
        }
        Ok(())
    }
}
