//! `cclc synth`: finds schedules for a collective on a machine, and writes their programs.

mod answer;
mod declared;
mod goal;
mod point;
mod programs;

use super::args::{Synth, SynthEngine, SynthGoal, SynthSymmetry};
use super::collective::{AskedCollective, find_collective, report_bound_error};
use super::machine::find_machine;
use super::proof::write_proof;
use super::reference::Reference;
use super::report::Reporter;
use super::search_watch::{SearchStop, SearchWatch};
use super::sketch::{read_sketch, write_flags};
use super::{Failure, Status, files, output};
use answer::SynthesisAnswer;
use compiler::interrupt::Interrupt;
use compiler::machine::{Machine, MachineReach};
use declared::write_declared_texts;
pub(crate) use goal::parse_number;
use goal::{SizeGoal, describe_overflow};
use programs::{ProgramWriter, WrittenProgram};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use synth::automorphism::find_symmetry;
use synth::bound::allreduce::bound_allreduce_under;
use synth::bound::collective::CollectiveBounds;
use synth::bound::{BoundError, ProgramBudget, ProgramLimits};
use synth::collective::{Collective, CollectiveKind};
use synth::frontier::{
    Frontier, FrontierGoal, FrontierPoint, FrontierRequest, SearchEngine, SymmetryUse,
    find_frontier,
};
use synth::graph::Topology;
use synth::observer::SearchObserver;
use synth::rational::Rational;
use synth::schedule::Unit;
use synth::sketch::Sketch;
use synth::steps::{SearchError, SolverBudget};
use synth::trees::{
    AllReduceMethod, AllReducePacking, PackRequest, PackingEnd, TreeError, TreeSet,
    compose_allreduce_trees, has_trees, pack_allreduce_trees, pack_collective_trees,
};

/// What was found.
struct Synthesis {
    /// Schedules of steps; none if only trees were asked for.
    frontier: Option<Frontier>,
    /// Trees; none if they were not asked for, or if the collective has none.
    trees: Option<Result<TreeSet, TreeError>>,
    /// Trees of an AllReduce, if they were asked for.
    allreduce: Option<Result<AllReducePacking, TreeError>>,
    /// What ended the search before it was complete.
    stop: Option<SearchStop>,
    /// What it costs at the sizes that were asked for.
    costs: Option<CostTable>,
}

/// What the points, and then the trees, cost.
struct CostTable {
    goal: SizeGoal,
    /// Size by size.
    rows: Vec<CostRow>,
}

/// What the points, and then the trees, cost at a size.
struct CostRow {
    /// One for each of them.
    times: Vec<Rational>,
    /// Which one is fastest: the first one of several.
    best: usize,
}

/// What is asked for.
struct Question<'a> {
    args: &'a Synth,
    asked: &'a AskedCollective,
    /// The machine without the links that a sketch keeps from carrying anything.
    machine: &'a Arc<Machine>,
    /// The machine with them.
    whole: &'a Arc<Machine>,
    /// How many hops a value takes at most.
    max_hops: Option<u32>,
}

/// Finds, writes and prints schedules.
pub(crate) fn run(args: &Synth, reporter: &mut Reporter) -> Result<Status, Failure> {
    let root = args.root.as_deref();
    let Some(whole) = find_machine(reporter, &args.machine, root)? else {
        return Err(Failure::Usage(
            "`cclc synth` needs a machine: `--topology dgx1`, or that of a file".to_owned(),
        ));
    };
    let reference = Reference::parse(reporter, "COLLECTIVE", &args.collective)?;
    let Some(asked) = find_collective(reporter, &reference, &whole, root)? else {
        return Ok(reporter.finish());
    };
    refuse_chunks(&asked)?;
    refuse_target(args)?;
    let sketched = apply_sketch(args, &whole)?;
    let question = Question {
        args,
        asked: &asked,
        machine: &sketched.machine,
        whole: &whole,
        max_hops: sketched.max_hops,
    };
    let result = match args.point {
        Some(size) => point::answer_point(&question, size, reporter),
        None => question.answer_frontier(reporter),
    };
    match result {
        Err(SynthesisFailure::Search(SearchError::Bound(error))) => {
            let flags = write_flags(&args.sketch);
            reporter.add(vec![report_bound_error(
                &error,
                &asked,
                &sketched.machine,
                &reference,
                &flags,
            )]);
            let status = reporter.finish();
            let is_impossible =
                matches!(error, BoundError::Unreachable { .. } | BoundError::TooFewHops { .. });
            Ok(if is_impossible { status.max(Status::Impossible) } else { status })
        }
        Err(SynthesisFailure::Search(error)) => {
            Err(Failure::Usage(format!("`{}`: {error}", asked.name)))
        }
        Err(SynthesisFailure::Command(failure)) => Err(failure),
        Ok(status) => Ok(status),
    }
}

/// Why a question has no answer.
enum SynthesisFailure {
    Search(SearchError),
    Command(Failure),
}

impl From<SearchError> for SynthesisFailure {
    fn from(error: SearchError) -> Self {
        SynthesisFailure::Search(error)
    }
}

impl From<Failure> for SynthesisFailure {
    fn from(failure: Failure) -> Self {
        SynthesisFailure::Command(failure)
    }
}

impl Question<'_> {
    fn answer_frontier(&self, reporter: &mut Reporter) -> Result<Status, SynthesisFailure> {
        let Question { args, asked, machine, .. } = self;
        let sizes = SizeGoal::read(args, machine, &asked.collective)?;
        let watch = SearchWatch::begin(&reporter.interrupt, reporter.shows_progress());
        let mut found = self.search(&watch)?;
        found.stop = watch.find_stop();
        drop(watch);
        if let Some(sizes) = sizes {
            let costs = found.compute_costs(sizes, machine);
            found.costs = Some(costs.map_err(Failure::Usage)?);
        }
        let bounds = found.frontier.as_ref().map(|frontier| &frontier.bounds);
        prove(args, bounds, reporter)?;
        let programs = self.write_programs(&found, reporter)?;
        let answer = SynthesisAnswer {
            name: &asked.name,
            machine,
            found: &found,
            max_chunks: args.max_chunks,
            sketch: &write_flags(&args.sketch),
            programs: &programs,
        };
        output::show(&if args.json { answer.write_json() } else { answer.write_text() })?;
        let status = reporter.finish();
        let is_written = programs.iter().flatten().all(|program| program.failure.is_none());
        Ok(if found.is_complete() && is_written {
            status
        } else {
            // As for what could not be written: something that was asked for is not there.
            status.max(Status::Files)
        })
    }

    fn search(&self, observer: &dyn SearchObserver) -> Result<Synthesis, SearchError> {
        let Question { args, asked, machine, .. } = self;
        let topology = &machine.graph;
        let kind = find_kind(asked).filter(|kind| has_trees(*kind));
        let only_trees = args.goal == SynthGoal::Bandwidth || args.engine == SynthEngine::Trees;
        if only_trees && asked.collective == Collective::Known(CollectiveKind::AllReduce) {
            let allreduce = Some(pack_allreduce(topology, observer)?);
            return Ok(Synthesis {
                frontier: None,
                trees: None,
                allreduce,
                stop: None,
                costs: None,
            });
        }
        let frontier = if only_trees && kind.is_some() {
            None
        } else {
            Some(find_frontier(topology, &asked.collective, &self.read_request(observer))?)
        };
        let wants_trees = match (&args.goal, args.engine) {
            (SynthGoal::Latency | SynthGoal::LeastSteps, _) => false,
            (_, SynthEngine::Auto | SynthEngine::Trees) => true,
            (_, SynthEngine::Bfb | SynthEngine::Sat | SynthEngine::Greedy | SynthEngine::Flows) => {
                only_trees
            }
        };
        let trees = match kind.filter(|_| wants_trees) {
            Some(kind) => {
                let request = PackRequest { observer, ..PackRequest::default() };
                pack_collective_trees(topology, kind, request).map_err(SearchError::Bound)?
            }
            None => None,
        };
        let is_short =
            |trees: &TreeSet| self.max_hops.is_none_or(|most| trees.measure_depth() <= most);
        let trees = trees.filter(|trees| trees.as_ref().ok().is_none_or(is_short));
        Ok(Synthesis { frontier, trees, allreduce: None, stop: None, costs: None })
    }

    fn read_request<'o>(&self, observer: &'o dyn SearchObserver) -> FrontierRequest<'o> {
        let args = self.args;
        let own = FrontierRequest::default();
        let conflicts = args.budget.unwrap_or(own.conflicts);
        // One point may use more than a part of the budget only where there is only one.
        let of_point = if args.point.is_some() { conflicts } else { conflicts / 4 };
        let solver = SolverBudget { conflicts: own.solver.conflicts.max(of_point), ..own.solver };
        let engine = match args.engine {
            SynthEngine::Auto | SynthEngine::Trees => SearchEngine::Auto,
            SynthEngine::Bfb => SearchEngine::BreadthFirst,
            SynthEngine::Sat => SearchEngine::Solver,
            SynthEngine::Greedy => SearchEngine::Greedy,
            SynthEngine::Flows => SearchEngine::Flows,
        };
        let symmetry = match args.symmetry {
            SynthSymmetry::Auto => SymmetryUse::Auto,
            SynthSymmetry::None => SymmetryUse::None,
        };
        let goal = match args.goal {
            SynthGoal::LeastSteps => FrontierGoal::LeastSteps,
            SynthGoal::Pareto
            | SynthGoal::Latency
            | SynthGoal::Bandwidth
            | SynthGoal::Size(_)
            | SynthGoal::Sizes { .. } => FrontierGoal::EveryPoint,
        };
        FrontierRequest {
            min_steps: args.steps.and_then(|range| range.least),
            max_steps: args.steps.and_then(|range| range.most),
            goal,
            max_chunks: args.max_chunks,
            max_hops: self.max_hops,
            engine,
            symmetry,
            solver,
            conflicts,
            observer,
            ..own
        }
    }

    fn begin_writer(&self) -> Option<ProgramWriter<'_>> {
        Some(ProgramWriter {
            question: &self.asked.name,
            machine: self.machine,
            whole: self.whole,
            machine_name: find_machine_name(self.args),
            is_library_machine: names_library_machine(self.args),
            kind: find_kind(self.asked)?,
        })
    }

    /// Writes the programs of a point, whose pieces are pieces of these units.
    fn write_point(
        &self,
        point: &FrontierPoint,
        units: &[Unit],
        wants_packets: bool,
        interrupt: &Interrupt,
    ) -> PointTexts {
        match (self.begin_writer(), &self.asked.declared) {
            (Some(writer), _) => writer.write_texts(point, wants_packets, interrupt),
            (None, Some(declared)) => write_declared_texts(self, declared, point, units, interrupt),
            (None, None) => PointTexts::new(Err(UNKNOWN_FORM.to_owned())),
        }
    }

    /// The folder of the programs.
    fn find_folder(&self) -> PathBuf {
        let output = self.find_output().unwrap_or(Path::new("."));
        if output == Path::new("-") {
            return PathBuf::from(".");
        }
        if is_one_file(output) {
            let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
            return parent.unwrap_or(Path::new(".")).to_owned();
        }
        output.to_owned()
    }

    /// Where programs go; none if none are written.
    fn find_output(&self) -> Option<&Path> {
        if self.args.dry_run { None } else { self.args.output.as_deref() }
    }

    /// Writes the program of each point, and then that of the trees: into the folder that `-o` names, or into the file, if it
    /// is that of one program. All are made before the first one is written. A folder gets programs with packets, too. None stands for what was not asked for.
    fn write_programs(
        &self,
        found: &Synthesis,
        reporter: &Reporter,
    ) -> Result<Vec<Option<PointProgram>>, Failure> {
        let points = found.frontier.as_ref().map_or(&[][..], |frontier| &frontier.points);
        let trees = found.find_trees();
        let count = points.len() + usize::from(trees.is_some());
        let Some(output) = self.find_output() else {
            return Ok(std::iter::repeat_with(|| None).take(count).collect());
        };
        // The time for the search may be up; what it found is written all the same.
        let interrupt =
            if found.stop.is_some() { Interrupt::default() } else { reporter.interrupt.clone() };
        let wants_packets = !is_one_file(output);
        let mut results: Vec<Option<PointTexts>> = Vec::new();
        for index in 0..count {
            let is_wanted = found.costs.as_ref().is_none_or(|costs| costs.has_best(index));
            let write = || match (points.get(index), &found.frontier, trees) {
                (Some(point), Some(frontier), _) => {
                    let units = frontier.find_units(point);
                    self.write_point(point, units, wants_packets, &interrupt)
                }
                (_, _, Some(trees)) => match self.begin_writer() {
                    Some(writer) => PointTexts::new(
                        writer.write_trees(trees, &interrupt).map_err(|why| why.to_string()),
                    ),
                    None => PointTexts::new(Err(UNKNOWN_FORM.to_owned())),
                },
                (_, _, None) => PointTexts::new(Err(UNKNOWN_FORM.to_owned())),
            };
            results.push(is_wanted.then(write));
        }
        write_files(output, results, reporter)
    }
}

/// Why there is no program of a collective that is no known one.
const UNKNOWN_FORM: &str = "programs are written for the collectives of the library";

impl CostTable {
    /// Whether a schedule is the fastest one at some size.
    fn has_best(&self, index: usize) -> bool {
        self.rows.iter().any(|row| row.best == index)
    }
}

impl Synthesis {
    /// Whether nothing that was asked for is missing.
    fn is_complete(&self) -> bool {
        let is_settled = |frontier: &Frontier| frontier.is_settled() && !frontier.points.is_empty();
        self.frontier.as_ref().is_none_or(is_settled)
            && self.trees.as_ref().is_none_or(Result::is_ok)
            && self.allreduce.as_ref().is_none_or(|packing| {
                packing.as_ref().is_ok_and(|packing| packing.end == PackingEnd::BoundReached)
            })
    }

    /// The trees that were found.
    fn find_trees(&self) -> Option<&TreeSet> {
        self.trees.as_ref().and_then(|trees| trees.as_ref().ok())
    }

    /// What all that was found costs.
    fn compute_costs(&self, goal: SizeGoal, machine: &Machine) -> Result<CostTable, String> {
        let graph = &machine.graph;
        let factor = self.frontier.as_ref().map_or(1, |frontier| frontier.bounds.factor);
        let mut rows = Vec::new();
        for size in &goal.sizes {
            let chunk = size.chunk.checked_mul(Rational::from_integer(factor));
            let chunk = chunk.map_err(describe_overflow)?;
            let points = self.frontier.iter().flat_map(|frontier| &frontier.points);
            let mut times = Vec::new();
            for point in points {
                times.push(goal.model.estimate_steps(graph, &point.schedule, chunk));
            }
            times.extend(
                self.find_trees().map(|trees| goal.model.estimate_trees(graph, trees, chunk)),
            );
            let times: Vec<Rational> =
                times.into_iter().collect::<Result<_, _>>().map_err(describe_overflow)?;
            let best = times.iter().enumerate().min_by_key(|(_, time)| **time);
            if let Some((best, _)) = best {
                rows.push(CostRow { best, times });
            }
        }
        Ok(CostTable { goal, rows })
    }
}

/// Refuses a path that cannot be written before anything is searched for.
fn refuse_target(args: &Synth) -> Result<(), Failure> {
    let Some(output) = args.output.as_deref() else { return Ok(()) };
    let is_program = is_one_file(output);
    let is_wrong = if is_program { output.is_dir() } else { output.exists() && !output.is_dir() };
    if is_wrong {
        return Err(Failure::Usage(format!(
            "`-o {}`: programs go into a folder, or one program into a file that ends in `.ccl`",
            files::shown(output)
        )));
    }
    Ok(())
}

/// The collective, if it is a known one.
fn find_kind(asked: &AskedCollective) -> Option<CollectiveKind> {
    match asked.collective {
        Collective::Known(kind) => Some(kind),
        Collective::Demands(_) => None,
    }
}

fn refuse_chunks(asked: &AskedCollective) -> Result<(), Failure> {
    if asked.factor == 1 {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "`{}`: leave `chunks` out: the search chooses into how many pieces a chunk is cut",
        asked.name
    )))
}

/// Trees of an AllReduce: those of its bound, or composed ones where the machine is too large for that.
fn pack_allreduce(
    topology: &Topology,
    observer: &dyn SearchObserver,
) -> Result<Result<AllReducePacking, TreeError>, SearchError> {
    let request = PackRequest { observer, ..PackRequest::default() };
    let budget = ProgramBudget::default();
    let limits = ProgramLimits { budget: &budget, observer };
    match bound_allreduce_under(topology, &find_symmetry(topology), limits) {
        Ok(bound) => Ok(pack_allreduce_trees(topology, &bound, request)),
        Err(BoundError::TooLarge) => {
            Ok(compose_allreduce_trees(topology, request).map(|trees| AllReducePacking {
                bound: trees.rho,
                trees,
                method: AllReduceMethod::Composed,
                end: PackingEnd::TooLarge,
                flow_tests: 0,
            }))
        }
        Err(error) => Err(SearchError::Bound(error)),
    }
}

/// A machine to which a sketch is applied.
struct SketchedMachine {
    machine: Arc<Machine>,
    max_hops: Option<u32>,
}

/// The machine without the links that carry nothing, and the limit on hops.
fn apply_sketch(args: &Synth, machine: &Arc<Machine>) -> Result<SketchedMachine, Failure> {
    let sketch = read_sketch(&args.sketch, machine)?;
    let max_hops = sketch.limit_hops();
    let links =
        Sketch { forbidden: sketch.forbidden, passages: sketch.passages, ..Sketch::default() };
    if links == Sketch::default() {
        return Ok(SketchedMachine { machine: machine.clone(), max_hops });
    }
    let sketched =
        links.apply(&machine.graph).map_err(|error| Failure::Usage(error.to_string()))?;
    if !sketched.gaps.is_empty() {
        return Err(Failure::Usage(
            "`--via`: a link that is not used is also needed for other ranks; name with `--forbid` the links that carry nothing".to_owned(),
        ));
    }
    let reach = MachineReach::default();
    let machine = Machine { graph: sketched.topology, reach, ..(**machine).clone() };
    Ok(SketchedMachine { machine: Arc::new(machine), max_hops })
}

fn prove(
    args: &Synth,
    bounds: Option<&CollectiveBounds>,
    reporter: &Reporter,
) -> Result<(), Failure> {
    let Some(path) = &args.prove else { return Ok(()) };
    let Some(bounds) = bounds else {
        return Err(Failure::Usage(
            "`--prove` is about schedules of steps: leave `--goal bandwidth` out, or use `cclc bound --prove`"
                .to_owned(),
        ));
    };
    write_proof(path, bounds, reporter)
}

/// The program of a point or of the trees, or why there is none.
struct PointProgram {
    /// Where it was written; none if it was not.
    path: Option<String>,
    /// Where the program with packets was written; none if there is none.
    packets: Option<String>,
    /// Why there is no program.
    failure: Option<String>,
}

/// Writes programs into a folder or a file.
fn write_files(
    output: &Path,
    results: Vec<Option<PointTexts>>,
    reporter: &Reporter,
) -> Result<Vec<Option<PointProgram>>, Failure> {
    let target = ProgramTarget::choose(output, &results)?;
    let mut programs = Vec::new();
    let mut texts = Vec::new();
    let mut place = |written: WrittenProgram| {
        let path = target.find_path(&written.name);
        let shown = path.to_string_lossy().into_owned();
        texts.push(PathText { path, text: written.text });
        shown
    };
    for result in results {
        programs.push(result.map(|PointTexts { program, packets }| match program {
            Ok(written) => {
                let path = Some(place(written));
                let (packets, failure) = match packets {
                    Ok(packets) => (packets.map(&mut place), None),
                    Err(why) => (None, Some(format!("with packets: {why}"))),
                };
                PointProgram { path, packets, failure }
            }
            Err(why) => PointProgram { path: None, packets: None, failure: Some(why) },
        }));
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

/// The texts of a point, or of trees.
struct PointTexts {
    /// The program, or why there is none.
    program: Result<WrittenProgram, String>,
    /// The one with packets, if there is one.
    packets: Result<Option<WrittenProgram>, String>,
}

impl PointTexts {
    /// Without packets.
    fn new(program: Result<WrittenProgram, String>) -> PointTexts {
        PointTexts { program, packets: Ok(None) }
    }
}

/// Whether `-o` names the file of one program.
fn is_one_file(output: &Path) -> bool {
    output.extension().is_some_and(|end| end == "ccl") || output == Path::new("-")
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
    fn choose(output: &Path, results: &[Option<PointTexts>]) -> Result<ProgramTarget, Failure> {
        let is_file = is_one_file(output);
        let count = results.iter().flatten().filter(|result| result.program.is_ok()).count();
        if is_file && count > 1 {
            return Err(Failure::Usage(format!(
                "there are {count} programs: name a folder, or choose one with `--goal size:1MiB`, `--point` or `--steps`"
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
