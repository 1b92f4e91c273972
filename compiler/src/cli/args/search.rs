//! The arguments of `cclc bound` and `cclc synth`.

use super::super::synthesis::parse_number;
use super::MachineArgs;
use clap::{ValueEnum, ValueHint};
use std::path::PathBuf;
use synth::rational::Rational;
use synth::schedule::SchedulePoint;

/// `cclc bound`
#[derive(Debug, clap::Args)]
pub(crate) struct Bound {
    /// A collective of the library (`allgather`, `'broadcast(root=3)'`), or of a file (`'mine.ccl::exchange(chunks=2)'`)
    pub(crate) collective: String,
    /// The machine.
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Up to how many steps there are bounds for each number of them [default: 6 more than the least number]
    #[arg(long, value_name = "N")]
    pub(crate) max_steps: Option<u32>,
    /// How many numbers each linear program may change; a bound that ends there says so [default: 134217728, some
    /// tenths of a second]
    #[arg(long, value_name = "N")]
    pub(crate) budget: Option<usize>,
    /// Print which ranks have each chunk before, and which get it
    #[arg(long)]
    pub(crate) conditions: bool,
    /// Constraints.
    #[command(flatten)]
    pub(crate) sketch: SketchArgs,
    /// What becomes of the answer.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// `cclc synth`
#[derive(Debug, clap::Args)]
pub(crate) struct Synth {
    /// A collective of the library (`allgather`, `'broadcast(root=3)'`), or of a file (`'mine.ccl::exchange(chunks=2)'`)
    pub(crate) collective: String,
    /// The machine.
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// What is looked for: `pareto`, the fastest schedule for each number of steps, and trees for long messages;
    /// `latency`, without trees; `least-steps`, the fastest schedule of the least number of steps; `bandwidth`, trees
    /// only, where the collective has some; `size:64MiB` or `sizes:1KiB..1GiB`, what is fastest for messages of this size, or
    /// of these
    #[arg(long, value_name = "GOAL", default_value = "pareto", value_parser = goal)]
    pub(crate) goal: SynthGoal,
    /// One schedule of exactly so many steps, rounds and pieces of each chunk: `3,7,6`
    #[arg(long, value_name = "S,R,C", value_parser = point, conflicts_with_all = ["goal", "steps", "max_chunks"])]
    pub(crate) point: Option<SchedulePoint>,
    /// How many steps are looked at: `3`, `2..=4`, `..=4` [default: until no schedule can be better, or 6 more than the
    /// least number]
    #[arg(long, value_name = "RANGE", value_parser = step_range)]
    pub(crate) steps: Option<StepRange>,
    /// Into how many pieces a chunk is cut at most
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) max_chunks: u32,
    /// The time of a step, without a unit, for goals with a size [default: the latencies of the links, or 1]
    #[arg(long, value_name = "NUMBER", value_parser = positive_number)]
    pub(crate) alpha: Option<Rational>,
    /// The time of a round for a chunk of size 1, for goals with a size [default: by the rates of the links, or 1]
    #[arg(long, value_name = "NUMBER", value_parser = positive_number)]
    pub(crate) beta: Option<Rational>,
    /// What looks for schedules
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t = SynthEngine::Auto)]
    pub(crate) engine: SynthEngine,
    /// Whether the solver looks for symmetric schedules first
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = SynthSymmetry::Auto)]
    pub(crate) symmetry: SynthSymmetry,
    /// How many conflicts all searches of the solver may run into [default: 20000]
    #[arg(long, value_name = "N")]
    pub(crate) budget: Option<u64>,
    /// Constraints.
    #[command(flatten)]
    pub(crate) sketch: SketchArgs,
    /// What becomes of the answer.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    /// How programs say what is moved
    #[arg(long, value_enum, value_name = "FORM", default_value_t = SynthTemplate::Auto)]
    pub(crate) template: SynthTemplate,
    /// Write no programs
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The folder for the programs, or the file if it ends in `.ccl` and there is one program
    #[arg(short, value_name = "PATH", value_hint = ValueHint::AnyPath, conflicts_with = "dry_run")]
    pub(crate) output: Option<PathBuf>,
}

/// What becomes of an answer, and where the question is looked up.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AnswerArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the proofs of all bounds to this file, which `cclc proof` checks
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) prove: Option<PathBuf>,
    /// The folder in which imported files must be [default: the current one, or that of a source file outside it]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: Option<PathBuf>,
}

/// What `cclc synth` looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SynthGoal {
    /// The fastest schedule for each number of steps, and trees for long messages.
    Pareto,
    /// The fastest schedules for each number of steps, without trees.
    Latency,
    /// The fastest schedule of the least number of steps.
    LeastSteps,
    /// Trees for long messages, if the collective has some.
    Bandwidth,
    /// What is fastest for a size, as it was given.
    Size(String),
    /// What is fastest for some size of a range.
    Sizes {
        /// The first size, as it was given.
        first: String,
        /// The last one.
        last: String,
    },
}

/// How many steps are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepRange {
    /// From how many on.
    pub(crate) least: Option<u32>,
    /// Up to how many.
    pub(crate) most: Option<u32>,
}

/// What looks for schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthEngine {
    /// Whatever suits the collective
    Auto,
    /// Breadth-first broadcasts
    Bfb,
    /// The SAT solver
    Sat,
    /// Matching of pieces to links, one step after the other
    Greedy,
    /// Flows, for what one rank sends or gets, and for exchanges
    Flows,
    /// Trees for long messages, and no schedules of steps
    Trees,
}

/// How programs say what is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthTemplate {
    /// As rules for one rank where the schedule has symmetries, elsewhere as a table
    Auto,
    /// As a table of moves or trees, which is easy to change by hand
    Table,
}

/// Whether symmetric schedules come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthSymmetry {
    /// Where the machine has symmetries
    Auto,
    /// Never
    None,
}

/// Constraints on the schedules that are looked for, or bounded.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SketchArgs {
    /// A link that carries nothing: `0->1`, `0<->1`, `0->nvswitch[0]`; may be given several times
    #[arg(long, value_name = "LINK", help_heading = "Sketch")]
    pub(crate) forbid: Vec<String>,
    /// A link between nodes that is used; all others between nodes are not. May be given several times
    #[arg(long, value_name = "LINK", help_heading = "Sketch")]
    pub(crate) via: Vec<String>,
    /// How many hops from rank to rank a value takes at most
    #[arg(long, value_name = "N", help_heading = "Sketch")]
    pub(crate) max_hops: Option<u32>,
    /// What forwards values on their way
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Relay::Ranks, help_heading = "Sketch")]
    pub(crate) relay: Relay,
}

/// What forwards values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Relay {
    /// Switches only: each value takes one hop
    None,
    /// Ranks, too
    Ranks,
}

/// The parser of `--goal`.
fn goal(text: &str) -> Result<SynthGoal, String> {
    match text {
        "pareto" => return Ok(SynthGoal::Pareto),
        "latency" => return Ok(SynthGoal::Latency),
        "least-steps" => return Ok(SynthGoal::LeastSteps),
        "bandwidth" => return Ok(SynthGoal::Bandwidth),
        _ => {}
    }
    if let Some(size) = text.strip_prefix("size:") {
        return Ok(SynthGoal::Size(size.to_owned()));
    }
    let range = text.strip_prefix("sizes:").and_then(|range| range.split_once(".."));
    let Some((first, last)) = range else {
        return Err(
            "expected `pareto`, `latency`, `least-steps`, `bandwidth`, `size:64MiB` or `sizes:1KiB..1GiB`"
                .to_owned(),
        );
    };
    let last = last.strip_prefix('=').unwrap_or(last);
    Ok(SynthGoal::Sizes { first: first.to_owned(), last: last.to_owned() })
}

/// The parser of `--point`.
fn point(text: &str) -> Result<SchedulePoint, String> {
    let text = text.trim().trim_start_matches('(').trim_end_matches(')');
    let parts: Vec<Option<u64>> =
        text.split(',').map(|part| part.trim().parse().ok().filter(|part| *part > 0)).collect();
    let [Some(steps), Some(rounds), Some(chunks)] = parts.as_slice() else {
        return Err("expected steps, rounds and pieces, such as `3,7,6`".to_owned());
    };
    let small = |number: u64, most: u32, what: &str| {
        let number = u32::try_from(number).ok().filter(|number| *number <= most);
        number.ok_or_else(|| format!("there are {most} {what} at most"))
    };
    Ok(SchedulePoint {
        steps: small(*steps, MAX_STEPS, "steps")?,
        rounds: *rounds,
        chunks: small(*chunks, MAX_CHUNKS, "pieces of a chunk")?,
    })
}

/// How many steps a schedule that is asked for has at most: tables of numbers of steps are kept.
const MAX_STEPS: u32 = 1 << 12;

/// How many pieces of a chunk.
const MAX_CHUNKS: u32 = 1 << 10;

/// The parser of `--steps`.
fn step_range(text: &str) -> Result<StepRange, String> {
    let malformed = || "expected numbers of steps, such as `3`, `2..=4` or `..=4`".to_owned();
    let number = |text: &str| -> Result<Option<u32>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse().ok().filter(|number| *number > 0);
        number.map(Some).ok_or_else(malformed)
    };
    let (least, most) = match text.split_once("..") {
        None => {
            let only = number(text)?;
            (only, only)
        }
        Some((least, most)) => match most.strip_prefix('=') {
            Some("") => return Err(malformed()),
            Some(most) => (number(least)?, number(most)?),
            None => (number(least)?, number(most)?.map(|most| most - 1)),
        },
    };
    if least.max(most).is_some_and(|steps| steps > MAX_STEPS) {
        return Err(format!("there are {MAX_STEPS} steps at most"));
    }
    let is_empty = least.zip(most).is_some_and(|(least, most)| least > most);
    if is_empty || most == Some(0) || (least, most) == (None, None) {
        return Err(malformed());
    }
    Ok(StepRange { least, most })
}

/// The parser of `--alpha` and `--beta`.
fn positive_number(text: &str) -> Result<Rational, String> {
    let number = parse_number(text).filter(|number| number.is_positive());
    number.ok_or_else(|| "expected a positive number, such as `0.5` or `3/2`".to_owned())
}
