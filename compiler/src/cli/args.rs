//! The arguments of all commands.

mod search;

use super::{Failure, Status, files};
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use compiler::optimize::Stage;
use compiler::syntax::token;
use compiler::target::{self, CUDA, PLAN, TARGETS, Target};
pub(crate) use search::{
    Bound, Relay, SketchArgs, Synth, SynthEngine, SynthGoal, SynthSymmetry, SynthTemplate,
};
use std::path::PathBuf;
use std::time::Duration;

/// The compiler for ccl: checks collective communication programs and compiles them to MSCCL++ execution plans.
#[derive(Debug, Parser)]
#[command(name = "cclc", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// How to report it.
    #[command(flatten)]
    pub(crate) reporting: Reporting,
    /// What it may use.
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Write how long each step took, as a trace that ui.perfetto.dev can open
    #[arg(long, value_name = "FILE", value_parser = trace(), value_hint = ValueHint::FilePath, global = true)]
    pub(crate) timings: Option<PathBuf>,
}

/// Limits of a run; accepted by every command.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct Limits {
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, global = true)]
    pub(crate) time_limit: Option<Duration>,
    /// The maximum number of bytes to read: for a source file together with its imports [default: 16MiB], for a plan,
    /// its map or a manifest [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes, global = true)]
    pub(crate) max_input: Option<u64>,
}

/// How reports are written; accepted by every command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Reports")]
pub(crate) struct Reporting {
    /// Format of the reports on standard error
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = MessageFormat::Human, global = true)]
    pub(crate) message_format: MessageFormat,
    /// Print reports only, and nothing about what was proved, built or fixed
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to color reports; NO_COLOR turns `auto` off
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Auto, global = true)]
    pub(crate) color: When,
    /// Show this warning or note as a warning (a code, `warnings` for all warnings, or `unproved`, as for `--deny`)
    #[arg(long, value_name = "CODE", global = true)]
    pub(crate) warn: Vec<String>,
    /// Treat this warning or note as an error (a code; `warnings` for all warnings; `unproved` for all that say what was
    /// not proved, or with which assumption: use it for plans of others)
    #[arg(long, value_name = "CODE", global = true)]
    pub(crate) deny: Vec<String>,
    /// Do not show this warning or note (a code, `warnings` or `unproved`); `shared`: for a plan, accept that several
    /// blocks use one end of a channel or one semaphore, as `#[allow(shared)]` does in source
    #[arg(long, value_name = "CODE", global = true)]
    pub(crate) allow: Vec<String>,
}

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MessageFormat {
    /// Source excerpts with annotations, for people
    Human,
    /// One line per report
    Short,
    /// One JSON object per report, one per line
    Json,
    /// One SARIF 2.1.0 log
    Sarif,
    /// Annotations of a pull request, as GitHub Actions reads them from a log
    Github,
}

/// Whether to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check programs for the given parameters
    Check(Check),
    /// Check a program and write its execution plan
    Build(Build),
    /// Check execution plans from any tool
    Verify(Verify),
    /// Run a program on this machine's CPU, on actual data, in random schedules
    Run(Run),
    /// Combine the manifests of several plans, or check them
    Manifest(Manifest),
    /// Print the canonical listing of a plan
    List(List),
    /// Print a program with everything spelled out, as .ccl
    Dump(Dump),
    /// Show how the behavior of two plans differs
    Diff(Diff),
    /// Write the program of a plan, as .ccl
    Decompile(Decompile),
    /// Show a machine, or write it for other tools
    Topology(Topology),
    /// Show the least that a collective takes on a machine, with proof
    Bound(Bound),
    /// Find a schedule for a collective on a machine, and write its program
    Synth(Synth),
    /// Check a file of proofs that `bound` wrote
    Proof(Proof),
    /// Format source files
    Fmt(Fmt),
    /// Explain the code of a report
    Explain(Explain),
    /// Create a project folder with a program, a build and a test
    New(New),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
}

/// Arguments of every command that elaborates a program.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Elaboration {
    /// Set a parameter of the program: `ranks=16`, `size=1MiB`, `table=[[1, 2], [0, 3]]`; for `check` and
    /// `build` also `ranks=2..=16` or `ranks=2,4,8..=12`
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// Set an option of the program: `instances=4`, `message_size=1KiB..=8MiB`
    #[arg(short = 'O', value_name = "NAME=VALUE")]
    pub(crate) option: Vec<String>,
    /// The program to use, if a file has several
    #[arg(long, value_name = "NAME")]
    pub(crate) program: Option<String>,
    /// The machine that it is for.
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Refuse programs with more operations than this
    #[arg(long, value_name = "N", default_value_t = 16_000_000)]
    pub(crate) max_operations: u64,
    /// The folder in which imported files must be [default: the current one, or that of a source file outside it]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: Option<PathBuf>,
    /// Thread blocks that the GPU runs at once
    #[arg(long, value_name = "N", default_value_t = 132)]
    pub(crate) sms: u32,
    /// Which checks to make; `none` and `proof` are for measurements, and report limits of the target as warnings
    #[arg(long, value_enum, default_value_t = Checks::All, hide = true)]
    pub(crate) checks: Checks,
}

/// The machine that a command is about.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct MachineArgs {
    /// The machine: a topology of the library (`dgx1`, `'dgx_h100(boxes=2)'`) or of a file (`machines.ccl`,
    /// `'machines.ccl::pod(boxes=2)'`). For programs it sets the number of ranks, and comes before the program's own
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) topology: Option<String>,
    /// The ranks of the machine that are used, in the order of the program's: `0,2,4,6` or `0..8`
    #[arg(long, value_name = "RANKS")]
    pub(crate) on: Option<String>,
}

/// How much is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Checks {
    /// Nothing beyond what elaboration needs.
    None,
    /// Whether programs are right, but not whether the target has room for them.
    Proof,
    /// Everything.
    All,
}

/// `cclc check`
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Source files, and folders in which every `.ccl` file is checked; `-` is standard input
    #[arg(required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Apply the certain fixes to the files, and check again
    #[arg(long)]
    pub(crate) fix: bool,
    /// Also look for synchronization that correct programs do not need: each signal with its wait, barrier and so on is
    /// removed or relaxed, and the rest checked again
    #[arg(long)]
    pub(crate) needless: bool,
    /// Also say how long the busiest link of the machine takes, beside the least that is possible there; the program has
    /// to name its machine, or `--topology` has to
    #[arg(long)]
    pub(crate) analyze: bool,
    /// What the program will run on
    #[arg(long, value_parser = parse_target(|_| true), default_value = PLAN.word)]
    pub(crate) target: &'static Target,
    /// What to elaborate.
    #[command(flatten)]
    pub(crate) elaboration: Elaboration,
}

/// `cclc build`
#[derive(Debug, clap::Args)]
pub(crate) struct Build {
    /// A source file; `-` is standard input. If a parameter has several values, each combination becomes a plan
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// What to elaborate.
    #[command(flatten)]
    pub(crate) elaboration: Elaboration,
    /// What to write: `plan`, `map` (where the plan's operations come from, for `verify`), `manifest` (the data by which
    /// a runtime chooses the plan), `cuda` (the program as CUDA kernels), `deps` (a makefile with the files that were
    /// read); each may have a path, as in `deps=plan.d`
    #[arg(long, value_name = "KIND[=PATH],..", default_value = "plan")]
    pub(crate) emit: Vec<String>,
    /// What the kernels are written for
    #[arg(long, value_parser = parse_target(|target| !target.is_plan()), default_value = CUDA.word)]
    pub(crate) target: &'static Target,
    /// The file for the plan or the kernels; `-` is standard output [default: the plan's name with `.json` or `.cu`]
    #[arg(short, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write the plan even if races, deadlocks or a wrong result were found
    #[arg(long)]
    pub(crate) unproved: bool,
}

/// `cclc verify`
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// Execution plans, and folders in which every file is checked whose name ends with `.json` and does not begin with a
    /// dot, except maps and manifests; `-` is standard input
    #[arg(required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) plans: Vec<PathBuf>,
    /// Set a parameter of the plan's collective that does not follow from the sizes of its buffers: `root=3`
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// How many ranks share a node [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) ranks_per_node: Option<u32>,
    /// How many ranks reach each other's memory, over NVLink between nodes, say [default: those of a node]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) ranks_per_domain: Option<u32>,
    /// Thread blocks that the GPU runs at once
    #[arg(long, value_name = "N", default_value_t = 132)]
    pub(crate) sms: u32,
}

/// `cclc run`
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// A source file, or an execution plan whose name ends with `.json`; `-` is source from standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// What to elaborate.
    #[command(flatten)]
    pub(crate) elaboration: Elaboration,
    /// The form in which the program runs: with proxies for its ports, or with ports as memory
    #[arg(long, value_parser = parse_target(|target| target.runs_as.is_none()), default_value = PLAN.word)]
    pub(crate) target: &'static Target,
    /// Size of the message: the output of an AllGather, the input of other collectives; rounded up to equal chunks of a
    /// multiple of 16 bytes; if there are several, each launch has one of them [default: 64KiB, more with pipelines, or
    /// the nearest size that the program serves]
    #[arg(long = "size", value_name = "BYTES", value_delimiter = ',')]
    pub(crate) sizes: Vec<String>,
    /// The type of the numbers
    #[arg(long = "type", value_name = "TYPE", value_enum, default_value_t = Number::F32)]
    pub(crate) number: Number,
    /// How numbers are combined [default: as the program says]
    #[arg(long, value_name = "OP", value_enum)]
    pub(crate) op: Option<Reduction>,
    /// Use floats whose sums depend on the order in which they are added; what is off by no more than rounding is right
    #[arg(long)]
    pub(crate) inexact: bool,
    /// How many schedules to try
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) schedules: u64,
    /// The seed of the first schedule; the same seed gives the same schedule
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// How many consecutive launches of each rank a schedule has
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) launches: u32,
    /// The maximum amount of memory to use
    #[arg(long, value_name = "BYTES", default_value = "4GiB")]
    pub(crate) max_memory: String,
    /// Run even if the checks refuse the program, or its target cannot run it
    #[arg(long)]
    pub(crate) unproved: bool,
}

/// Types of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Number {
    /// 32-bit floats
    F32,
    /// 16-bit floats
    F16,
    /// 16-bit floats with the range of 32-bit ones
    Bf16,
    /// Signed 32-bit integers
    I32,
    /// Unsigned 32-bit integers
    U32,
    /// Unsigned bytes
    U8,
}

/// Ways of combining numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reduction {
    /// The sum
    Sum,
    /// The minimum
    Min,
    /// The maximum
    Max,
}

/// `cclc manifest`
#[derive(Debug, clap::Args)]
pub(crate) struct Manifest {
    /// Manifests, as `cclc build --emit manifest` writes them
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    pub(crate) manifests: Vec<PathBuf>,
    /// Check that each plan is there, and that its hash and properties are those in its manifest; a combined manifest
    /// is written only with `-o`
    #[arg(long)]
    pub(crate) check: bool,
    /// With `--check`: copy the bytes that were checked to this folder, which is made, with a `manifest.json` of the copies
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "check")]
    pub(crate) copy: Option<PathBuf>,
    /// The output file [default: standard output]
    #[arg(short, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// `cclc list`
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// An execution plan; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) plan: PathBuf,
    /// Only this rank
    #[arg(long, value_name = "R")]
    pub(crate) rank: Option<u32>,
    /// Bytes in a chunk [default: 4096, or what is nearest among the sizes that the plan serves]
    #[arg(long, value_name = "N")]
    pub(crate) chunk_bytes: Option<u64>,
    /// Sort the channels of synchronizing operations
    #[arg(long, conflicts_with = "normal")]
    pub(crate) canon: bool,
    /// Like `--canon`, without what may differ between equal plans: `nop` lines, counts, barrier and semaphore numbers
    #[arg(long)]
    pub(crate) normal: bool,
    /// The output file [default: standard output]
    #[arg(short, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// `cclc dump`
#[derive(Debug, clap::Args)]
pub(crate) struct Dump {
    /// A source file; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// What to elaborate.
    #[command(flatten)]
    pub(crate) elaboration: Elaboration,
    /// The last step before the program is printed
    #[arg(long, value_name = "STEP", value_parser = parse_stage(), default_value = Stage::Elaborate.word())]
    pub(crate) after: Stage,
    /// The output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = DumpFormat::Text)]
    pub(crate) format: DumpFormat,
    /// The output file [default: standard output]
    #[arg(short, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// How a program is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DumpFormat {
    /// The program
    Text,
    /// The program and the origin of its lines, as JSON
    Json,
    /// A picture of the blocks' operations, what orders them, and the first finding of the checks, as SVG
    Svg,
}

/// `cclc diff`
#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// An execution plan, or a source file whose name ends with `.ccl`; `-` is a plan from standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) first: PathBuf,
    /// The other plan or source file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) second: PathBuf,
    /// How both programs are built: a `-D` applies to those that have such a parameter, and to parameters of the plans'
    /// collectives that do not follow from sizes.
    #[command(flatten)]
    pub(crate) elaboration: Elaboration,
}

/// `cclc decompile`
#[derive(Debug, clap::Args)]
pub(crate) struct Decompile {
    /// An execution plan; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) plan: PathBuf,
    /// Write each operation of each rank separately, without looking for roles and loops
    #[arg(long)]
    pub(crate) straight: bool,
    /// The output file [default: standard output]
    #[arg(short, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// `cclc topology`
#[derive(Debug, clap::Args)]
pub(crate) struct Topology {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: TopologyCommand,
}

/// The commands about topologies.
#[derive(Debug, Subcommand)]
pub(crate) enum TopologyCommand {
    /// Write the declaration of a machine that another tool describes
    Import(ImportTopology),
    /// Show a machine: its nodes, links and switches
    Show(ShowTopology),
    /// Write a machine as a graph
    Export(ExportTopology),
}

/// `cclc topology import`
#[derive(Debug, clap::Args)]
pub(crate) struct ImportTopology {
    /// The output of `nvidia-smi topo -m` or `rocm-smi --showtopo`, NCCL's topology (`NCCL_TOPO_DUMP_FILE`), or msccl-tools'
    /// as JSON; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// What the file is [default: what it looks like]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<ImportFormat>,
    /// The topology's name [default: that of the file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The file; `-` is standard output
    #[arg(short, value_name = "PATH", value_hint = ValueHint::FilePath, default_value = "-")]
    pub(crate) output: Option<PathBuf>,
}

/// Formats of machines that other tools describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// What `nvidia-smi topo -m` prints
    NvidiaSmi,
    /// NCCL's topology, as XML
    NcclXml,
    /// msccl-tools' topology, as JSON
    MscclJson,
    /// What `rocm-smi --showtopo` prints
    RocmSmi,
}

/// `cclc topology show`
#[derive(Debug, clap::Args)]
pub(crate) struct ShowTopology {
    /// A topology of the library (`dgx1`, `'dgx_h100(boxes=2)'`) or of a file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) machine: String,
    /// The ranks of the machine that are used: `0,2,4,6`
    #[arg(long, value_name = "RANKS")]
    pub(crate) on: Option<String>,
    /// Write a picture to this file, as SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) picture: Option<PathBuf>,
    /// The folder in which imported files must be [default: the current one, or that of a source file outside it]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: Option<PathBuf>,
}

/// `cclc topology export`
#[derive(Debug, clap::Args)]
pub(crate) struct ExportTopology {
    /// A topology of the library (`dgx1`, `'dgx_h100(boxes=2)'`) or of a file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) machine: String,
    /// The ranks of the machine that are used: `0,2,4,6`
    #[arg(long, value_name = "RANKS")]
    pub(crate) on: Option<String>,
    /// The form of the graph
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = GraphFormat::Dot)]
    pub(crate) format: GraphFormat,
    /// The file; `-` is standard output
    #[arg(short, value_name = "PATH", value_hint = ValueHint::FilePath, default_value = "-")]
    pub(crate) output: Option<PathBuf>,
    /// The folder in which imported files must be [default: the current one, or that of a source file outside it]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: Option<PathBuf>,
}

/// Forms of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// For Graphviz
    Dot,
}

/// `cclc proof`
#[derive(Debug, clap::Args)]
pub(crate) struct Proof {
    /// The file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

/// `cclc fmt`
#[derive(Debug, clap::Args)]
pub(crate) struct Fmt {
    /// Source files, rewritten in place, and folders in which every `.ccl` file is; `-` formats standard input to standard
    /// output
    #[arg(required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Write nothing; list the files that would change, and exit with 1 if there are any
    #[arg(long)]
    pub(crate) check: bool,
}

/// `cclc explain`
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The code, such as `E0201`, or words that its title or page has, such as `deadlock`; without any, all codes are
    /// listed
    #[arg(value_name = "CODE|WORD")]
    pub(crate) words: Vec<String>,
}

/// `cclc completions`
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

/// `cclc new`
#[derive(Debug, clap::Args)]
pub(crate) struct New {
    /// The folder, which must not exist yet; its name becomes the program's
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
}

/// `cclc man`
#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// The folder for the pages, one per command
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
}

/// Writes the manual pages.
pub(crate) fn manual(man: &Man) -> Result<Status, Failure> {
    let written = std::fs::create_dir_all(&man.folder)
        .and_then(|()| clap_mangen::generate_to(Args::command(), &man.folder));
    match written {
        Ok(()) => Ok(Status::Clean),
        Err(error) => {
            Err(Failure::Files(format!("cannot write to `{}`: {error}", files::shown(&man.folder))))
        }
    }
}

/// Prints a completion script.
pub(crate) fn complete(completions: &Completions) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Args::command(), "cclc", &mut script);
    super::output::to_stdout(&script)?;
    Ok(Status::Clean)
}

/// The parser of a target, which lists those that `is_offered` accepts.
fn parse_target(is_offered: fn(&Target) -> bool) -> impl TypedValueParser<Value = &'static Target> {
    let offered = TARGETS.iter().filter(|target| is_offered(target)).map(|target| {
        let value = PossibleValue::new(target.full_name()).help(target.description);
        if target.versioned.is_some() { value.alias(target.word) } else { value }
    });
    PossibleValuesParser::new(offered)
        .try_map(|name| target::find_target(&name).ok_or("there is no such target"))
}

/// The parser of a stage.
fn parse_stage() -> impl TypedValueParser<Value = Stage> {
    let offered =
        Stage::ALL.map(|stage| PossibleValue::new(stage.word()).help(stage.description()));
    PossibleValuesParser::new(offered).try_map(|word| {
        Stage::ALL.into_iter().find(|stage| stage.word() == word).ok_or("there is no such step")
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number).map_err(|_| "not a duration".to_owned())
}

/// The parser of the trace's path. A program in its place was meant to be checked.
fn trace() -> impl TypedValueParser<Value = PathBuf> {
    let trace = |path: PathBuf| match files::ends_in(&path, "ccl") {
        true => Err("a file for the trace is expected here; this is a source file"),
        false => Ok(path),
    };
    PathBufValueParser::new().try_map(trace)
}

fn bytes(text: &str) -> Result<u64, String> {
    let bytes = token::integer(text).and_then(|bytes| u64::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "expected a size, such as `64MiB`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_sound() {
        Args::command().debug_assert();
    }
}
