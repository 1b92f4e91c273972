//! Turns a resolved program and its parameters into the concrete program.
//!
//! In: the program, and what `-D` and `-O` set. Out: the blocks and operations of every rank, or reports. In the
//! first pass every rank declares what it has (`declare`); then the ends of channels are paired (`pair`); the second
//! pass unrolls the statements (`unroll`). Everything is bounded: steps, operations, lists, calls.

mod arithmetic;
mod blocks;
pub mod contract;
mod declare;
mod demand;
mod domain;
mod eval;
mod finish;
mod first;
mod layout;
mod lists;
mod machine;
mod members;
mod memo;
mod memory;
pub mod observe;
mod options;
mod pair;
mod promise;
mod reports;
mod situation;
mod start;
mod synchronise;
mod transfer;
mod unroll;
mod value;
mod world;

use crate::diagnostic::Diagnostic;
use crate::interrupt::Interrupt;
use crate::ir;
use crate::machine::Machine;
use crate::resolve::program::{Expr, Frame, OptionSetting, Program, ProgramId, Unit};
use declare::{Extent, FirstPass};
pub use demand::{CollectiveQuestion, evaluate_promises};
use eval::{Eval, Shared};
pub use first::{count_ranks, first_rank};
pub use machine::{TopologyQuestion, evaluate_alone, evaluate_topology};
use observe::{Notes, Observed};
use std::rc::Rc;
use std::sync::Arc;
use unroll::Output;
use value::Value;
use world::{Declared, World};

/// How many statements and loop values may be evaluated per operation that is allowed. Programs of the library need
/// one to three.
const STEPS_PER_OPERATION: u64 = 4;

/// What the caller sets.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `-D`: parameters of the program, each at most once.
    pub parameters: Vec<(String, Expr)>,
    /// `-O`: options, which override the program's.
    pub options: Vec<OptionSetting>,
    /// The most operations, over all ranks.
    pub max_operations: u64,
    /// The most statements and loop values that are evaluated. `max_operations` implies a limit, too; the lower one
    /// applies.
    pub max_steps: u64,
    /// `--topology`: the machine, which overrides the program's.
    pub machine: Option<Arc<Machine>>,
    /// Whether the collective's promises are evaluated; only the checks need them.
    pub promises: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            parameters: Vec::new(),
            options: Vec::new(),
            max_operations: 16_000_000,
            max_steps: u64::MAX,
            machine: None,
            promises: true,
        }
    }
}

/// Elaborates a program. There is a result only if no error was reported and the elaboration was not interrupted.
pub fn elaborate(
    unit: &Unit,
    program: ProgramId,
    settings: &Settings,
    interrupt: &Interrupt,
) -> (Option<ir::Program>, Vec<Diagnostic>) {
    let mut shared = Shared::new(fuel(settings), interrupt);
    let (result, ranks) = concrete(&unit.programs[program], unit, settings, &mut shared);
    (result, shared.reports.finish(ranks))
}

/// Elaborates a program and records the values of its expressions and names; these are available even if the program
/// has errors.
pub fn observe(
    unit: &Unit,
    program: ProgramId,
    settings: &Settings,
    interrupt: &Interrupt,
) -> (Option<ir::Program>, Observed) {
    let program = &unit.programs[program];
    let mut shared = Shared::new(fuel(settings), interrupt);
    shared.notes = Some(Notes::new(program.span.file));
    let (result, _) = concrete(program, unit, settings, &mut shared);
    (result, shared.notes.take().map(Notes::finish).unwrap_or_default())
}

/// The concrete program, and how many ranks it has.
fn concrete<'a>(
    program: &'a Program,
    unit: &'a Unit,
    settings: &'a Settings,
    shared: &mut Shared<'a>,
) -> (Option<ir::Program>, i64) {
    let mut ranks = 1;
    let result = start::start(unit, program, settings, shared).and_then(|start| {
        ranks = start.world.ranks;
        all_ranks(start, settings, shared)
    });
    (result.filter(|_| !shared.reports.has_errors() && !shared.interrupt.is_set()), ranks)
}

/// The number of steps that may be evaluated.
fn fuel(settings: &Settings) -> u64 {
    let needed = settings.max_operations.saturating_mul(STEPS_PER_OPERATION);
    needed.saturating_add(1 << 22).min(settings.max_steps)
}

/// Declares, pairs and unrolls every rank.
fn all_ranks<'a>(
    start: start::Start<'a>,
    settings: &Settings,
    shared: &mut Shared<'a>,
) -> Option<ir::Program> {
    let world = start.world;
    let Declarations { declared, made, arguments } = declare_all(&start, shared)?;
    let mut add = |(rank, report)| shared.reports.add(Some(rank), String::new(), report);
    let paired = pair::pair(world, &declared, &made);
    let paired = paired.map_err(|reports| reports.into_iter().for_each(&mut add)).ok()?;
    let declared: Vec<Rc<Declared>> = finish::with_channels(declared, &made, &paired);
    let mut result = start.program();
    result.collective.arguments = arguments;
    let mut out = Output {
        origins: &mut result.origins,
        operations: 0,
        max_operations: settings.max_operations,
        counting: false,
        pipelines: 0,
        op: result.collective.op,
        names: local_names(&world.program.frame),
    };
    if !fits(world, shared, &mut out, &declared) {
        return None;
    }
    let mut ranks = Vec::with_capacity(declared.len());
    for (rank, own) in declared.iter().enumerate() {
        let mut eval = new_eval(world, shared, Some(rank as i64), own.frame.clone(), own.clone());
        eval.all = &declared;
        eval.body(&mut out);
        if eval.given_up(&out) {
            return None;
        }
        ranks.push(eval.finish_rank(&mut out, &made, &paired));
    }
    if settings.promises && !shared.reports.has_errors() {
        finish::promises(world, start.collective, start.in_place, shared, &declared, &mut ranks);
    }
    if !shared.reports.has_errors() {
        finish::warn_of_holes(world, shared, &ranks);
    }
    result.ranks = ranks.into();
    layout::keep_apart(&mut result.ranks, &declared, shared.notes.as_mut());
    Some(result)
}

/// What the first pass makes.
struct Declarations {
    /// What each rank has.
    declared: Vec<Declared>,
    /// What else it declares.
    made: Vec<FirstPass>,
    /// The collective's arguments, as they would be written in source.
    arguments: Vec<(String, String)>,
}

/// Lets every rank make its declarations and give the collective its arguments; none if there were errors.
fn declare_all<'a>(start: &start::Start<'a>, shared: &mut Shared<'a>) -> Option<Declarations> {
    let (world, collective) = (start.world, start.collective);
    let parameters = &world.unit.collectives[collective.collective].parameters;
    let (mut declared, mut made, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
    for rank in 0..world.ranks {
        if shared.interrupt.is_set() {
            return None;
        }
        let own = Rc::new(Declared::new(world.program));
        let mut eval = new_eval(world, shared, Some(rank), start.frame.clone(), own);
        made.push(eval.declare(Extent::Everything));
        let implemented = eval.implement(collective, start.in_place).is_ok();
        if rank == 0 && implemented {
            arguments = contract::arguments(parameters, &eval.frame);
        }
        declared.push(Rc::unwrap_or_clone(eval.own));
    }
    let fine = !shared.reports.has_errors() && !shared.interrupt.is_set();
    fine.then_some(Declarations { declared, made, arguments })
}

/// Whether the operations of all ranks stay within the limit. They are counted before any is built, so that a program
/// that is far too large does not use up the memory first. If the first rank has few operations, the others are not
/// counted.
fn fits<'a>(
    world: World<'a>,
    shared: &mut Shared<'a>,
    out: &mut Output,
    declared: &[Rc<Declared>],
) -> bool {
    let fuel = shared.fuel;
    out.counting = true;
    for (rank, own) in declared.iter().enumerate() {
        let mut eval = new_eval(world, shared, Some(rank as i64), own.frame.clone(), own.clone());
        eval.all = declared;
        eval.body(out);
        if eval.given_up(out) {
            return false;
        }
        if out.operations.saturating_mul(declared.len() as u64) < out.max_operations / 4 {
            break;
        }
    }
    (out.counting, out.operations, shared.fuel) = (false, 0, fuel);
    true
}

fn new_eval<'e, 'a>(
    world: World<'a>,
    shared: &'e mut Shared<'a>,
    rank: Option<i64>,
    frame: Vec<Value>,
    own: Rc<Declared>,
) -> Eval<'e, 'a> {
    Eval {
        world,
        shared,
        rank,
        own,
        all: &[],
        frame,
        names: &world.program.frame,
        origin: ir::OriginId(0),
        blocks: blocks::Blocks::default(),
        calls: Vec::new(),
    }
}

/// The names of a body's locals, shared by its origins.
fn local_names(frame: &Frame) -> Rc<[Arc<str>]> {
    frame.iter().map(|local| Arc::from(local.name.as_str())).collect()
}

/// The name of the program, with `_PARAMETER_VALUE` for each parameter that was set to something other than its
/// default.
fn plan_name(program: &Program, changed: &[(String, String)]) -> String {
    let mut name = program.name.clone();
    for (parameter, value) in changed {
        name.push_str(&format!("_{parameter}_{value}"));
    }
    name
}
