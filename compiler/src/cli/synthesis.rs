//! `cclc synth`: finds schedules for a collective on a machine, and writes their programs.

mod answer;
mod costs;
mod declared;
mod files;
mod goal;
mod point;
mod programs;
mod search;

use super::args::{Synth, SynthTemplate};
use super::collective::{AskedCollective, find_collective, report_bound_error};
use super::machine::find_machine;
use super::proof::write_proof;
use super::reference::Reference;
use super::report::Reporter;
use super::search_watch::SearchWatch;
use super::sketch::{read_sketch, write_flags};
use super::{Failure, Status, output};
use answer::SynthesisAnswer;
use compiler::interrupt::Interrupt;
use compiler::machine::{Machine, MachineReach};
use compiler::synthesize::ProgramForm;
use costs::CostTable;
use declared::write_declared_texts;
use files::{PointProgram, PointTexts, is_one_file, refuse_target, write_files};
use goal::SizeGoal;
pub(crate) use goal::parse_number;
use programs::ProgramWriter;
use search::{PackedTrees, Synthesis};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use synth::bound::BoundError;
use synth::collective::{Collective, CollectiveKind};
use synth::frontier::FrontierPoint;
use synth::schedule::Unit;
use synth::sketch::Sketch;
use synth::steps::SearchError;

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
    /// The sketch, as flags.
    sketch: String,
}

/// Finds, writes and prints schedules.
pub(crate) fn run(args: &Synth, reporter: &mut Reporter) -> Result<Status, Failure> {
    let root = args.answer.root.as_deref();
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
        sketch: write_flags(&args.sketch),
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
            let way_out =
                if error == SearchError::UnfitEngine { "; leave `--engine` out" } else { "" };
            Err(Failure::Usage(format!("`{}`: {error}{way_out}", asked.name)))
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
        self.refuse_proof()?;
        let watch = SearchWatch::begin(&reporter.interrupt, reporter.shows_progress());
        let mut found = self.search(&watch)?;
        // Once all is known, nothing is ended any more.
        found.stop = if found.is_complete() { None } else { watch.find_stop() };
        drop(watch);
        if let Some(sizes) = sizes {
            let costs = CostTable::compute(&found, sizes, machine);
            found.costs = Some(costs.map_err(Failure::Usage)?);
        }
        if let (Some(path), Some(frontier)) = (&args.answer.prove, &found.frontier) {
            write_proof(path, &frontier.bounds, reporter)?;
        }
        let programs = self.write_programs(&found, reporter)?;
        let answer = SynthesisAnswer {
            name: &asked.name,
            machine,
            found: &found,
            max_chunks: args.max_chunks,
            sketch: &self.sketch,
            programs: &programs,
        };
        output::show(&if args.answer.json { answer.write_json() } else { answer.write_text() })?;
        let status = reporter.finish();
        let is_written = programs.iter().flatten().all(|program| program.failure.is_none());
        Ok(if found.is_complete() && is_written {
            status
        } else {
            // As for what could not be written: something that was asked for is not there.
            status.max(Status::Files)
        })
    }

    fn begin_writer(&self) -> Option<ProgramWriter<'_>> {
        Some(ProgramWriter {
            question: &self.asked.name,
            sketch: &self.sketch,
            machine: self.machine,
            whole: self.whole,
            machine_name: find_machine_name(self.args),
            is_library_machine: names_library_machine(self.args),
            kind: find_kind(self.asked)?,
            form: match self.args.template {
                SynthTemplate::Auto => ProgramForm::Shortest,
                SynthTemplate::Table => ProgramForm::Table,
            },
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

    /// Writes the program of trees.
    fn write_packed(&self, packed: PackedTrees<'_>, interrupt: &Interrupt) -> PointTexts {
        let Some(writer) = self.begin_writer() else {
            return PointTexts::new(Err(UNKNOWN_FORM.to_owned()));
        };
        let written = match packed {
            PackedTrees::OneWay(trees) => writer.write_trees(trees, interrupt),
            PackedTrees::BothWays(packing) => writer.write_allreduce(packing, interrupt),
        };
        PointTexts::new(written.map_err(|why| why.to_string()))
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
    /// is that of one program. All are made before the first one is written. A folder gets programs with packets, too. None
    /// stands for what was not asked for.
    fn write_programs(
        &self,
        found: &Synthesis,
        reporter: &Reporter,
    ) -> Result<Vec<Option<PointProgram>>, Failure> {
        let points = found.frontier.as_ref().map_or(&[][..], |frontier| &frontier.points);
        let packed = found.find_packed();
        let count = points.len() + usize::from(packed.is_some());
        let Some(output) = self.find_output() else {
            return Ok(std::iter::repeat_with(|| None).take(count).collect());
        };
        // The time for the search may be up; what it found is written all the same.
        let interrupt =
            if found.stop.is_some() { Interrupt::default() } else { reporter.interrupt.clone() };
        let wants_packets = !is_one_file(output);
        let is_wanted =
            |index| found.costs.as_ref().is_none_or(|costs: &CostTable| costs.has_best(index));
        let mut results: Vec<Option<PointTexts>> = Vec::new();
        if let Some(frontier) = &found.frontier {
            for (index, point) in points.iter().enumerate() {
                let write = || {
                    let units = frontier.find_units(point);
                    self.write_point(point, units, wants_packets, &interrupt)
                };
                results.push(is_wanted(index).then(write));
            }
        }
        if let Some(packed) = packed {
            let write = || self.write_packed(packed, &interrupt);
            results.push(is_wanted(points.len()).then(write));
        }
        write_files(output, results, reporter)
    }
}

/// Why there is no program of a collective that is no known one.
const UNKNOWN_FORM: &str = "programs are written for the collectives of the library";

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
