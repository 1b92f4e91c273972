//! The programs of schedules.

use compiler::driver::{ScheduledFailure, write_scheduled_program};
use compiler::interrupt::Interrupt;
use compiler::machine::Machine;
use compiler::synthesize::{ProgramRequest, name_program};
use std::sync::Arc;
use synth::collective::CollectiveKind;
use synth::frontier::{FrontierPoint, PointStatus};

/// What all programs of a run have in common.
pub(super) struct ProgramWriter<'a> {
    /// The collective as it was asked for.
    pub(super) question: &'a str,
    pub(super) machine: &'a Arc<Machine>,
    /// Whether the library has the machine.
    pub(super) is_library_machine: bool,
    pub(super) kind: CollectiveKind,
}

/// A program.
pub(super) struct WrittenProgram {
    /// Its name.
    pub(super) name: String,
    /// Its text, which is formatted.
    pub(super) text: String,
}

impl ProgramWriter<'_> {
    /// Writes the program of a point.
    pub(super) fn write(
        &self,
        point: &FrontierPoint,
        interrupt: &Interrupt,
    ) -> Result<WrittenProgram, ScheduledFailure> {
        let size = point.schedule.measure();
        let name = name_program(self.kind, self.machine, size);
        let header = self.describe(point);
        let request = ProgramRequest {
            machine: self.machine,
            is_library_machine: self.is_library_machine,
            kind: self.kind,
            schedule: &point.schedule,
            name: &name,
            header: &header,
        };
        let text = write_scheduled_program(&request, self.machine, interrupt)?;
        Ok(WrittenProgram { name, text })
    }

    /// What the file says of its program.
    fn describe(&self, point: &FrontierPoint) -> Vec<String> {
        let size = point.schedule.measure();
        let (question, machine) = (self.question, &self.machine.name);
        let count = |number: u64, one: &str| {
            if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
        };
        let quality = match point.status {
            PointStatus::Optimal => "No schedule of so many steps is faster.",
            PointStatus::AboveBound { .. } => "A faster one may exist.",
        };
        vec![
            format!(
                "`{question}` on `{machine}`: {}, {}, {} of each chunk.",
                count(u64::from(size.steps), "step"),
                count(size.rounds, "round"),
                count(u64::from(size.chunks), "piece"),
            ),
            String::new(),
            format!("Written by `cclc synth` {}. {quality}", env!("CARGO_PKG_VERSION")),
        ]
    }
}
