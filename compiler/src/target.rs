//! What programs are compiled for: one row per target.
//!
//! In: an elaborated program, or one in its final form. Out: the final form for a target, what the target has no room for,
//! its source files. The command line, the language server and the extension for VS Code offer the targets of [`TARGETS`].
//!
//! A row has everything in which targets differ; nothing else in the compiler names one, except where only plans are
//! meant ([`PLAN`]). What is the same for all is in the driver.

mod cuda;
mod mscclpp;
mod plan;

use crate::check::limits;
use crate::cuda::launch::{self, Elements};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::interrupt::Interrupt;
use crate::ir::{Program, ReduceOp};
use crate::optimize::replicate;
use crate::source::SourceMap;
pub use cuda::{CUDA, NVSHMEM};
pub use mscclpp::MSCCLPP;
pub use plan::PLAN;

/// All targets, in the order in which they are listed. The first is the default.
pub static TARGETS: &[&Target] = &[&PLAN, &CUDA, &NVSHMEM, &MSCCLPP];

/// What a program is compiled for.
#[derive(Debug)]
pub struct Target {
    /// The word for it, on the command line and in settings.
    pub word: &'static str,
    /// The word and the version whose interface it is made for, if that changes from version to version.
    pub versioned: Option<&'static str>,
    /// What it is, for lists of targets.
    pub description: &'static str,
    /// The passes that give a program its final form.
    pub passes: fn(Program) -> Program,
    /// What is said of a channel that the machine has no way for, where the passes made it; none if they make no channels.
    pub channel_note: Option<&'static str>,
    /// The target in whose form programs are run on the CPU; none if it has a form of its own.
    pub runs_as: Option<&'static Target>,
    /// What is written.
    pub writer: Writer,
}

/// Two targets with one word are the same.
impl PartialEq for Target {
    fn eq(&self, other: &Target) -> bool {
        self.word == other.word
    }
}

impl Eq for Target {}

/// What is written for a target.
#[derive(Debug)]
pub enum Writer {
    /// A plan, which MSCCL++'s executor runs.
    Plan,
    /// Kernels, as source files.
    Kernels(KernelWriter),
}

/// How kernels are written.
#[derive(Debug)]
pub struct KernelWriter {
    /// How the name of the main file ends.
    pub extension: &'static str,
    /// What there is no room for in a program with all its copies.
    pub limits: fn(&Program, Capacity) -> Vec<Diagnostic>,
    /// Writes the files; none if it was interrupted.
    pub write: fn(&KernelJob<'_>) -> Option<KernelFiles>,
}

/// What kernels are written from.
#[derive(Clone, Copy, Debug)]
pub struct KernelJob<'a> {
    /// The program with all its copies.
    pub program: &'a Program,
    /// Whether it is proved that launches may follow each other whatever the sizes of their messages.
    pub any_size: bool,
    /// The name of the main file, without its extension.
    pub name: &'a str,
    /// The files that the program comes from.
    pub sources: &'a SourceMap,
    /// Set when nobody waits for the result any more.
    pub interrupt: &'a Interrupt,
}

/// The files of one program's kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFiles {
    /// The text of the main file.
    pub main: String,
    /// The files that go next to it, in the order in which they are written.
    pub beside: Vec<KernelFile>,
}

/// A file next to the kernels' main file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// How much a target has room for, and what it means if a program needs more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Thread blocks that the GPU runs at once.
    pub sms: u32,
    /// How severe it is if the target cannot do something: an error, except in measurements.
    pub worst: Severity,
}

/// The target with this name, which is its word, or its word and version: `mscclpp`, `mscclpp@0.9`.
#[must_use]
pub fn find_target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().copied().find(|target| target.word == name || target.full_name() == name)
}

impl Target {
    /// Its word, with its version if it has one.
    #[must_use]
    pub fn full_name(&self) -> &'static str {
        self.versioned.unwrap_or(self.word)
    }

    /// Whether plans are written for it, for which the executor's limits count.
    #[must_use]
    pub fn is_plan(&self) -> bool {
        match self.writer {
            Writer::Plan => true,
            Writer::Kernels(_) => false,
        }
    }

    /// How the name of its main file ends.
    #[must_use]
    pub fn extension(&self) -> &'static str {
        match &self.writer {
            Writer::Plan => "json",
            Writer::Kernels(writer) => writer.extension,
        }
    }

    /// The target in whose form programs are run on the CPU.
    #[must_use]
    pub fn run_form(&'static self) -> &'static Target {
        self.runs_as.unwrap_or(self)
    }

    /// What the target has no room for in a program in its final form, whose copies are not made yet.
    #[must_use]
    pub fn check_limits(&self, program: &Program, capacity: Capacity) -> Vec<Diagnostic> {
        match &self.writer {
            Writer::Plan => plan::check_limits(program, capacity),
            Writer::Kernels(writer) => {
                (writer.limits)(&replicate::replicate(program.clone()), capacity)
            }
        }
    }

    /// How many entries of a list of channels or semaphores an operation handles. The executor gives each a thread of its
    /// own, so those beyond a block's threads are not handled; kernels handle them all.
    #[must_use]
    pub fn count_handled_entries(&self, program: &Program) -> usize {
        match self.writer {
            Writer::Plan => program.options.threads as usize,
            Writer::Kernels(_) => usize::MAX,
        }
    }

    /// Why a launch with such elements and that reduction is refused, in words; none if it is not.
    #[must_use]
    pub fn refuse_launch(
        &self,
        program: &Program,
        elements: Elements,
        op: ReduceOp,
    ) -> Option<&'static str> {
        match self.writer {
            Writer::Plan => None,
            Writer::Kernels(_) => launch::refusal(program, elements, op),
        }
    }
}

impl Capacity {
    /// The limits of the executor.
    #[must_use]
    pub fn limits(self) -> limits::Limits {
        limits::Limits { max_blocks: self.sms }
    }

    /// The reports of a program that may not have been built, so that its limits are not known except for the
    /// operations that the target lacks: these reports are no more severe than the worst.
    #[must_use]
    pub fn grade_lacking(self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let (lacking, others): (Vec<_>, Vec<_>) =
            diagnostics.into_iter().partition(|report| report.code == Code::E0807);
        others.into_iter().chain(self.grade(lacking)).collect()
    }

    /// The reports, none of them more severe than the worst.
    #[must_use]
    pub fn grade(self, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        for report in &mut diagnostics {
            report.severity = report.severity.min(self.worst);
        }
        diagnostics
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_that_of_one_target() {
        let names = TARGETS.iter().flat_map(|target| [target.word, target.full_name()]);
        for name in names.collect::<BTreeSet<&str>>() {
            let named = TARGETS.iter().filter(|one| one.word == name || one.full_name() == name);
            assert_eq!(named.count(), 1, "{name}");
            assert!(find_target(name).is_some(), "{name}");
        }
        assert_eq!(find_target("mscclpp@0.9"), find_target("mscclpp"));
        assert_eq!(find_target("mscclpp@0.8"), None);
    }

    /// A form in which others run is one of its own.
    #[test]
    fn a_run_has_one_form() {
        for target in TARGETS.iter().copied() {
            assert_eq!(target.run_form().runs_as, None, "{}", target.word);
        }
    }
}
