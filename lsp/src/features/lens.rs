//! Code lenses above a program: its size, whether it is proved, and commands for it.
//!
//! The client implements the commands: `ccl.showElaborated`, `ccl.buildPlan` and `ccl.run`, each with the URL of the
//! file and the name of the program.

use crate::analysis::{Analysis, Part};
use crate::concrete;
use crate::operations::{self, counted};
use crate::publisher::Known;
use crate::verdict::Verdict;
use compiler::ir;
use compiler::syntax::ast::{ItemKind, Program};
use lsp_types::{CodeLens, Command, DiagnosticSeverity, Range, Url};

/// The lenses of a file. `known` is the latest result of the checks for this version of it.
#[must_use]
pub fn lenses(analysis: &Analysis<'_>, url: &Url, known: Option<&Known>) -> Vec<CodeLens> {
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
    lenses
}

fn commands(range: Range, url: &Url, program: &Program, title: String) -> [CodeLens; 3] {
    let arguments = vec![url.as_str().into(), program.name.text.as_str().into()];
    let lens = |title: String, command: &str| CodeLens {
        range,
        command: Some(Command::new(title, command.to_owned(), Some(arguments.clone()))),
        data: None,
    };
    [
        lens(title, "ccl.showElaborated"),
        lens("build plan".to_owned(), "ccl.buildPlan"),
        lens("run".to_owned(), "ccl.run"),
    ]
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
