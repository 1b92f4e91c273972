//! From a program that has a collective and a machine, and no block, to one that a search found.
//!
//! In: the elaborated program, and what the text says of its machine. Out: the text of a program with the same name, and that
//! of the declarations that it uses. It has gone through the checks, as for `cclc synth`.

use super::{write_packed_allreduce, write_packed_program, write_scheduled_program};
use crate::demand::{collect_demands, find_known_collective};
use crate::interrupt::Interrupt;
use crate::ir::{Program, Rank};
use crate::machine::Machine;
use crate::source::SourceMap;
use crate::syntax::{self, ast};
use crate::synthesize::{ProgramForm, ProgramHead};
use std::fmt;
use synth::collective::{Collective, CollectiveKind};
use synth::frontier::{FrontierGoal, FrontierPoint, FrontierRequest, PointStatus, find_frontier};
use synth::graph::Vertex;
use synth::observer::SearchObserver;
use synth::rational::Rational;
use synth::trees::{
    PackRequest, PackingEnd, find_allreduce_trees, has_trees, pack_collective_trees,
};

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionGoal {
    /// The fastest schedule of the least number of steps.
    LeastSteps,
    /// The fastest schedule of any number of steps.
    LeastTime,
    /// Trees for long messages.
    LongMessages,
}

/// A program without blocks.
#[derive(Clone, Copy, Debug)]
pub struct UnfinishedProgram<'a> {
    /// The program, elaborated with its promises.
    pub program: &'a Program,
    /// Its name.
    pub name: &'a str,
    /// The statement that names its machine, as it is written: `topology dgx1;`.
    pub machine: &'a str,
}

/// A `use` of a program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedImport {
    /// What it imports.
    pub names: Vec<String>,
    /// The line, without its end.
    pub line: String,
}

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedProgram {
    /// What it imports beside its collective and its machine.
    pub imports: Vec<CompletedImport>,
    /// The declarations that it uses, formatted, with an empty line behind each.
    pub declarations: String,
    /// What these declare.
    pub names: Vec<String>,
    /// The program itself, formatted.
    pub program: String,
    /// What it is, in a few words.
    pub summary: String,
}

/// Why there is no program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionError(String);

impl fmt::Display for CompletionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CompletionError {}

fn fail(text: impl fmt::Display) -> CompletionError {
    CompletionError(text.to_string())
}

/// Ends a search when its flag is set.
#[derive(Debug)]
struct InterruptObserver<'a>(&'a Interrupt);

impl SearchObserver for InterruptObserver<'_> {
    fn is_stopped(&self) -> bool {
        self.0.is_set()
    }
}

/// Finds a program with the collective and the machine of an unfinished one.
///
/// # Errors
/// [`CompletionError`], as a sentence for people.
pub fn complete_program(
    unfinished: &UnfinishedProgram<'_>,
    goal: CompletionGoal,
    interrupt: &Interrupt,
) -> Result<CompletedProgram, CompletionError> {
    let UnfinishedProgram { program, name, .. } = unfinished;
    let machine = program.machine.as_ref().ok_or_else(|| fail("the program names no topology"))?;
    let kind = find_kind(program)?;
    let begin = |chunks: u64| ProgramHead {
        machine,
        whole: machine,
        // The statement that the program has already is put in.
        is_library_machine: false,
        kind,
        chunks,
        name,
        header: &[],
        form: ProgramForm::Shortest,
    };
    let observer = InterruptObserver(interrupt);
    let stopped = || fail("the time was up before anything was found");
    let frontier_goal = match goal {
        CompletionGoal::LongMessages if kind == CollectiveKind::AllReduce => {
            let request = PackRequest { observer: &observer, ..PackRequest::default() };
            let packing = find_allreduce_trees(&machine.graph, request).map_err(fail)?;
            let packing = packing.map_err(fail)?;
            let head = begin(packing.trees.k);
            let text = write_packed_allreduce(&head, &packing.trees, machine, interrupt);
            let summary = match packing.end {
                PackingEnd::BoundReached => "no schedule is faster as messages become long",
                PackingEnd::AboveBound | PackingEnd::OutOfBudget | PackingEnd::TooLarge => {
                    "a faster one may exist for long messages"
                }
            };
            return split_text(&text.map_err(fail)?.text, unfinished.machine, summary.to_owned());
        }
        CompletionGoal::LongMessages => {
            if !has_trees(kind) {
                return Err(fail(format!("`{}` has no trees for long messages", kind.name())));
            }
            let request = PackRequest { observer: &observer, ..PackRequest::default() };
            let trees = pack_collective_trees(&machine.graph, kind, request).map_err(fail)?;
            let trees = trees.ok_or_else(stopped)?.map_err(fail)?;
            let head = begin(trees.k);
            let packed = write_packed_program(&head, &trees, machine, interrupt).map_err(fail)?;
            let summary = "no schedule is faster as messages become long".to_owned();
            return split_text(&packed.text, unfinished.machine, summary);
        }
        CompletionGoal::LeastSteps => FrontierGoal::LeastSteps,
        CompletionGoal::LeastTime => FrontierGoal::EveryPoint,
    };
    let request =
        FrontierRequest { goal: frontier_goal, observer: &observer, ..FrontierRequest::default() };
    let frontier =
        find_frontier(&machine.graph, &Collective::Known(kind), &request).map_err(fail)?;
    let point = frontier.points.last().ok_or_else(|| {
        if interrupt.is_set() { stopped() } else { fail("no schedule was found") }
    })?;
    let head = begin(u64::from(point.schedule.chunks));
    let text = write_scheduled_program(&head, &point.schedule, machine, interrupt).map_err(fail)?;
    split_text(&text, unfinished.machine, summarize(machine, point))
}

/// The collective of the library that a program implements.
fn find_kind(program: &Program) -> Result<CollectiveKind, CompletionError> {
    let name = &program.collective.name;
    let unknown = || fail(format!("`{name}` is none of the collectives that are synthesized"));
    let ranks: Vec<Rank> = program.ranks.iter().cloned().collect();
    let collective = collect_demands(&ranks).map_err(fail)?;
    let kind = match &collective {
        Collective::Known(kind) => *kind,
        Collective::Demands(demands) => {
            demands.recognize(ranks.len() as u32).ok_or_else(unknown)?.kind
        }
    };
    let declared = find_known_collective(name, kind.root().unwrap_or(Vertex(0)));
    if declared == Some(kind) { Ok(kind) } else { Err(unknown()) }
}

fn summarize(machine: &Machine, point: &FrontierPoint) -> String {
    let steps = point.schedule.measure().steps;
    let steps = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
    let rounds = |time: Rational| {
        let rounds = time.checked_mul(machine.graph.quantum());
        rounds.map_or_else(|_| "many".to_owned(), |rounds| rounds.to_string())
    };
    let quality = match point.status {
        PointStatus::Optimal => "no schedule of so many steps is faster".to_owned(),
        PointStatus::AboveBound { bound } => format!("the bound is {}", rounds(bound)),
    };
    format!("{steps}, {} rounds for each chunk; {quality}", rounds(point.time))
}

/// Takes the text of a file apart.
fn split_text(
    text: &str,
    machine: &str,
    summary: String,
) -> Result<CompletedProgram, CompletionError> {
    let malformed = || fail("the program that was found is malformed: please report it");
    let mut sources = SourceMap::default();
    let file = sources.add("<found>", text);
    let (parsed, _) = syntax::parse(file, text);
    let mut imports = Vec::new();
    let mut names = Vec::new();
    let mut first = None;
    let mut program = None;
    for item in &parsed.items {
        let start = item.docs.first().map_or(item.span.start, |doc| doc.span.start) as usize;
        if let ast::ItemKind::Program(_) = &item.kind {
            program = Some(item.span);
            continue;
        }
        if let ast::ItemKind::Use(import) = &item.kind {
            let is_known =
                |name: &ast::Name| name.text == "collectives" || name.text == "topologies";
            if !import.path.iter().any(is_known) {
                let line = text.get(item.span.start as usize..item.span.end as usize);
                imports.push(CompletedImport {
                    names: import.names.iter().map(|name| name.known_as().text.clone()).collect(),
                    line: line.ok_or_else(malformed)?.to_owned(),
                });
            }
            continue;
        }
        let Some(name) = item.kind.declared_name() else { continue };
        first.get_or_insert(start);
        names.push(name.text.clone());
    }
    let program = program.ok_or_else(malformed)?;
    let (start, end) = (program.start as usize, program.end as usize);
    let first = first.unwrap_or(start);
    let body = text.get(start..end).ok_or_else(malformed)?;
    let place = body.find("\n    collective ").ok_or_else(malformed)?;
    let (before, after) = body.split_at(place);
    Ok(CompletedProgram {
        imports,
        declarations: text.get(first..start).ok_or_else(malformed)?.to_owned(),
        names,
        program: format!("{before}\n    {machine}{after}"),
        summary,
    })
}
