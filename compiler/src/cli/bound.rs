//! `cclc bound`: the least that a collective takes on a machine, with what shows it.

mod answer;
mod sketch;

use super::args::Bound;
use super::machine::find_machine;
use super::reference::{Candidate, Declarations, Reference, Wanted};
use super::report::Reporter;
use super::{Failure, Status, output};
use answer::Answer;
use compiler::demand::{collect_demands, find_known_collective};
use compiler::diagnostic::{Code, Diagnostic};
use compiler::elaborate::{CollectiveQuestion, evaluate_promises};
use compiler::machine::Machine;
use compiler::resolve::program::{Collective as Declared, CollectiveId, Expr, ExprKind, Type};
use std::path::Path;
use std::sync::Arc;
use synth::bound::collective::{BoundRequest, CollectiveBounds, bound_collective};
use synth::bound::{BoundError, ProgramBudget};
use synth::collective::Collective;
use synth::graph::Vertex;
use synth::proof::MAX_PROOF_BYTES;
use synth::proof::write::write_bounds_proof;

/// What the command names.
const COLLECTIVE: Wanted = Wanted { noun: "collective", module: "std::collectives" };

/// How many numbers each linear program may change: some tenths of a second. A bound that ends there says so.
const PIVOT_WORK: usize = 1 << 27;

/// Prints the bounds.
pub(crate) fn run(bound: &Bound, reporter: &mut Reporter) -> Result<Status, Failure> {
    let root = bound.root.as_deref();
    let Some(machine) = find_machine(reporter, &bound.machine, root)? else {
        return Err(Failure::Usage(
            "`cclc bound` needs a machine: `--topology dgx1`, or that of a file".to_owned(),
        ));
    };
    let reference = Reference::parse(reporter, "COLLECTIVE", &bound.collective)?;
    let Some(asked) = find_collective(reporter, &reference, &machine, root)? else {
        return Ok(reporter.finish());
    };
    let sketch = sketch::read_sketch(bound, &machine)?;
    let budget = ProgramBudget { pivot_work: PIVOT_WORK, ..ProgramBudget::default() };
    let request = BoundRequest { max_steps: bound.max_steps, budget };
    let bounds = match bound_collective(&machine.graph, &asked.collective, &sketch, &request) {
        Ok(bounds) => bounds,
        Err(error) => {
            reporter.add(vec![report_error(&error, &asked, &machine, &reference)]);
            return Ok(reporter.finish());
        }
    };
    prove(bound, &bounds, reporter)?;
    let answer = Answer { name: &asked.name, machine: &machine, bounds: &bounds };
    let text = if bound.json { answer.write_json() } else { answer.write_text() };
    output::show(&text)?;
    Ok(reporter.finish())
}

fn prove(bound: &Bound, bounds: &CollectiveBounds, reporter: &Reporter) -> Result<(), Failure> {
    let Some(path) = &bound.prove else { return Ok(()) };
    output::refuse_losses([path.as_path()], &reporter.sources)?;
    let proof = write_bounds_proof(bounds);
    if proof.len() > MAX_PROOF_BYTES {
        return Err(Failure::Usage(format!(
            "the proof would have {} bytes, and `cclc proof` reads at most {MAX_PROOF_BYTES}",
            proof.len()
        )));
    }
    output::write_text(path, &proof)
}

/// The collective that is asked about.
struct Asked {
    /// Its name with the arguments that are given.
    name: String,
    collective: Collective,
}

/// None if its declaration has errors, which were reported.
fn find_collective(
    reporter: &mut Reporter,
    reference: &Reference,
    machine: &Arc<Machine>,
    root: Option<&Path>,
) -> Result<Option<Asked>, Failure> {
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
    if let Some(kind) = find_known(reference, declared, &arguments) {
        return Ok(Some(Asked { name, collective: kind }));
    }
    let Declarations { unit, .. } = &declarations;
    let question = CollectiveQuestion { collective: id, arguments, ranks, span: reference.span };
    let interrupt = reporter.interrupt.clone();
    let (promised, reports) = evaluate_promises(unit, &question, &interrupt);
    reporter.add(reports);
    let Some(promised) = promised else { return Ok(None) };
    match collect_demands(&promised) {
        Ok(collective) => Ok(Some(Asked { name, collective })),
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
) -> Option<Collective> {
    if reference.file.is_some() {
        return None;
    }
    let mut root = 0;
    for (position, value) in arguments {
        match declared.parameters.get(*position)?.name.as_str() {
            "ranks" => {}
            "root" => root = find_number(value)?,
            _ => return None,
        }
    }
    find_known_collective(&declared.name, Vertex(root)).map(Collective::Known)
}

fn find_number(value: &Expr) -> Option<u32> {
    if let ExprKind::Int(number) = value.kind { u32::try_from(number).ok() } else { None }
}

fn report_error(
    error: &BoundError,
    asked: &Asked,
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
            .help("add a link, or name the ranks that are used: `--on 0,1,2`");
    }
    let moves_nothing = *error == BoundError::SingleRank && machine.graph.count_ranks() > 1;
    let message = if moves_nothing {
        format!("`{name}` has no bounds: nothing has to move between ranks")
    } else {
        format!("`{name}` has no bounds on `{}`: {error}", machine.name)
    };
    Diagnostic::new(Code::E1106, reference.span, message)
}
