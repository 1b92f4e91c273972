//! `cclc synth`: finds schedules for a collective on a machine, and writes their programs.

mod answer;
mod programs;

use super::args::Synth;
use super::collective::{AskedCollective, find_collective, report_bound_error};
use super::machine::find_machine;
use super::reference::Reference;
use super::report::Reporter;
use super::sketch::read_sketch;
use super::{Failure, Status, output};
use answer::FrontierAnswer;
use compiler::machine::Machine;
use programs::ProgramWriter;
use std::path::Path;
use std::sync::Arc;
use synth::collective::{Collective, CollectiveKind};
use synth::frontier::{Frontier, FrontierRequest, find_frontier};
use synth::proof::MAX_PROOF_BYTES;
use synth::proof::write::write_bounds_proof;
use synth::sketch::Sketch;
use synth::steps::{SearchError, SolverBudget};

/// Finds, writes and prints schedules.
pub(crate) fn run(args: &Synth, reporter: &mut Reporter) -> Result<Status, Failure> {
    let root = args.root.as_deref();
    let Some(machine) = find_machine(reporter, &args.machine, root)? else {
        return Err(Failure::Usage(
            "`cclc synth` needs a machine: `--topology dgx1`, or that of a file".to_owned(),
        ));
    };
    let reference = Reference::parse(reporter, "COLLECTIVE", &args.collective)?;
    let Some(asked) = find_collective(reporter, &reference, &machine, root)? else {
        return Ok(reporter.finish());
    };
    let kind = find_kind(&asked)?;
    let machine = apply_sketch(args, machine)?;
    let frontier = match find_frontier(&machine.graph, kind, &read_request(args)) {
        Ok(frontier) => frontier,
        Err(SearchError::Bound(error)) => {
            reporter.add(vec![report_bound_error(&error, &asked, &machine, &reference)]);
            return Ok(reporter.finish().max(Status::Impossible));
        }
        Err(error) => return Err(Failure::Usage(format!("`{}`: {error}", asked.name))),
    };
    prove(args, &frontier, reporter)?;
    let programs = write_programs(args, &machine, kind, &asked, &frontier, reporter)?;
    let answer = FrontierAnswer {
        name: &asked.name,
        machine: &machine,
        frontier: &frontier,
        max_chunks: args.max_chunks,
        programs: &programs,
    };
    output::show(&if args.json { answer.write_json() } else { answer.write_text() })?;
    let is_complete =
        frontier.is_complete && programs.iter().all(|program| program.failure.is_none());
    let status = reporter.finish();
    Ok(if is_complete { status } else { status.max(Status::Files) })
}

fn find_kind(asked: &AskedCollective) -> Result<CollectiveKind, Failure> {
    let name = &asked.name;
    match asked.collective {
        Collective::Known(CollectiveKind::AllReduce) => Err(Failure::Usage(format!(
            "`{name}` is not synthesized as a whole yet: ask for `reducescatter` and `allgather`, which follow each other in one"
        ))),
        Collective::Known(kind) => Ok(kind),
        Collective::Demands(_) => Err(Failure::Usage(format!(
            "`{name}` is not synthesized yet: collectives of the library other than `allreduce` and `scan` are"
        ))),
    }
}

fn read_request(args: &Synth) -> FrontierRequest {
    let solver = SolverBudget {
        conflicts: args.budget.unwrap_or(SolverBudget::default().conflicts),
        ..SolverBudget::default()
    };
    FrontierRequest {
        max_steps: args.max_steps,
        max_chunks: args.max_chunks,
        solver,
        ..FrontierRequest::default()
    }
}

/// The machine without the links that carry nothing. A limit on hops is not one of links.
fn apply_sketch(args: &Synth, machine: Arc<Machine>) -> Result<Arc<Machine>, Failure> {
    let sketch = read_sketch(&args.sketch, &machine)?;
    if sketch.limit_hops().is_some() {
        return Err(Failure::Usage(
            "`--max-hops` and `--relay none` are not for `cclc synth` yet; `cclc bound` has them"
                .to_owned(),
        ));
    }
    if sketch == Sketch::default() {
        return Ok(machine);
    }
    let sketched =
        sketch.apply(&machine.graph).map_err(|error| Failure::Usage(error.to_string()))?;
    if !sketched.gaps.is_empty() {
        return Err(Failure::Usage(
            "`--via`: a link that is not used is also needed for other ranks; name with `--forbid` the links that carry nothing".to_owned(),
        ));
    }
    Ok(Arc::new(Machine {
        graph: sketched.topology,
        reach: Default::default(),
        ..(*machine).clone()
    }))
}

fn prove(args: &Synth, frontier: &Frontier, reporter: &Reporter) -> Result<(), Failure> {
    let Some(path) = &args.prove else { return Ok(()) };
    output::refuse_losses([path.as_path()], &reporter.sources)?;
    let proof = write_bounds_proof(&frontier.bounds);
    if proof.len() > MAX_PROOF_BYTES {
        return Err(Failure::Usage(format!(
            "the proof would have {} bytes, and `cclc proof` reads at most {MAX_PROOF_BYTES}",
            proof.len()
        )));
    }
    output::write_text(path, &proof)
}

/// A program of a point, or why there is none.
pub(super) struct PointProgram {
    /// Where it was written; none if no file was asked for.
    pub(super) path: Option<String>,
    /// Why there is no program.
    pub(super) failure: Option<String>,
}

/// Writes the program of each point: into the folder that `-o` names, or into the file, if it is that of one program. All are
/// made before the first one is written.
fn write_programs(
    args: &Synth,
    machine: &Arc<Machine>,
    kind: CollectiveKind,
    asked: &AskedCollective,
    frontier: &Frontier,
    reporter: &Reporter,
) -> Result<Vec<PointProgram>, Failure> {
    if args.dry_run || args.output.is_none() {
        let none = |_| PointProgram { path: None, failure: None };
        return Ok(frontier.points.iter().map(none).collect());
    }
    let output = args.output.as_deref().unwrap_or(Path::new("."));
    let is_file = output.extension().is_some_and(|end| end == "ccl") || output == Path::new("-");
    if is_file && frontier.points.len() > 1 {
        return Err(Failure::Usage(format!(
            "there are {} programs: name a folder, or choose one with `--max-steps` and `--max-chunks`",
            frontier.points.len()
        )));
    }
    let is_named = |text: &String| !text.contains(".ccl") && !text.contains(['/', '\\']);
    let writer = ProgramWriter {
        question: &asked.name,
        machine,
        is_library_machine: args.machine.topology.as_ref().is_some_and(is_named)
            && args.machine.on.is_none()
            && args.sketch.forbid.is_empty()
            && args.sketch.via.is_empty(),
        kind,
    };
    let mut programs = Vec::new();
    let mut texts = Vec::new();
    for point in &frontier.points {
        match writer.write(point, &reporter.interrupt) {
            Ok(written) => {
                let path = if is_file {
                    output.to_owned()
                } else {
                    output.join(format!("{}.ccl", written.name))
                };
                programs.push(PointProgram {
                    path: Some(path.to_string_lossy().into_owned()),
                    failure: None,
                });
                texts.push((path, written.text));
            }
            Err(why) => {
                programs.push(PointProgram { path: None, failure: Some(why.to_string()) });
            }
        }
    }
    output::refuse_losses(texts.iter().map(|(path, _)| path.as_path()), &reporter.sources)?;
    if !is_file {
        std::fs::create_dir_all(output).map_err(|error| {
            Failure::Files(format!("cannot create `{}`: {error}", super::files::shown(output)))
        })?;
    }
    for (path, text) in &texts {
        output::show_or_write(path, text)?;
    }
    Ok(programs)
}
