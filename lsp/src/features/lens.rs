//! Code lenses above a program: its size, whether it is proved, and commands for it.
//!
//! The client runs the commands: `ccl.showElaborated`, `ccl.buildPlan` and `ccl.run`, each with the URL of the file and
//! the name of the program. It gets the lenses whose commands it names in `initialize`.

use crate::analysis::{Analysis, Part};
use crate::concrete;
use crate::operations::{self, counted};
use crate::publisher::Known;
use crate::verdict::Verdict;
use compiler::ir;
use compiler::syntax::ast::{ItemKind, Program};
use lsp_types::{CodeLens, Command, DiagnosticSeverity, Range, Url};

/// The commands of lenses.
pub const COMMANDS: [&str; 3] = ["ccl.showElaborated", "ccl.buildPlan", "ccl.run"];

/// Which of [`COMMANDS`] a client can run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LensCommands {
    /// For each command, whether the client can.
    runs: [bool; COMMANDS.len()],
}

impl LensCommands {
    /// The commands of which `runs` says that the client can run them.
    #[must_use]
    pub fn new(runs: impl Fn(&str) -> bool) -> LensCommands {
        LensCommands { runs: COMMANDS.map(runs) }
    }

    /// Whether the client can run any.
    #[must_use]
    pub fn has_any(self) -> bool {
        self.runs.contains(&true)
    }

    fn has(self, command: &Command) -> bool {
        COMMANDS.into_iter().zip(self.runs).any(|(name, runs)| runs && name == command.command)
    }
}

/// The lenses of a file for a client that `runs` these commands. `known` is the latest result of the checks for this
/// version of the file.
#[must_use]
pub fn lenses(
    analysis: &Analysis<'_>,
    url: &Url,
    known: Option<&Known>,
    runs: LensCommands,
) -> Vec<CodeLens> {
    let mut lenses = Vec::new();
    for part in analysis.parts() {
        for item in &analysis.parsed(part).file.items {
            if let ItemKind::Program(program) = &item.kind {
                let name = analysis.lines.range(part.range(program.name.span));
                let whole = analysis.lines.range(part.range(item.span));
                let verdict = known.and_then(|known| verdict(known, &program.name.text, whole));
                let title = title(analysis, part, verdict.as_deref());
                lenses.extend(commands(name, url, program, title));
            }
        }
    }
    lenses.retain(|lens| lens.command.as_ref().is_some_and(|command| runs.has(command)));
    lenses
}

fn commands(range: Range, url: &Url, program: &Program, title: String) -> [CodeLens; 3] {
    let arguments = vec![url.as_str().into(), program.name.text.as_str().into()];
    let [elaborated, build, run] = COMMANDS;
    let lens = |title: String, command: &str| CodeLens {
        range,
        command: Some(Command::new(title, command.to_owned(), Some(arguments.clone()))),
        data: None,
    };
    [lens(title, elaborated), lens("build plan".to_owned(), build), lens("run".to_owned(), run)]
}

/// "8 ranks · 12 blocks · 96 operations · proved", as far as this is known.
fn title(analysis: &Analysis<'_>, part: Part<'_>, verdict: Option<&str>) -> String {
    let lowered = concrete::lowered(analysis.database, part.declaration);
    let size = lowered.map(|program| size(&program));
    let parts: Vec<String> = size.into_iter().chain(verdict.map(str::to_owned)).collect();
    if parts.is_empty() { "show elaborated".to_owned() } else { parts.join(" · ") }
}

fn size(program: &ir::Program) -> String {
    let blocks = program.ranks.iter().map(|rank| rank.blocks.len()).max().unwrap_or(0);
    let mut operations = 0;
    operations::each(program, &mut |_| operations += 1);
    let sizes = [
        counted(program.ranks.len(), "rank"),
        counted(blocks, "block"),
        counted(operations, "operation"),
    ];
    sizes.join(" · ")
}

/// What is known about a program, which has this name and range; none if it is neither wrong nor checked.
fn verdict(known: &Known, name: &str, range: Range) -> Option<String> {
    match known.verdicts.get(name) {
        Some(Verdict::Proved) => Some("proved".to_owned()),
        Some(Verdict::Open) => Some("not fully checked".to_owned()),
        Some(Verdict::Wrong(errors)) => Some(counted(*errors, "error")),
        None => {
            let errors = errors(known, range);
            (errors > 0).then(|| counted(errors, "error"))
        }
    }
}

/// How many errors a range has.
fn errors(known: &Known, range: Range) -> usize {
    let all = known.problems.iter().map(|problem| &problem.diagnostic);
    let inside = all.filter(|diagnostic| {
        range.start <= diagnostic.range.start && diagnostic.range.end <= range.end
    });
    inside.filter(|diagnostic| diagnostic.severity == Some(DiagnosticSeverity::ERROR)).count()
}
