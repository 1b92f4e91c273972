//! `cclc synth`: finds schedules for a collective on a machine, and writes their programs.

mod answer;
mod programs;

use super::args::{Synth, SynthGoal};
use super::collective::{AskedCollective, find_collective, report_bound_error};
use super::machine::find_machine;
use super::proof::write_proof;
use super::reference::Reference;
use super::report::Reporter;
use super::sketch::{read_sketch, write_flags};
use super::{Failure, Status, files, output};
use answer::SynthesisAnswer;
use compiler::machine::{Machine, MachineReach};
use programs::{ProgramWriter, WrittenProgram};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use synth::bound::BoundError;
use synth::bound::cut::bound_allgather;
use synth::bound::rooted::bound_broadcast;
use synth::collective::{Collective, CollectiveKind};
use synth::frontier::{Frontier, FrontierRequest, find_frontier};
use synth::graph::Topology;
use synth::sketch::Sketch;
use synth::steps::{SearchError, SolverBudget};
use synth::trees::{
    PackRequest, TreeError, TreePacking, TreeSet, pack_allgather_trees, pack_broadcast_trees,
};

/// What was found.
struct Synthesis {
    /// Schedules of steps; none if only trees were asked for.
    frontier: Option<Frontier>,
    /// Trees; none if they were not asked for, or if the collective has none.
    trees: Option<Result<TreeSet, TreeError>>,
}

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
    refuse_target(args)?;
    let whole = machine;
    let machine = apply_sketch(args, &whole)?;
    let found = match search(args, &machine.graph, kind) {
        Ok(found) => found,
        Err(SearchError::Bound(error)) => {
            let flags = write_flags(&args.sketch);
            reporter.add(vec![report_bound_error(&error, &asked, &machine, &reference, &flags)]);
            let status = reporter.finish();
            let is_impossible = matches!(error, BoundError::Unreachable { .. });
            return Ok(if is_impossible { status.max(Status::Impossible) } else { status });
        }
        Err(error) => return Err(Failure::Usage(format!("`{}`: {error}", asked.name))),
    };
    prove(args, found.frontier.as_ref(), reporter)?;
    let writer = ProgramWriter {
        question: &asked.name,
        machine: &machine,
        whole: &whole,
        machine_name: find_machine_name(args),
        is_library_machine: names_library_machine(args),
        kind,
    };
    let programs = write_programs(args, &writer, &found, reporter)?;
    let answer = SynthesisAnswer {
        name: &asked.name,
        machine: &machine,
        found: &found,
        max_chunks: args.max_chunks,
        sketch: &write_flags(&args.sketch),
        programs: &programs,
    };
    output::show(&if args.json { answer.write_json() } else { answer.write_text() })?;
    let status = reporter.finish();
    Ok(if found.is_complete() && programs.iter().all(|program| program.failure.is_none()) {
        status
    } else {
        // As for what could not be written: something that was asked for is not there.
        status.max(Status::Files)
    })
}

impl Synthesis {
    /// Whether nothing that was asked for is missing.
    fn is_complete(&self) -> bool {
        self.frontier.as_ref().is_none_or(|frontier| frontier.is_complete)
            && self.trees.as_ref().is_none_or(Result::is_ok)
    }

    /// The trees that were found.
    fn find_trees(&self) -> Option<&TreeSet> {
        self.trees.as_ref().and_then(|trees| trees.as_ref().ok())
    }
}

/// Refuses a path that cannot be written before anything is searched for.
fn refuse_target(args: &Synth) -> Result<(), Failure> {
    let Some(output) = args.output.as_deref() else { return Ok(()) };
    let is_program = output.extension().is_some_and(|end| end == "ccl") || output == Path::new("-");
    let is_wrong = if is_program { output.is_dir() } else { output.exists() && !output.is_dir() };
    if is_wrong {
        return Err(Failure::Usage(format!(
            "`-o {}`: programs go into a folder, or one program into a file that ends in `.ccl`",
            files::shown(output)
        )));
    }
    Ok(())
}

fn find_kind(asked: &AskedCollective) -> Result<CollectiveKind, Failure> {
    let name = &asked.name;
    match asked.collective {
        Collective::Known(kind) if asked.factor == 1 => Ok(kind),
        Collective::Known(_) => Err(Failure::Usage(format!(
            "`{name}`: leave `chunks` out: the search chooses into how many pieces a chunk is cut"
        ))),
        Collective::Demands(_) => Err(Failure::Usage(format!(
            "`{name}` is not synthesized yet: allgather, reducescatter, allreduce, alltoall, broadcast, reduce, scatter and gather are"
        ))),
    }
}

fn search(
    args: &Synth,
    topology: &Topology,
    kind: CollectiveKind,
) -> Result<Synthesis, SearchError> {
    let frontier = if args.goal == SynthGoal::Bandwidth && has_trees(kind) {
        None
    } else {
        Some(find_frontier(topology, &kind.into(), &read_request(args))?)
    };
    let trees = if args.goal == SynthGoal::Latency { None } else { pack_trees(topology, kind)? };
    Ok(Synthesis { frontier, trees })
}

fn read_request(args: &Synth) -> FrontierRequest<'static> {
    let own = FrontierRequest::default();
    let conflicts = args.budget.unwrap_or(own.conflicts);
    let solver = SolverBudget { conflicts: own.solver.conflicts.max(conflicts / 4), ..own.solver };
    FrontierRequest {
        max_steps: args.max_steps,
        max_chunks: args.max_chunks,
        solver,
        conflicts,
        ..own
    }
}

fn has_trees(kind: CollectiveKind) -> bool {
    match kind {
        CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter
        | CollectiveKind::Broadcast(_)
        | CollectiveKind::Reduce(_) => true,
        CollectiveKind::AllToAll
        | CollectiveKind::AllReduce
        | CollectiveKind::Scatter(_)
        | CollectiveKind::Gather(_) => false,
    }
}

/// Trees for what is sent to all, or added up from all.
fn pack_trees(
    topology: &Topology,
    kind: CollectiveKind,
) -> Result<Option<Result<TreeSet, TreeError>>, SearchError> {
    let request = PackRequest::default();
    let pack = |topology: &Topology, kind: CollectiveKind| {
        Ok(match kind {
            CollectiveKind::AllGather => {
                Some(pack_allgather_trees(topology, &bound_allgather(topology)?, request))
            }
            CollectiveKind::Broadcast(root) => {
                let cut = bound_broadcast(topology, root)?;
                Some(pack_broadcast_trees(topology, root, &cut, request))
            }
            CollectiveKind::ReduceScatter
            | CollectiveKind::Reduce(_)
            | CollectiveKind::AllToAll
            | CollectiveKind::AllReduce
            | CollectiveKind::Scatter(_)
            | CollectiveKind::Gather(_) => None,
        })
    };
    let take = |packing: Option<Result<TreePacking, TreeError>>| {
        packing.map(|packing| packing.map(|packing| packing.trees))
    };
    match kind {
        CollectiveKind::ReduceScatter | CollectiveKind::Reduce(_) => {
            let reversed = topology.reverse();
            let forward = kind.reverse().map(|forward| pack(&reversed, forward)).transpose()?;
            let turn = |trees: TreeSet| trees.reverse(&reversed, topology);
            Ok(take(forward.flatten()).map(|trees| trees.map(turn)))
        }
        CollectiveKind::AllGather
        | CollectiveKind::Broadcast(_)
        | CollectiveKind::AllToAll
        | CollectiveKind::AllReduce
        | CollectiveKind::Scatter(_)
        | CollectiveKind::Gather(_) => pack(topology, kind).map(take),
    }
}

/// The machine without the links that carry nothing. A limit on hops is not one of links.
fn apply_sketch(args: &Synth, machine: &Arc<Machine>) -> Result<Arc<Machine>, Failure> {
    let sketch = read_sketch(&args.sketch, machine)?;
    if sketch.limit_hops().is_some() {
        return Err(Failure::Usage(
            "`--max-hops` and `--relay none` are not for `cclc synth` yet; `cclc bound` has them"
                .to_owned(),
        ));
    }
    if sketch == Sketch::default() {
        return Ok(machine.clone());
    }
    let sketched =
        sketch.apply(&machine.graph).map_err(|error| Failure::Usage(error.to_string()))?;
    if !sketched.gaps.is_empty() {
        return Err(Failure::Usage(
            "`--via`: a link that is not used is also needed for other ranks; name with `--forbid` the links that carry nothing".to_owned(),
        ));
    }
    let reach = MachineReach::default();
    Ok(Arc::new(Machine { graph: sketched.topology, reach, ..(**machine).clone() }))
}

fn prove(args: &Synth, frontier: Option<&Frontier>, reporter: &Reporter) -> Result<(), Failure> {
    let Some(path) = &args.prove else { return Ok(()) };
    let Some(frontier) = frontier else {
        return Err(Failure::Usage(
            "`--prove` is about schedules of steps: leave `--goal bandwidth` out, or use `cclc bound --prove`"
                .to_owned(),
        ));
    };
    write_proof(path, &frontier.bounds, reporter)
}

/// The program of a point or of the trees, or why there is none.
struct PointProgram {
    /// Where it was written; none if no file was asked for.
    path: Option<String>,
    /// Why there is no program.
    failure: Option<String>,
}

/// Writes the program of each point, and then that of the trees: into the folder that `-o` names, or into the file, if it is that
/// of one program. All are made before the first one is written.
fn write_programs(
    args: &Synth,
    writer: &ProgramWriter<'_>,
    found: &Synthesis,
    reporter: &Reporter,
) -> Result<Vec<PointProgram>, Failure> {
    let points = found.frontier.iter().flat_map(|frontier| &frontier.points);
    let output = if args.dry_run { None } else { args.output.as_deref() };
    let Some(output) = output else {
        let none = || PointProgram { path: None, failure: None };
        let count = points.count() + usize::from(found.find_trees().is_some());
        return Ok(std::iter::repeat_with(none).take(count).collect());
    };
    let interrupt = &reporter.interrupt;
    let mut results: Vec<Result<WrittenProgram, String>> = points
        .map(|point| writer.write_point(point, interrupt).map_err(|why| why.to_string()))
        .collect();
    let trees = found.find_trees();
    results.extend(
        trees.map(|trees| writer.write_trees(trees, interrupt).map_err(|why| why.to_string())),
    );
    let target = ProgramTarget::choose(output, &results)?;
    let mut programs = Vec::new();
    let mut texts = Vec::new();
    for result in results {
        match result {
            Ok(written) => {
                let path = target.find_path(&written.name);
                let shown = Some(path.to_string_lossy().into_owned());
                programs.push(PointProgram { path: shown, failure: None });
                texts.push(PathText { path, text: written.text });
            }
            Err(why) => programs.push(PointProgram { path: None, failure: Some(why) }),
        }
    }
    output::refuse_losses(texts.iter().map(|own| own.path.as_path()), &reporter.sources)?;
    if let ProgramTarget::Folder(folder) = &target
        && !texts.is_empty()
    {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::Files(format!("cannot create `{}`: {error}", files::shown(folder)))
        })?;
    }
    for PathText { path, text } in &texts {
        output::show_or_write(path, text)?;
    }
    Ok(programs)
}

/// A program and where it goes.
struct PathText {
    path: PathBuf,
    text: String,
}

/// Where programs go.
enum ProgramTarget {
    /// Into a file, or to standard output.
    File(PathBuf),
    /// Into a folder, each as a file with its name.
    Folder(PathBuf),
}

impl ProgramTarget {
    fn choose(
        output: &Path,
        results: &[Result<WrittenProgram, String>],
    ) -> Result<ProgramTarget, Failure> {
        let is_file =
            output.extension().is_some_and(|end| end == "ccl") || output == Path::new("-");
        let count = results.iter().filter(|result| result.is_ok()).count();
        if is_file && count > 1 {
            return Err(Failure::Usage(format!(
                "there are {count} programs: name a folder, or choose one with `--goal`, `--max-steps` and `--max-chunks`"
            )));
        }
        let path = output.to_owned();
        Ok(if is_file { ProgramTarget::File(path) } else { ProgramTarget::Folder(path) })
    }

    fn find_path(&self, name: &str) -> PathBuf {
        match self {
            ProgramTarget::File(path) => path.clone(),
            ProgramTarget::Folder(folder) => folder.join(format!("{name}.ccl")),
        }
    }
}

/// What `--topology` names, without its folders.
fn find_machine_name(args: &Synth) -> &str {
    let text = args.machine.topology.as_deref().unwrap_or_default();
    let (path, call) = text.split_once("::").unwrap_or((text, text));
    let whole = if call == path { path.rsplit(['/', '\\']).next().unwrap_or(path) } else { call };
    whole.trim_end_matches(".ccl")
}

/// Whether a program can name its machine: it is one of the library, and whole.
fn names_library_machine(args: &Synth) -> bool {
    let is_named = |text: &String| {
        let name = text.split('(').next().unwrap_or_default();
        !name.contains(['/', '\\', '.', ':'])
    };
    args.machine.topology.as_ref().is_some_and(is_named) && args.machine.on.is_none()
}
