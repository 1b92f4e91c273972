//! The collective that `cclc bound` and `cclc synth` are asked about.

use super::Failure;
use super::reference::{Candidate, Declarations, Reference, Wanted};
use super::report::Reporter;
use compiler::demand::{collect_demands, find_known_collective};
use compiler::diagnostic::{Code, Diagnostic};
use compiler::elaborate::{CollectiveQuestion, evaluate_promises};
use compiler::interrupt::Interrupt;
use compiler::ir;
use compiler::machine::Machine;
use compiler::resolve::program::{
    Collective as Declared, CollectiveId, Expr, ExprKind, Type, Unit,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use synth::bound::BoundError;
use synth::collective::{Collective, CollectiveKind};
use synth::graph::Vertex;

/// What the commands name.
const COLLECTIVE: Wanted = Wanted { noun: "collective", module: "std::collectives" };

/// The collective that is asked about.
pub(crate) struct AskedCollective {
    /// Its name with the arguments that are given.
    pub(crate) name: String,
    pub(crate) collective: Collective,
    /// How many times it is asked for.
    pub(crate) factor: u64,
    /// Its declaration, if it is no known one.
    pub(crate) declared: Option<DeclaredQuestion>,
}

/// A collective of which only its declaration is known.
pub(crate) struct DeclaredQuestion {
    unit: Unit,
    question: CollectiveQuestion,
    /// The file that declares it; none for the library.
    pub(crate) file: Option<PathBuf>,
    /// Its name.
    pub(crate) name: String,
    /// The arguments as they are written: the parameter, and its value.
    arguments: Vec<WrittenArgument>,
}

struct WrittenArgument {
    parameter: String,
    value: String,
}

/// Its promises where each chunk is cut into pieces, and how that is written.
pub(crate) struct DividedCollective {
    pub(crate) promises: Vec<ir::Rank>,
    /// With its arguments: `scan(ranks, chunks = 2)`.
    pub(crate) call: String,
}

impl DeclaredQuestion {
    /// Divides every chunk into so many pieces, by its parameter `chunks`; none if it has no such parameter, or no such
    /// promises.
    pub(crate) fn divide(&self, pieces: u64, interrupt: &Interrupt) -> Option<DividedCollective> {
        let declared = &self.unit.collectives[self.question.collective];
        let mut question = self.question.clone();
        let mut written: Vec<[String; 2]> = Vec::new();
        for WrittenArgument { parameter, value } in &self.arguments {
            written.push([parameter.clone(), value.clone()]);
        }
        if pieces > 1 {
            let position =
                declared.parameters.iter().position(|parameter| parameter.name == "chunks")?;
            let given = question.arguments.iter().position(|(own, _)| *own == position);
            let default = declared.parameters.get(position).and_then(|own| own.default.as_ref());
            let value = match given {
                Some(index) => &question.arguments.get(index)?.1,
                None => default?,
            };
            let ExprKind::Int(chunks) = value.kind else { return None };
            let chunks = chunks.checked_mul(i64::try_from(pieces).ok()?)?;
            let value = Expr { kind: ExprKind::Int(chunks), span: question.span, ty: Type::Int };
            question.arguments.retain(|(own, _)| *own != position);
            question.arguments.push((position, value));
            written.retain(|[parameter, _]| parameter != "chunks");
            written.push(["chunks".to_owned(), chunks.to_string()]);
        }
        let (promises, _) = evaluate_promises(&self.unit, &question, interrupt);
        let has_ranks = declared.parameters.iter().any(|parameter| parameter.name == "ranks");
        let mut arguments: Vec<String> = Vec::new();
        if has_ranks {
            arguments.push("ranks = ranks".to_owned());
        }
        for [parameter, value] in written.iter().filter(|[parameter, _]| parameter != "ranks") {
            arguments.push(format!("{parameter} = {value}"));
        }
        let call = format!("{}({})", self.name, arguments.join(", "));
        Some(DividedCollective { promises: promises?, call })
    }
}

/// None if its declaration has errors, which were reported.
pub(crate) fn find_collective(
    reporter: &mut Reporter,
    reference: &Reference,
    machine: &Arc<Machine>,
    root: Option<&Path>,
) -> Result<Option<AskedCollective>, Failure> {
    let Some(declarations) = reference.load(reporter, root, COLLECTIVE) else { return Ok(None) };
    let rows = declarations.unit.collectives.entries();
    let candidates: Vec<Candidate<'_, CollectiveId>> =
        rows.map(|(id, row)| Candidate { id, name: &row.name, span: row.span }).collect();
    let id = reference.choose(&declarations, &candidates, COLLECTIVE)?;
    let declared = &declarations.unit.collectives[id];
    let mut arguments = reference.match_arguments(reporter, &declared.parameters)?;
    let name = reporter.sources.slice(reference.span).to_owned();
    let ranks = machine.graph.count_ranks();
    add_rank_count(&mut arguments, declared, reference, ranks)?;
    if let Some(known) = find_known(reference, declared, &arguments, ranks) {
        let KnownCollective { collective, factor } = known;
        return Ok(Some(AskedCollective { name, collective, factor, declared: None }));
    }
    let written = arguments
        .iter()
        .filter_map(|(position, value)| {
            let parameter = declared.parameters.get(*position)?.name.clone();
            Some(WrittenArgument {
                parameter,
                value: reporter.sources.slice(value.span).to_owned(),
            })
        })
        .collect();
    let declared_name = declared.name.clone();
    let Declarations { unit, .. } = declarations;
    let question = CollectiveQuestion { collective: id, arguments, ranks, span: reference.span };
    let interrupt = reporter.interrupt.clone();
    let (promised, reports) = evaluate_promises(&unit, &question, &interrupt);
    reporter.add(reports);
    let Some(promised) = promised else { return Ok(None) };
    let declared = Some(DeclaredQuestion {
        unit,
        question,
        file: reference.file.clone(),
        name: declared_name,
        arguments: written,
    });
    match collect_demands(&promised) {
        Ok(collective) => Ok(Some(AskedCollective { name, collective, factor: 1, declared })),
        Err(error) => Err(Failure::Usage(format!("`{name}` has no bounds: {error}"))),
    }
}

/// A collective has as many ranks as the machine.
fn add_rank_count(
    arguments: &mut Vec<(usize, Expr)>,
    declared: &Declared,
    reference: &Reference,
    ranks: u32,
) -> Result<(), Failure> {
    let mut parameters = declared.parameters.iter();
    let Some(position) = parameters.position(|parameter| parameter.name == "ranks") else {
        return Ok(());
    };
    match arguments.iter().find(|(given, _)| *given == position) {
        Some((_, value)) if !matches!(value.kind, ExprKind::Int(n) if n == i64::from(ranks)) => {
            Err(Failure::Usage(format!("`ranks`: the machine has {ranks} ranks; leave it out")))
        }
        Some(_) => Ok(()),
        None => {
            let kind = ExprKind::Int(i64::from(ranks));
            arguments.push((position, Expr { kind, span: reference.span, ty: Type::Int }));
            Ok(())
        }
    }
}

/// A collective of the library whose bounds are known without its promises, which take long for many ranks.
fn find_known(
    reference: &Reference,
    declared: &Declared,
    arguments: &[(usize, Expr)],
    ranks: u32,
) -> Option<KnownCollective> {
    if reference.file.is_some() {
        return None;
    }
    let mut root = 0;
    let mut chunks = None;
    for (position, value) in arguments {
        match declared.parameters.get(*position)?.name.as_str() {
            "ranks" => {}
            "root" => root = find_number(value)?,
            "chunks" => chunks = Some(u64::from(find_number(value).filter(|count| *count > 0)?)),
            _ => return None,
        }
    }
    let kind = find_known_collective(&declared.name, Vertex(root))?;
    // With `chunks`, the library's buffers have chunks for each rank.
    let whole = if kind == CollectiveKind::AllReduce { u64::from(ranks) } else { 1 };
    let factor = chunks.map_or(1, |chunks| chunks * whole);
    Some(KnownCollective { collective: Collective::Known(kind), factor })
}

/// A collective of the library, and how many times it is asked for.
struct KnownCollective {
    collective: Collective,
    factor: u64,
}

fn find_number(value: &Expr) -> Option<u32> {
    if let ExprKind::Int(number) = value.kind { u32::try_from(number).ok() } else { None }
}

/// Why there are no bounds, or no schedule. `sketch` are its flags, as they were given.
pub(crate) fn report_bound_error(
    error: &BoundError,
    asked: &AskedCollective,
    machine: &Machine,
    reference: &Reference,
    sketch: &str,
) -> Diagnostic {
    let report = describe_bound_error(error, asked, machine, reference);
    if sketch.is_empty() { report } else { report.note(format!("this is so with `{sketch}`")) }
}

fn describe_bound_error(
    error: &BoundError,
    asked: &AskedCollective,
    machine: &Machine,
    reference: &Reference,
) -> Diagnostic {
    let name = &asked.name;
    if let BoundError::Unreachable { from, to } = error {
        let message = format!(
            "`{name}` is impossible on `{}`: no path leads from rank {from} to rank {to}",
            machine.name
        );
        return Diagnostic::new(Code::E1106, machine.declared, message)
            .help("add a link that leads there, or leave one of the two ranks out with `--on`");
    }
    let moves_nothing = *error == BoundError::SingleRank && machine.graph.count_ranks() > 1;
    let message = if moves_nothing {
        format!("`{name}` has no bounds: nothing has to move between ranks")
    } else {
        format!("`{name}` has no bounds on `{}`: {error}", machine.name)
    };
    Diagnostic::new(Code::E1106, reference.span, message)
}
