//! The programs of schedules and of trees.

use super::files::PointTexts;
use compiler::driver::{
    PackedText, ScheduledFailure, write_packed_allreduce, write_packed_program,
    write_scheduled_packets, write_scheduled_program,
};
use compiler::interrupt::Interrupt;
use compiler::machine::Machine;
use compiler::synthesize::{
    ProgramForm, ProgramHead, name_packet_program, name_step_program, name_tree_program,
};
use std::sync::Arc;
use synth::collective::CollectiveKind;
use synth::frontier::{FrontierPoint, PointStatus};
use synth::trees::{AllReducePacking, PackingEnd, TreeDirection, TreeSet, WeightedTree};

/// What all programs of a run have in common.
pub(super) struct ProgramWriter<'a> {
    /// The collective as it was asked for.
    pub(super) question: &'a str,
    /// The constraints, as flags; empty if there are none.
    pub(super) sketch: &'a str,
    /// The machine that schedules are for, without the links that a sketch keeps from carrying anything.
    pub(super) machine: &'a Arc<Machine>,
    /// The machine with these links: signals may use them.
    pub(super) whole: &'a Arc<Machine>,
    /// The machine as it was asked for, for names of programs.
    pub(super) machine_name: &'a str,
    /// Whether the library has the machine.
    pub(super) is_library_machine: bool,
    pub(super) kind: CollectiveKind,
    pub(super) form: ProgramForm,
}

/// A program.
pub(super) struct WrittenProgram {
    /// Its name.
    pub(super) name: String,
    /// Its text, which is formatted.
    pub(super) text: String,
    /// What is to be said of it.
    pub(super) remark: Option<String>,
}

impl WrittenProgram {
    /// Of which nothing is to be said.
    pub(super) fn new(name: String, text: String) -> WrittenProgram {
        WrittenProgram { name, text, remark: None }
    }

    /// A program of trees, whose header says that no schedule is faster if it takes as long as these; otherwise why it does
    /// not.
    fn of_trees(name: String, packed: PackedText, why: &str) -> WrittenProgram {
        let PackedText { text, slowdown } = packed;
        let Some(slowdown) = slowdown else { return WrittenProgram::new(name, text) };
        let remark = format!("it takes {slowdown} times as long as the trees: {why}");
        let header = format!("As messages become long, {remark}.");
        let text = text.replacen(FASTEST, &header, 1);
        WrittenProgram { name, text, remark: Some(remark) }
    }
}

/// What headers say of trees that are as fast as their bound.
const FASTEST: &str = "No schedule is faster as messages become long.";

/// Why a program may be slower than its trees.
const NO_WAYS: &str = "channels choose none of several ways between ranks";

/// The same where switches add.
const READS_OWN: &str = "a switch that adds gets its reader's part, too";

impl ProgramWriter<'_> {
    /// Writes the program of a point.
    fn write_point(
        &self,
        point: &FrontierPoint,
        interrupt: &Interrupt,
    ) -> Result<WrittenProgram, ScheduledFailure> {
        let size = point.schedule.measure();
        let name = name_step_program(self.kind, self.machine_name, size);
        let header = self.describe_point(point, "");
        let head = self.begin(&name, &header, u64::from(size.chunks));
        let text = write_scheduled_program(&head, &point.schedule, self.whole, interrupt)?;
        Ok(WrittenProgram::new(name, text))
    }

    /// Writes the programs of a point, with packets if these are wanted, too.
    pub(super) fn write_texts(
        &self,
        point: &FrontierPoint,
        wants_packets: bool,
        interrupt: &Interrupt,
    ) -> PointTexts {
        let program = self.write_point(point, interrupt).map_err(|why| why.to_string());
        let packets = if wants_packets && program.is_ok() {
            self.write_packets(point, interrupt).map_err(|why| why.to_string())
        } else {
            Ok(None)
        };
        PointTexts { program, packets }
    }

    /// Writes the program of a point with packets, if it has one.
    fn write_packets(
        &self,
        point: &FrontierPoint,
        interrupt: &Interrupt,
    ) -> Result<Option<WrittenProgram>, ScheduledFailure> {
        let size = point.schedule.measure();
        let name = name_packet_program(&name_step_program(self.kind, self.machine_name, size));
        let header = self.describe_point(point, ", for short messages");
        let head = self.begin(&name, &header, u64::from(size.chunks));
        let text = write_scheduled_packets(&head, &point.schedule, self.whole, interrupt)?;
        Ok(text.map(|text| WrittenProgram::new(name, text)))
    }

    fn describe_point(&self, point: &FrontierPoint, purpose: &str) -> [String; 3] {
        let machine = describe_machine(self.machine, self.sketch);
        describe_point(self.question, &machine, point, purpose)
    }

    /// Writes the program of trees.
    pub(super) fn write_trees(
        &self,
        trees: &TreeSet,
        interrupt: &Interrupt,
    ) -> Result<WrittenProgram, ScheduledFailure> {
        let name = name_tree_program(self.kind, self.machine_name);
        let header = [
            format!(
                "`{}` on {}, for long messages: {} for each rank, with paths of at most {}.",
                self.question,
                describe_machine(self.machine, self.sketch),
                count(trees.k, "tree"),
                count(u64::from(trees.measure_depth()), "hop"),
            ),
            String::new(),
            format!("Written by `cclc synth` {}. {FASTEST}", env!("CARGO_PKG_VERSION")),
        ];
        let head = self.begin(&name, &header, trees.k);
        let packed = write_packed_program(&head, trees, self.whole, interrupt)?;
        Ok(WrittenProgram::of_trees(name.clone(), packed, NO_WAYS))
    }

    /// Writes the program of trees of an AllReduce.
    pub(super) fn write_allreduce(
        &self,
        packing: &AllReducePacking,
        interrupt: &Interrupt,
    ) -> Result<WrittenProgram, ScheduledFailure> {
        let trees = &packing.trees;
        let name = name_tree_program(self.kind, self.machine_name);
        let [sums, copies] = [TreeDirection::ToRoot, TreeDirection::FromRoot]
            .map(|half| count(u64::from(trees.measure_depth(&self.machine.graph, half)), "hop"));
        let quality = match packing.end {
            PackingEnd::BoundReached => FASTEST,
            PackingEnd::AboveBound | PackingEnd::OutOfBudget | PackingEnd::TooLarge => {
                "A faster one may exist."
            }
        };
        let header = [
            format!(
                "`{}` on {}, for long messages: {} of the buffer, sums over at most {sums}, copies over at most {copies}.",
                self.question,
                describe_machine(self.machine, self.sketch),
                count(trees.k, "piece"),
            ),
            String::new(),
            format!("Written by `cclc synth` {}. {quality}", env!("CARGO_PKG_VERSION")),
        ];
        let head = self.begin(&name, &header, trees.k);
        let packed = write_packed_allreduce(&head, trees, self.whole, interrupt)?;
        let graph = &self.machine.graph;
        let adds = |tree: &WeightedTree| tree.edges.iter().any(|edge| !graph.is_rank(edge.to));
        let why = if trees.sums.iter().any(adds) { READS_OWN } else { NO_WAYS };
        Ok(WrittenProgram::of_trees(name.clone(), packed, why))
    }

    fn begin<'p>(&'p self, name: &'p str, header: &'p [String], chunks: u64) -> ProgramHead<'p> {
        ProgramHead {
            machine: self.machine,
            whole: self.whole,
            is_library_machine: self.is_library_machine,
            kind: self.kind,
            chunks,
            name,
            header,
            form: self.form,
        }
    }
}

/// A machine, and the constraints on what is sent there.
pub(super) fn describe_machine(machine: &Machine, sketch: &str) -> String {
    let constraints = if sketch.is_empty() { String::new() } else { format!(" with `{sketch}`") };
    format!("`{}`{constraints}", machine.name)
}

/// The header of a point's programs. `purpose` follows the machine.
pub(super) fn describe_point(
    question: &str,
    machine: &str,
    point: &FrontierPoint,
    purpose: &str,
) -> [String; 3] {
    let size = point.schedule.measure();
    let quality = match point.status {
        PointStatus::Optimal => "No schedule of so many steps is faster.",
        PointStatus::AboveBound { .. } => "A faster one may exist.",
    };
    [
        format!(
            "`{question}` on {machine}{purpose}: {}, {}, {} of each chunk.",
            count(u64::from(size.steps), "step"),
            count(size.rounds, "round"),
            count(u64::from(size.chunks), "piece"),
        ),
        String::new(),
        format!("Written by `cclc synth` {}. {quality}", env!("CARGO_PKG_VERSION")),
    ]
}

/// So many of something whose plural ends in s.
pub(super) fn count(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}
