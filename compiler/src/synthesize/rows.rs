//! Moves as the lines of a table.

use std::fmt;
use std::fmt::Write as _;
use synth::schedule::{Move, MoveAction, StepSchedule};

/// The moves of some steps, for a table.
pub(super) struct TableSteps<'s> {
    pub(super) steps: Vec<Vec<&'s Move>>,
}

impl<'s> TableSteps<'s> {
    /// The steps in which pieces are copied, or added up.
    pub(super) fn select(schedule: &'s StepSchedule, action: MoveAction) -> TableSteps<'s> {
        let mut steps: Vec<Vec<&Move>> = schedule.rounds.iter().map(|_| Vec::new()).collect();
        for own in schedule.moves.iter().filter(|own| own.action == action) {
            if let Some(step) = steps.get_mut(own.step as usize) {
                step.push(own);
            }
        }
        steps.retain(|step| !step.is_empty());
        TableSteps { steps }
    }

    /// Whether others are the same moves backwards.
    pub(super) fn is_reverse_of(&self, others: &TableSteps<'_>) -> bool {
        let turn = |step: &Vec<&Move>, turned: bool| {
            let ends = |own: &&Move| {
                let [from, to] = if turned { [own.to, own.from] } else { [own.from, own.to] };
                [own.piece.0, from.0, to.0]
            };
            let mut rows: Vec<[u32; 3]> = step.iter().map(ends).collect();
            rows.sort_unstable();
            rows
        };
        let own = self.steps.iter().map(|step| turn(step, false));
        own.eq(others.steps.iter().rev().map(|step| turn(step, true)))
    }

    /// The table as a constant, with the rows of each rank on lines of their own. `row` is what is written of a move.
    pub(super) fn write_table(
        &self,
        name: &str,
        row: impl Fn(&Move) -> String,
        text: &mut String,
    ) -> fmt::Result {
        writeln!(text, "let {name} = [")?;
        for step in &self.steps {
            let mut step = step.clone();
            step.sort_by_key(|own| (own.from, own.piece, own.to));
            writeln!(text, "[")?;
            for of_rank in step.chunk_by(|one, other| one.from == other.from) {
                let rows: Vec<String> = of_rank.iter().map(|own| row(own)).collect();
                writeln!(text, "{},", rows.join(", "))?;
            }
            writeln!(text, "],")?;
        }
        writeln!(text, "];")?;
        writeln!(text)
    }
}
