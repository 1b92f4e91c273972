//! The actions that complete a program which has a collective and a machine, and no block. Searches take their time, so these
//! are commands: the server finds the program, and then changes the file.

use crate::analysis::Analysis;
use crate::commands::{SYNTHESIZE, is_unfinished};
use compiler::driver::CompletionGoal;
use compiler::syntax::ast::ItemKind;
use lsp_types::{CodeAction, CodeActionKind, Command, Range, Url};

/// The kind of these actions.
pub(super) const KIND: CodeActionKind = CodeActionKind::REFACTOR_REWRITE;

/// What is looked for, as the command is told, and as people are.
pub(crate) const GOALS: [SynthesisChoice; 3] = [
    SynthesisChoice {
        goal: CompletionGoal::LeastTime,
        word: "time",
        title: "Synthesize the program that takes the least time",
    },
    SynthesisChoice {
        goal: CompletionGoal::LeastSteps,
        word: "steps",
        title: "Synthesize the program with the fewest steps",
    },
    SynthesisChoice {
        goal: CompletionGoal::LongMessages,
        word: "trees",
        title: "Synthesize a program for long messages",
    },
];

/// Something that can be looked for.
pub(crate) struct SynthesisChoice {
    pub(crate) goal: CompletionGoal,
    pub(crate) word: &'static str,
    title: &'static str,
}

/// The actions for the unfinished programs in a range.
pub(super) fn synthesize(analysis: &Analysis<'_>, url: &Url, range: Range) -> Vec<CodeAction> {
    let mut actions = Vec::new();
    for part in analysis.parts() {
        for item in &analysis.parsed(part).file.items {
            let ItemKind::Program(program) = &item.kind else { continue };
            let place = analysis.lines.range(part.range(item.span));
            let meets = place.start <= range.end && range.start <= place.end;
            if !meets || program.name.text.is_empty() || !is_unfinished(program) {
                continue;
            }
            actions.extend(GOALS.iter().map(|choice| offer(choice, url, &program.name.text)));
        }
    }
    actions
}

fn offer(choice: &SynthesisChoice, url: &Url, program: &str) -> CodeAction {
    let arguments = vec![url.as_str().into(), program.into(), choice.word.into()];
    CodeAction {
        title: choice.title.to_owned(),
        kind: Some(KIND),
        command: Some(Command::new(
            choice.title.to_owned(),
            SYNTHESIZE.to_owned(),
            Some(arguments),
        )),
        ..CodeAction::default()
    }
}
