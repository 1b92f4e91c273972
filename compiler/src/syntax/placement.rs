//! Checks where statements are allowed. The grammar has one kind of statement for all places, so that a misplaced
//! one gets a report of its own.
//!
//! In: a tree. Out: a report for each statement in the wrong place. The rules:
//!
//! - `let`, `require`, `for`, `if` and calls are allowed anywhere.
//! - Operations belong in a block or a group; a group takes only those that move data.
//! - `block`, `group` and `barrier` are allowed outside blocks and groups only.
//! - A `pipeline` is allowed outside groups and other pipelines; it takes no groups and no packets.
//! - Blocks are declared at the top level of a program; `*` for a whole family opens blocks and declares none.
//! - A procedure may contain whatever is allowed where it is called, so that only the content of its blocks is
//!   checked in it.

use super::ast::{Block, Body, Dimension, Else, File, If, ItemKind, ProgramItemKind, StmtKind};
use super::fault::{Fault, Reach};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// Reports the statements that are in the wrong place.
#[must_use]
pub fn check(file: &File) -> Vec<Fault> {
    let mut faults = Vec::new();
    for item in &file.items {
        match &item.kind {
            ItemKind::Program(program) => {
                let mut run = Run::default();
                for item in &program.items {
                    match &item.kind {
                        ProgramItemKind::Statement(kind) => {
                            statement(TOP, kind, item.span, &mut run, &mut faults);
                        }
                        ProgramItemKind::Implements(_)
                        | ProgramItemKind::Machine(_)
                        | ProgramItemKind::Options(_)
                        | ProgramItemKind::Scratch(_)
                        | ProgramItemKind::Channel(_)
                        | ProgramItemKind::Semaphore(_) => run = Run::default(),
                    }
                }
            }
            ItemKind::Procedure(procedure) => body(PROCEDURE, &procedure.body, &mut faults),
            ItemKind::Use(_)
            | ItemKind::Let(_)
            | ItemKind::Function(_)
            | ItemKind::Collective(_)
            | ItemKind::Topology(_) => {}
        }
    }
    faults
}

/// What encloses a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Program,
    Procedure,
    Block,
    Group,
}

/// Where a statement is.
#[derive(Clone, Copy)]
struct Place {
    level: Level,
    /// Whether a pipeline encloses it.
    pipeline: bool,
    /// Whether it is directly at the top level of a program.
    top: bool,
}

const TOP: Place = Place { level: Level::Program, pipeline: false, top: true };
const PROCEDURE: Place = Place { level: Level::Procedure, pipeline: false, top: false };

/// A run of operations outside a block: they all lack the same block, which is one mistake.
#[derive(Default)]
struct Run {
    lacks_block: bool,
}

fn body(place: Place, body: &Body, faults: &mut Vec<Fault>) {
    let mut run = Run::default();
    for stmt in &body.statements {
        statement(place, &stmt.kind, stmt.span, &mut run, faults);
    }
}

fn statement(place: Place, kind: &StmtKind, span: Span, run: &mut Run, faults: &mut Vec<Fault>) {
    let inner = Place { top: false, ..place };
    let lacked_block = std::mem::take(&mut run.lacks_block);
    match kind {
        StmtKind::Let(_) | StmtKind::Require(_) | StmtKind::Call(_, _) => {}
        StmtKind::For(_, inside) => body(inner, inside, faults),
        StmtKind::If(conditional) => r#if(inner, conditional, faults),
        StmtKind::Block(opened) => block(place, opened, span, faults),
        StmtKind::Group(_, inside) => {
            if place.pipeline {
                faults.push(in_pipeline(span, "group"));
            } else if matches!(place.level, Level::Block | Level::Group) {
                faults.push(in_block(span, "group", place.level));
            }
            body(Place { level: Level::Group, ..inner }, inside, faults);
        }
        StmtKind::Pipeline(_, inside) => {
            if place.pipeline {
                faults.push(in_pipeline(span, "pipeline"));
            } else if place.level == Level::Group {
                faults.push(in_group(span, "pipeline"));
            }
            body(Place { pipeline: true, ..inner }, inside, faults);
        }
        StmtKind::Barrier(_) => {
            if matches!(place.level, Level::Block | Level::Group) {
                // Other faults in this statement are consequences of this one.
                let fault = in_block(span, "barrier", place.level);
                faults.push(Fault { reach: Reach::Statement, ..fault });
            }
        }
        StmtKind::Transfer(transfer) if place.level != Level::Program => {
            if place.pipeline && transfer.verb.moves_packets() {
                faults.push(packets_in_pipeline(transfer.verb_span));
            }
        }
        StmtKind::Sync | StmtKind::Synchronise(_) if place.level == Level::Group => {
            faults.push(in_group(first_word(kind, span), "synchronization"));
        }
        StmtKind::Transfer(_) | StmtKind::Sync | StmtKind::Synchronise(_) => {
            run.lacks_block = place.level == Level::Program;
            if run.lacks_block && !lacked_block {
                faults.push(outside_blocks(first_word(kind, span)));
            }
        }
    }
}

fn r#if(place: Place, conditional: &If, faults: &mut Vec<Fault>) {
    body(place, &conditional.then, faults);
    match &conditional.otherwise {
        None => {}
        Some(Else::If(nested)) => r#if(place, nested, faults),
        Some(Else::Body(otherwise)) => body(place, otherwise, faults),
    }
}

fn block(place: Place, block: &Block, span: Span, faults: &mut Vec<Fault>) {
    if matches!(place.level, Level::Block | Level::Group) {
        faults.push(in_block(span, "block", place.level));
    } else if block.body.is_none() && !place.top {
        faults.push(declared_inside(span, &block.name.text));
    } else if block.body.is_none() {
        let all = block.dimensions.iter().find_map(|dimension| match dimension {
            Dimension::All(span) => Some(*span),
            Dimension::Binder(_) | Dimension::Value(_) => None,
        });
        faults.extend(all.map(all_declared));
    }
    if let Some(inside) = &block.body {
        body(Place { level: Level::Block, top: false, ..place }, inside, faults);
    }
}

/// The word that an operation begins with; the whole span for any other statement.
fn first_word(kind: &StmtKind, span: Span) -> Span {
    match kind {
        StmtKind::Transfer(transfer) => transfer.verb_span,
        StmtKind::Synchronise(synchronise) => synchronise.verb_span,
        StmtKind::Sync => word(span, "sync"),
        StmtKind::Let(_)
        | StmtKind::Require(_)
        | StmtKind::For(_, _)
        | StmtKind::If(_)
        | StmtKind::Block(_)
        | StmtKind::Group(_, _)
        | StmtKind::Pipeline(_, _)
        | StmtKind::Barrier(_)
        | StmtKind::Call(_, _) => span,
    }
}

/// The word at the beginning of a statement.
fn word(span: Span, word: &str) -> Span {
    Span { end: (span.start + word.len() as u32).min(span.end), ..span }
}

fn fault(place: Span, message: String, help: &str) -> Fault {
    let report = Diagnostic::new(Code::E0108, place, message).help(help);
    Fault::new(place.start, Reach::Before, report)
}

fn outside_blocks(place: Span) -> Fault {
    let message = "an operation must be in a block or in a group of blocks".to_owned();
    fault(place, message, "open a block around it: `block main { .. }`")
}

fn in_block(span: Span, what: &str, level: Level) -> Fault {
    let around = if level == Level::Group { "group" } else { "block" };
    let message = format!("a `{what}` is not allowed in a {around}");
    let help = match what {
        "barrier" => {
            "end the block before it, and open it again after it; `sync;` synchronizes the threads of one block"
        }
        "block" => "end the block before it: blocks run side by side, and each can be opened again",
        _ => "end the block before it: a group opens its blocks itself",
    };
    fault(word(span, what), message, help)
}

fn in_group(place: Span, what: &str) -> Fault {
    let message = format!("a group takes only operations that move data, and no {what}");
    let place = if what == "pipeline" { word(place, what) } else { place };
    fault(place, message, "let the blocks do it themselves: `block name[*] { .. }`")
}

fn in_pipeline(span: Span, what: &str) -> Fault {
    let message = format!("a `{what}` is not allowed in a pipeline");
    fault(word(span, what), message, "end the pipeline before it")
}

fn packets_in_pipeline(place: Span) -> Fault {
    let message = "packets cannot be moved in a pipeline".to_owned();
    fault(
        place,
        message,
        "use the operation of the same name without `_packets`, and `signal` and `wait`",
    )
}

fn declared_inside(span: Span, name: &str) -> Fault {
    let message = "a block must be declared at the top level of a program".to_owned();
    let help = format!("declare a family there, with a filter: `block {name}[p in peers if ..];`");
    fault(word(span, "block"), message, &help)
}

fn all_declared(place: Span) -> Fault {
    let report =
        Diagnostic::new(Code::E0101, place, "`*` stands for a family that is already declared")
            .help("declare the family over something: `[t in 0..4]`");
    Fault::new(place.start, Reach::Statement, report)
}
