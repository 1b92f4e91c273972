//! Code lenses above a program: its size, whether it is proved, how near it comes to what its machine allows, and commands
//! for it.
//!
//! While a program has errors, its lenses keep its size; what is claimed about it is never older than its text.
//!
//! The client runs the commands: `ccl.showElaborated`, `ccl.buildPlan` and `ccl.run`, each with the URL of the file and
//! the name of the program. It gets the lenses whose commands it names in `initialize`.

use crate::analysis::{Analysis, Part};
use crate::concrete;
use crate::operations::{self, counted};
use crate::publisher::Known;
use crate::retained::{Retainable, Retained};
use crate::text::TextChange;
use crate::verdict::Verdict;
use compiler::ir;
use compiler::syntax::ast::ItemKind;
use lsp_types::{CodeLens, Command, DiagnosticSeverity, Url};
use std::ops::Range;

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

/// A program as its lenses showed it: while it has errors, they keep its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizedProgram {
    name: String,
    /// The place of the name in the file.
    place: Range<u32>,
    size: String,
}

impl Retainable for SizedProgram {
    fn carry(&mut self, change: &TextChange) -> bool {
        change.carry(&mut self.place)
    }
}

/// The lenses of a file for a client that `runs` these commands. `known` is the latest result of the checks for this
/// version of the file, and `retained` has the programs that were shown before.
#[must_use]
pub fn lenses(
    analysis: &Analysis<'_>,
    url: &Url,
    known: Option<&Known>,
    retained: &Retained<SizedProgram>,
    runs: LensCommands,
) -> Vec<CodeLens> {
    let mut lenses = Vec::new();
    for part in analysis.parts() {
        for shown in programs(analysis, part, url, retained) {
            let verdict = known.and_then(|known| verdict(known, &shown.name, shown.whole));
            let is_proved = matches!(verdict, Some(ShownVerdict::Proved));
            let bandwidth = if is_proved {
                concrete::bandwidth(analysis.database, part.declaration)
            } else {
                None
            };
            let mut parts: Vec<String> = shown.size.into_iter().collect();
            parts.extend(verdict.map(ShownVerdict::describe));
            parts.extend(bandwidth);
            let title =
                if parts.is_empty() { "show elaborated".to_owned() } else { parts.join(" · ") };
            lenses.extend(commands(shown.range, url, &shown.name, title));
        }
    }
    lenses.retain(|lens| lens.command.as_ref().is_some_and(|command| runs.has(command)));
    lenses
}

/// A program that has lenses.
struct ShownProgram {
    name: String,
    /// The range of its name.
    range: lsp_types::Range,
    /// The range of its declaration.
    whole: lsp_types::Range,
    size: Option<String>,
}

/// The programs of a declaration, with their sizes.
fn programs(
    analysis: &Analysis<'_>,
    part: Part<'_>,
    url: &Url,
    retained: &Retained<SizedProgram>,
) -> Vec<ShownProgram> {
    let text = analysis.document.text(analysis.database).unwrap_or_default();
    let title = part.declaration.title(analysis.database);
    let parsed = analysis.parsed(part);
    let written = parsed.file.items.iter().filter_map(|item| match &item.kind {
        // No command can be about a program that has no name yet.
        ItemKind::Program(program) => {
            (!program.name.text.is_empty()).then_some((program, item.span))
        }
        ItemKind::Use(_)
        | ItemKind::Let(_)
        | ItemKind::Function(_)
        | ItemKind::Procedure(_)
        | ItemKind::Collective(_)
        | ItemKind::Topology(_) => None,
    });
    let lowered = concrete::lowered(analysis.database, part.declaration);
    let size = lowered.map(|program| size(&program));
    let mut shown: Vec<ShownProgram> = written
        .map(|(program, span)| ShownProgram {
            name: program.name.text.clone(),
            range: analysis.lines.range(part.range(program.name.span)),
            whole: analysis.lines.range(part.range(span)),
            size: size.clone(),
        })
        .collect();
    if analysis.is_sound(part) {
        let sized = shown.iter().filter_map(|one| {
            let (name, place) = (one.name.clone(), analysis.lines.offsets(one.range));
            Some(SizedProgram { name, place, size: one.size.clone()? })
        });
        retained.keep(url, &text, &title, sized.collect());
        return shown;
    }
    for before in retained.recall(url, &text, &title) {
        let range = analysis.lines.range(before.place.clone());
        match shown.iter_mut().find(|one| one.name == before.name || one.range == range) {
            Some(one) => one.size = Some(before.size),
            None => shown.push(ShownProgram {
                name: before.name,
                range,
                whole: analysis.lines.range(part.start..part.end),
                size: Some(before.size),
            }),
        }
    }
    shown
}

fn commands(range: lsp_types::Range, url: &Url, program: &str, title: String) -> [CodeLens; 3] {
    let arguments = vec![url.as_str().into(), program.into()];
    let [elaborated, build, run] = COMMANDS;
    let lens = |title: String, command: &str| CodeLens {
        range,
        command: Some(Command::new(title, command.to_owned(), Some(arguments.clone()))),
        data: None,
    };
    [lens(title, elaborated), lens("build plan".to_owned(), build), lens("run".to_owned(), run)]
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

/// What a lens says of the checks.
enum ShownVerdict {
    Proved,
    Open,
    Wrong(usize),
}

impl ShownVerdict {
    fn describe(self) -> String {
        match self {
            ShownVerdict::Proved => "proved".to_owned(),
            ShownVerdict::Open => "not fully checked".to_owned(),
            ShownVerdict::Wrong(errors) => counted(errors, "error"),
        }
    }
}

/// What is known about a program, which has this name and range; none if it is neither wrong nor checked.
fn verdict(known: &Known, name: &str, range: lsp_types::Range) -> Option<ShownVerdict> {
    match known.verdicts.get(name) {
        Some(Verdict::Proved(_)) => Some(ShownVerdict::Proved),
        Some(Verdict::Open) => Some(ShownVerdict::Open),
        Some(Verdict::Wrong(errors)) => Some(ShownVerdict::Wrong(*errors)),
        None => {
            let errors = errors(known, range);
            (errors > 0).then_some(ShownVerdict::Wrong(errors))
        }
    }
}

/// How many errors a range has.
fn errors(known: &Known, range: lsp_types::Range) -> usize {
    let all = known.problems.iter().map(|problem| &problem.diagnostic);
    let inside = all.filter(|diagnostic| {
        range.start <= diagnostic.range.start && diagnostic.range.end <= range.end
    });
    inside.filter(|diagnostic| diagnostic.severity == Some(DiagnosticSeverity::ERROR)).count()
}
