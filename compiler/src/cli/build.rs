//! `cclc build`: checks a program and writes what `--emit` asks for, for each combination of parameters.

use super::args::{Build, Checks, Elaboration};
use super::load::{self, Loaded};
use super::output::Output;
use super::own::Own;
use super::report::Reporter;
use super::settings::{self, Given, Values};
use super::sweep::Sweep;
use super::{Failure, Status, cuda, files, manifest, output, sweep};
use compiler::diagnostic::{Diagnostic, Severity};
use compiler::driver::{self, Lowered, Proof, Request};
use compiler::elaborate;
use compiler::interrupt::Interrupt;
use compiler::ir;
use compiler::onset;
use compiler::phase::phase;
use compiler::plan::manifest::Entry;
use compiler::plan::map;
use compiler::resolve::program::{ProgramId, Unit};
use compiler::source::SourceMap;
use compiler::target::{CUDA, Capacity, PLAN, Target};
use compiler::trial::{self, Subject};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The extension of a map's name, where a plan's has `json`.
pub(crate) const MAP: &str = "map.json";

/// The extension of a manifest's name, where a plan's has `json`.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Builds one program, once for each combination of parameters.
pub(crate) fn run(build: &Build, reporter: &mut Reporter) -> Result<Status, Failure> {
    let wanted = wanted(build)?;
    let elaboration = &build.elaboration;
    let given = settings::given(reporter, elaboration)?;
    let Some(mut selected) =
        select_program(reporter, elaboration, &given, &build.file, Values::Several)?
    else {
        return Ok(reporter.finish().max(Status::Errors));
    };
    let done = if selected.sweep.varies() {
        refuse_one_name(build, &wanted, &given, selected.sweep.len())?;
        build_combinations(build, &wanted, &given, &mut selected, reporter)?
    } else {
        build_one(build, &wanted, &mut selected.input, reporter)?.is_some()
    };
    let least = if done { Status::Clean } else { Status::Errors };
    Ok(reporter.finish().max(least))
}

/// Builds a program for each combination that no `require` refuses, until there is an error in one; returns whether there
/// was none.
fn build_combinations(
    build: &Build,
    wanted: &Wanted,
    given: &Given,
    selected: &mut Selected,
    reporter: &mut Reporter,
) -> Result<bool, Failure> {
    let Selected { input, sweep } = selected;
    let of_all = reporter.taken();
    let mut gathered = sweep::Gathered::default();
    let mut refusals = sweep::Gathered::default();
    let mut tally = sweep::Tally::default();
    let mut is_right = true;
    for combination in sweep.combinations() {
        let _one = phase("with", &combination.text);
        input.settings = given.settings(&build.elaboration, combination.parameters.clone());
        let made = build_one(build, wanted, input, reporter)?;
        let found = reporter.taken();
        let declared = &input.loaded.unit.programs[input.program];
        if let Some(why) = sweep.skips(declared, &found) {
            tally.skip(why);
            refusals.add(&combination, found);
            continue;
        }
        gathered.add(&combination, found);
        is_right = made.is_some();
        if !is_right {
            break;
        }
        tally.taken += 1;
    }
    let nothing = is_right && tally.taken == 0;
    let found = if nothing { refusals } else { gathered }.finish(true);
    reporter.put_back(of_all.into_iter().chain(found).collect());
    let name = &input.loaded.unit.programs[input.program].name;
    reporter.remark(&format!("`{name}`: {}", tally.text("built")));
    Ok(is_right && !nothing)
}

/// Builds one program for one combination of parameters: its plan, if anything except kernels is requested, then its
/// kernels; returns the path of the first, and none if something is wrong.
fn build_one(
    build: &Build,
    wanted: &Wanted,
    input: &mut BuildInput,
    reporter: &mut Reporter,
) -> Result<Option<PathBuf>, Failure> {
    input.proved = false;
    let mut made = Vec::new();
    let others = [&wanted.plan, &wanted.map, &wanted.manifest];
    if wanted.cuda.is_none() || others.iter().any(|kind| kind.is_some()) {
        let Some(plan) = plan(build, wanted, input, reporter)? else { return Ok(None) };
        made.push(plan);
    }
    if let Some(path) = &wanted.cuda {
        let Some(source) = cuda::write(build, path.as_deref(), input, reporter)? else {
            return Ok(None);
        };
        made.push(source);
    }
    if let (Some(given), Some(first)) = (&wanted.deps, made.first()) {
        let deps = beside("deps", given.as_deref(), first, "d")?;
        let target = escaped(&files::name(first));
        let deps = output_at(&deps, given.as_deref(), Own::Deps(&target));
        deps.write_text(&makefile(&made, &reporter.sources))?;
    }
    Ok(made.into_iter().next())
}

/// Refuses what gives all plans of several combinations one name.
fn refuse_one_name(
    build: &Build,
    wanted: &Wanted,
    given: &Given,
    plans: usize,
) -> Result<(), Failure> {
    let one = if build.output.is_some() {
        "`-o` names one file".to_owned()
    } else if let Some(kind) = wanted.placed() {
        format!("`--emit {kind}=..` names one file")
    } else if given.names_the_plan() {
        "`-O name=..` gives all of them one name".to_owned()
    } else {
        return Ok(());
    };
    Err(Failure::Usage(format!(
        "`-D` asks for {plans} plans, and {one}: leave it out, and each plan is named after the program and its parameters"
    )))
}

/// Writes the plan and its map, as far as they are requested, and returns the plan's path, whether it was
/// written or not; none if something is wrong with it.
fn plan(
    build: &Build,
    wanted: &Wanted,
    input: &mut BuildInput,
    reporter: &mut Reporter,
) -> Result<Option<PathBuf>, Failure> {
    let proof = proof(&build.elaboration, build.unproved);
    let lowered = input.lowered(reporter, proof, &PLAN);
    let Some(program) = lowered else { return Ok(None) };
    let plan = plan_path(build, wanted, program.program())?;
    input.claim(&plan)?;
    let beside = |kind, wanted: &Option<Option<PathBuf>>, extension| {
        wanted.as_ref().map(|path| beside(kind, path.as_deref(), &plan, extension)).transpose()
    };
    // Outputs that cannot be written are reported before the plan is.
    let deps = beside("deps", &wanted.deps, "d")?;
    let map_path = beside("map", &wanted.map, MAP)?;
    let map = map_path.as_ref().map(|_| driver::map(&program, &reporter.sources));
    let manifest = beside("manifest", &wanted.manifest, MANIFEST)?;
    if plan == Path::new("-") {
        refuse_names_of_stdout(&[("manifest", &manifest), ("deps", &deps)])?;
    }
    let entry = Entry { any_size: program.any_size(), ..Entry::of(program.program()) };
    let target = escaped(&files::name(&plan));
    let given = wanted.plan.as_ref().map(|path| path.as_deref().or(build.output.as_deref()));
    let plan_output = given.map(|given| output_at(&plan, given, Own::Plan));
    let map_output = place_output(map_path.as_deref(), &wanted.map, Own::Map);
    let manifest_output = place_output(manifest.as_deref(), &wanted.manifest, Own::Manifest);
    let deps_output = place_output(deps.as_deref(), &wanted.deps, Own::Deps(&target));
    let outputs = [plan_output, map_output, manifest_output, deps_output];
    let outputs = || outputs.into_iter().flatten();
    output::refuse_losses(outputs().map(|output| output.path), &reporter.sources)?;
    output::refuse_foreign(outputs())?;
    let Some(made) = write_plan(reporter, input, program, plan_output)? else {
        return Ok(None);
    };
    if let (Some(output), Some(map)) = (map_output, map) {
        let map = map.bound_to(made.digest.clone());
        output.write(|out| map.write(out).map(|()| true))?;
    }
    if let Some(output) = manifest_output {
        manifest::write_one(output, &plan, entry, made, input.proved)?;
    }
    Ok(Some(plan))
}

/// An output at a path, which a person gave if it is `given`.
fn output_at<'p>(path: &'p Path, given: Option<&Path>, own: Own<'p>) -> Output<'p> {
    match given {
        Some(_) => Output::named(path),
        None => Output::derived(path, own),
    }
}

/// An output at a path, if it is wanted, and with a path of its own if one is given.
fn place_output<'p>(
    path: Option<&'p Path>,
    wanted: &Option<Option<PathBuf>>,
    own: Own<'p>,
) -> Option<Output<'p>> {
    path.map(|path| output_at(path, wanted.as_ref().and_then(|given| given.as_deref()), own))
}

/// Refuses outputs in which the plan's file is named, where it has no name.
fn refuse_names_of_stdout(naming: &[(&str, &Option<PathBuf>)]) -> Result<(), Failure> {
    match naming.iter().find(|(_, path)| path.is_some()) {
        Some((kind, _)) => Err(Failure::Usage(format!(
            "`--emit {kind}` names the plan's file: standard output has no name"
        ))),
        None => Ok(()),
    }
}

/// A plan that was written, or would have been.
pub(crate) struct BuiltPlan {
    /// The digest of its bytes.
    pub(crate) digest: String,
    /// The smallest and the largest message that it serves, in bytes.
    pub(crate) message_size: (u64, u64),
}

/// Writes the plan, if nothing is wrong with it and it is requested; none if something is wrong with it.
fn write_plan(
    reporter: &mut Reporter,
    input: &BuildInput,
    program: Lowered,
    output: Option<Output<'_>>,
) -> Result<Option<BuiltPlan>, Failure> {
    let mut made = None;
    let fill = |out: &mut dyn io::Write| {
        let mut out = map::Hashed::new(out);
        let outcome = driver::write_plan(program, input.capacity, &mut out)?;
        if !reporter.add(input.explained(&PLAN, outcome.diagnostics)) {
            let message_size = (outcome.min_message_size, outcome.max_message_size);
            made = Some(BuiltPlan { digest: out.digest(), message_size });
        }
        Ok(made.is_some())
    };
    match output {
        Some(output) => output.write(fill)?,
        None => {
            // A sink refuses no bytes.
            let _ = fill(&mut io::sink());
        }
    }
    Ok(made)
}

/// The program that a file and the arguments select, in its final form for a target.
pub(crate) fn lowered(
    reporter: &mut Reporter,
    elaboration: &Elaboration,
    proof: Proof,
    path: &Path,
    target: &'static Target,
) -> Result<Option<(BuildInput, Lowered)>, Failure> {
    let Some(mut input) = input(reporter, elaboration, path)? else { return Ok(None) };
    let program = input.lowered(reporter, proof, target);
    Ok(program.map(|program| (input, program)))
}

/// What must be known about a program before it is written.
pub(crate) fn proof(elaboration: &Elaboration, unproved: bool) -> Proof {
    match (elaboration.checks, unproved) {
        (Checks::None, _) => Proof::Skipped,
        (Checks::Proof | Checks::All, true) => Proof::Reported,
        (Checks::Proof | Checks::All, false) => Proof::Needed,
    }
}

/// How much a target has room for, and whether a program that needs more is wrong.
pub(crate) fn capacity(elaboration: &Elaboration) -> Capacity {
    let worst = match elaboration.checks {
        Checks::All => Severity::Error,
        Checks::None | Checks::Proof => Severity::Warning,
    };
    Capacity { sms: elaboration.sms, worst }
}

/// One program of one file with one set of parameters, ready to be elaborated.
pub(crate) struct BuildInput {
    /// The file.
    pub(crate) loaded: Loaded,
    /// The program.
    pub(crate) program: ProgramId,
    /// The settings for its elaboration.
    pub(crate) settings: elaborate::Settings,
    /// How much its target has room for.
    pub(crate) capacity: Capacity,
    /// Whether all checks ran and found nothing; false until the program is lowered.
    pub(crate) proved: bool,
    /// The plans and kernels of this run, with whatever parameters.
    pub(crate) claimed: BTreeSet<PathBuf>,
}

impl BuildInput {
    /// The program in its final form for a target; none if there were errors, which are then in `reporter`.
    /// Reports that it has already are not added again.
    pub(crate) fn lowered(
        &mut self,
        reporter: &mut Reporter,
        proof: Proof,
        target: &'static Target,
    ) -> Option<Lowered> {
        let interrupt = &reporter.interrupt.clone();
        let request = Request { proof, ..self.request(target, interrupt) };
        let (program, mut diagnostics) = driver::lower_within(&request, self.capacity);
        if reporter.is_stopped() {
            return None;
        }
        if program.is_none() {
            diagnostics = self.explained(target, diagnostics);
        }
        self.proved = proof != Proof::Skipped && driver::is_proved(&diagnostics);
        let check =
            |unit: &Unit, program: ProgramId, settings: &elaborate::Settings, proof: Proof| {
                let request = Request { unit, program, settings, target, proof, interrupt };
                driver::check_program(&request, self.capacity).1
            };
        let subject = Subject {
            sources: &reporter.sources,
            unit: &self.loaded.unit,
            program: self.program,
            settings: std::slice::from_ref(&self.settings),
            check: &check,
            interrupt,
        };
        trial::confirm(subject, &mut diagnostics);
        let broken = reporter.add_new(diagnostics);
        // With `Proof::Reported`, there is a program in spite of what was found.
        program.filter(|_| !broken || proof == Proof::Reported)
    }

    /// Whether the target can run the program in its final form; what it cannot do is then in `reporter`.
    pub(crate) fn fits(&self, reporter: &mut Reporter, lowered: &Lowered) -> bool {
        let mut found = driver::check_limits(lowered, self.capacity);
        found.retain(|report| report.severity != Severity::Note);
        !reporter.add_new(self.explained(lowered.target(), found))
    }

    /// Takes a path for a plan or kernels, which another combination of parameters may have taken.
    pub(crate) fn claim(&mut self, path: &Path) -> Result<(), Failure> {
        if path == Path::new("-") || self.claimed.insert(path.to_owned()) {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "plans for different parameters would all be written to `{}`: the program's option `name` must tell them apart, or be left out",
            files::shown(path)
        )))
    }

    /// The reports about a target's limits, each with the number of ranks from which on the limit is exceeded.
    fn explained(&self, target: &'static Target, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let interrupt = &Interrupt::default();
        onset::explain(&self.request(target, interrupt), self.capacity, &mut found);
        found
    }

    /// The program for a target, to be proved.
    fn request<'a>(&'a self, target: &'static Target, interrupt: &'a Interrupt) -> Request<'a> {
        Request {
            unit: &self.loaded.unit,
            program: self.program,
            settings: &self.settings,
            target,
            proof: Proof::Needed,
            interrupt,
        }
    }
}

/// Reads a file and the arguments; none if there were errors, which are then in `reporter`.
pub(crate) fn input(
    reporter: &mut Reporter,
    elaboration: &Elaboration,
    path: &Path,
) -> Result<Option<BuildInput>, Failure> {
    let given = settings::given(reporter, elaboration)?;
    let selected = select_program(reporter, elaboration, &given, path, Values::One)?;
    Ok(selected.map(|selected| selected.input))
}

/// A program, and the combinations of parameters with which it is built.
struct Selected {
    /// With the first combination.
    input: BuildInput,
    sweep: Sweep,
}

/// Reads a file; none if there were errors, which are then in `reporter`.
fn select_program(
    reporter: &mut Reporter,
    elaboration: &Elaboration,
    given: &Given,
    path: &Path,
    values: Values,
) -> Result<Option<Selected>, Failure> {
    let Some(loaded) = load::load(reporter, elaboration, path).filter(|file| !file.broken) else {
        return Ok(None);
    };
    let program = load::the_program(&loaded.unit, elaboration, path)?;
    let sweep = program_sweep(reporter, given, &loaded, program, values)?;
    let settings = first_settings(elaboration, given, &sweep);
    let (capacity, claimed) = (capacity(elaboration), BTreeSet::new());
    let input = BuildInput { loaded, program, settings, capacity, proved: false, claimed };
    Ok(Some(Selected { input, sweep }))
}

/// The combinations of parameters for one program, all of whose names must be its own.
fn program_sweep(
    reporter: &Reporter,
    given: &Given,
    loaded: &Loaded,
    program: ProgramId,
    values: Values,
) -> Result<Sweep, Failure> {
    let declared = &loaded.unit.programs[program];
    settings::check_names(&reporter.sources, given, &[declared])?;
    sweep::sweep(&reporter.sources, given, declared, values)
}

/// The settings of the first combination.
fn first_settings(elaboration: &Elaboration, given: &Given, sweep: &Sweep) -> elaborate::Settings {
    let parameters = sweep.combinations().next().map(|combination| combination.parameters);
    given.settings(elaboration, parameters.unwrap_or_default())
}

/// The settings for the elaboration of one program, with one value for each parameter.
pub(crate) fn settings(
    reporter: &Reporter,
    elaboration: &Elaboration,
    given: &Given,
    loaded: &Loaded,
    program: ProgramId,
) -> Result<elaborate::Settings, Failure> {
    let sweep = program_sweep(reporter, given, loaded, program, Values::One)?;
    Ok(first_settings(elaboration, given, &sweep))
}

/// What `--emit` asks for. For each kind: nothing, or its destination, if one is given.
#[derive(Default)]
struct Wanted {
    plan: Option<Option<PathBuf>>,
    deps: Option<Option<PathBuf>>,
    map: Option<Option<PathBuf>>,
    manifest: Option<Option<PathBuf>>,
    cuda: Option<Option<PathBuf>>,
}

impl Wanted {
    /// A kind of output that has a path, if one has.
    fn placed(&self) -> Option<&'static str> {
        let kinds = [
            ("plan", &self.plan),
            ("map", &self.map),
            ("manifest", &self.manifest),
            ("cuda", &self.cuda),
            ("deps", &self.deps),
        ];
        let is_placed = |wanted: &Option<Option<PathBuf>>| matches!(wanted, Some(Some(_)));
        kinds.into_iter().find(|(_, wanted)| is_placed(wanted)).map(|(kind, _)| kind)
    }
}

fn wanted(build: &Build) -> Result<Wanted, Failure> {
    let mut wanted = Wanted::default();
    for text in build.emit.iter().flat_map(|text| outputs(text)) {
        let (kind, path) = match text.split_once('=') {
            Some((kind, path)) => (kind, Some(PathBuf::from(path))),
            None => (text.as_str(), None),
        };
        let slot = match kind {
            "plan" => &mut wanted.plan,
            "deps" => &mut wanted.deps,
            "map" => &mut wanted.map,
            "cuda" => &mut wanted.cuda,
            "manifest" => &mut wanted.manifest,
            _ => return Err(unknown_kind(kind)),
        };
        if slot.replace(path).is_some() {
            return Err(Failure::Usage(format!("`--emit {kind}` is given twice")));
        }
    }
    if wanted.cuda.is_none() && *build.target != CUDA {
        return Err(Failure::Usage("`--target` is for kernels: add `--emit cuda`".to_owned()));
    }
    match wanted.plan.as_ref().or(wanted.cuda.as_ref()) {
        Some(Some(_)) if build.output.is_some() => Err(two_paths()),
        Some(_) if wanted.plan.is_some() && wanted.cuda.is_some() && build.output.is_some() => {
            Err(Failure::Usage(
                "`-o` is for one output: use `--emit plan=PATH,cuda=PATH.cu` for two".to_owned(),
            ))
        }
        Some(_) | None => Ok(wanted),
    }
}

/// The outputs in the value of one `--emit`. A comma in a path is part of it where the path visibly goes on: what follows is
/// no word, as kinds are.
fn outputs(text: &str) -> Vec<String> {
    let is_path =
        |part: &str| part.split('=').next().is_some_and(|word| word.contains(['/', '\\', '.']));
    let mut outputs: Vec<String> = Vec::new();
    for part in text.split(',') {
        match outputs.last_mut() {
            Some(last) if last.contains('=') && is_path(part) => *last += &format!(",{part}"),
            Some(_) | None => outputs.push(part.to_owned()),
        }
    }
    outputs
}

/// The path of the plan, written or not.
fn plan_path(build: &Build, wanted: &Wanted, program: &ir::Program) -> Result<PathBuf, Failure> {
    let given = wanted.plan.clone().flatten().or_else(|| build.output.clone());
    match given {
        Some(path) => Ok(path),
        None => default_path(&program.options.name, PLAN.extension()),
    }
}

/// How long a file's name may be, in bytes: file systems take 255, and what goes next to a plan has longer suffixes.
const MOST_NAME: usize = 200;

/// The plan's name in the current folder, if it can be a file name.
pub(crate) fn default_path(name: &str, extension: &str) -> Result<PathBuf, Failure> {
    let plain = |c: char| c.is_alphanumeric() || "_-.+=,@ ".contains(c);
    if name.is_empty() || name.starts_with(['.', '-', ' ']) || !name.chars().all(plain) {
        return Err(Failure::Usage(format!(
            "the plan's name `{name}` cannot be a file name; use `-o PATH`"
        )));
    }
    if name.len() > MOST_NAME {
        let begin: String = name.chars().take(40).collect();
        return Err(Failure::Usage(format!(
            "the plan's name, `{begin}..`, has {} bytes, and a file name at most {MOST_NAME}: give the plan a name with `-O name=..`, or the file with `-o PATH`",
            name.len()
        )));
    }
    Ok(PathBuf::from(format!("{name}.{extension}")))
}

/// The path of an output that goes next to the plan.
pub(crate) fn beside(
    kind: &str,
    given: Option<&Path>,
    plan: &Path,
    extension: &str,
) -> Result<PathBuf, Failure> {
    match given {
        Some(path) => Ok(path.to_owned()),
        None if plan == Path::new("-") => Err(Failure::Usage(format!(
            "`--emit {kind}` needs a path where the plan goes to standard output"
        ))),
        None => Ok(plan.with_extension(extension)),
    }
}

/// A makefile rule by which everything that was made depends on every file that was read.
fn makefile(made: &[PathBuf], sources: &SourceMap) -> String {
    let read = sources.files.iter().map(|file| file.name.as_str()).filter(|name| is_path(name));
    let inputs: String = read.map(|name| format!(" {}", escaped(name))).collect();
    let made: Vec<String> = made.iter().map(|path| escaped(&files::name(path))).collect();
    format!("{}:{inputs}\n", made.join(" "))
}

/// Whether a source is a file: not standard input, a module of the library or an argument.
fn is_path(name: &str) -> bool {
    !name.starts_with('<')
        && !name.starts_with("std::")
        && !name.starts_with("-D ")
        && !name.starts_with("-O ")
}

fn escaped(path: &str) -> String {
    path.replace('\\', "\\\\").replace('$', "$$").replace('#', "\\#").replace(' ', "\\ ")
}

fn unknown_kind(kind: &str) -> Failure {
    Failure::Usage(format!(
        "`--emit {kind}`: there is no such output; the outputs are `plan`, `map`, `manifest`, `cuda` \
         and `deps`"
    ))
}

fn two_paths() -> Failure {
    Failure::Usage("the output has two destinations: `-o` and the path after `--emit`".to_owned())
}
