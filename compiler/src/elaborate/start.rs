//! Evaluates what does not depend on the rank: parameters, the shape of the machine, options.

use super::eval::{Eval, Evaluated, MAX_LIST, Shared};
use super::lists::too_long;
use super::observe::Notes;
use super::transfer::reduce_op;
use super::value::{List, Value};
use super::world::{Declared, World};
use super::{Settings, new_eval, plan_name};
use crate::bytes;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::machine::Machine;
use crate::resolve::program::{Expr, Implements, LocalId, Program, Type, Unit};
use crate::source::Span;
use crate::table::Id;
use std::rc::Rc;
use std::sync::Arc;

/// The most ranks that a program may have.
const MAX_RANKS: i64 = 1 << 16;

/// The result.
pub(super) struct Start<'a> {
    /// The program and the shape of the machine.
    pub(super) world: World<'a>,
    /// How many ranks reach each other's memory.
    ranks_per_domain: u32,
    /// The machine that the program is for.
    machine: Option<Arc<Machine>>,
    /// The program's frame with its parameters set.
    pub(super) frame: Vec<Value>,
    /// All options.
    pub(super) options: ir::Options,
    /// The collective that the program implements.
    pub(super) collective: &'a Implements,
    /// Whether input and output share memory.
    pub(super) in_place: bool,
}

/// Evaluates parameters and options.
pub(super) fn start<'a>(
    unit: &'a Unit,
    program: &'a Program,
    settings: &'a Settings,
    shared: &mut Shared<'a>,
) -> Option<Start<'a>> {
    let world = World { unit, program, ranks: 1, ranks_per_node: 1 };
    let frame = vec![Value::Unset; program.frame.len()];
    let own = Rc::new(Declared::new(program));
    let mut eval = new_eval(world, shared, None, frame, own);
    let changed = eval.parameters(settings).ok()?;
    let Shape { ranks, ranks_per_node, ranks_per_domain } = eval.shape().ok()?;
    eval.world = World { ranks, ranks_per_node, ..world };
    eval.shared.forget_results();
    eval.check_ranks().ok()?;
    let Ok(machine) = eval.find_machine(settings, ranks_per_domain) else {
        // A program that is not meant for these parameters says so itself.
        let (world, frame) = (eval.world, std::mem::take(&mut eval.frame));
        let own = Rc::new(Declared::new(program));
        new_eval(world, shared, Some(0), frame, own).check_requirements();
        return None;
    };
    // A machine says how far memory reaches, unless the program does.
    let implied = match &machine {
        Some(machine) if program.ranks_per_domain.is_none() => machine.find_domain_width(),
        _ => None,
    };
    let is_whole = |width: &u32| {
        let (width, node) = (i64::from(*width), ranks_per_node);
        width % node == 0 || node % width == 0
    };
    let implied = implied.filter(is_whole);
    let ranks_per_domain = implied.unwrap_or(ranks_per_domain);
    let name = plan_name(program, &changed);
    let options = eval.options(program.options.iter().chain(&settings.options), name);
    let collective = program.collective.as_ref()?;
    let (world, frame) = (eval.world, std::mem::take(&mut eval.frame));
    let in_place = first_in_place(world, shared, &frame, collective).ok()?;
    (!shared.reports.has_errors()).then_some(Start {
        world,
        ranks_per_domain,
        machine,
        frame,
        options,
        collective,
        in_place,
    })
}

/// How ranks are grouped.
struct Shape {
    ranks: i64,
    ranks_per_node: i64,
    ranks_per_domain: u32,
}

impl Start<'_> {
    /// The warnings and notes that attributes accept.
    fn accepted(&self) -> Arc<[ir::Accepted]> {
        let accepted = self.world.unit.accepted.iter();
        accepted.map(|one| ir::Accepted { code: one.code.id(), span: one.span }).collect()
    }

    /// The concrete program without its ranks.
    pub(super) fn program(&self) -> ir::Program {
        let collective = &self.world.unit.collectives[self.collective.collective];
        ir::Program {
            collective: ir::Collective {
                name: collective.name.clone(),
                arguments: Vec::new(),
                in_place: self.in_place,
                op: self.collective.op.map_or(ir::ReduceOp::Sum, |(op, _)| reduce_op(op)),
                place: Some(self.collective.span.into()),
            },
            options: self.options.clone(),
            ranks: Vec::new().into(),
            ranks_per_node: self.world.ranks_per_node as u32,
            ranks_per_domain: self.ranks_per_domain,
            machine: self.machine.clone(),
            origins: ir::Origins {
                procedures: self
                    .world
                    .unit
                    .procedures
                    .iter()
                    .map(|row| row.name.as_str().into())
                    .collect(),
                library: self.world.unit.library.clone(),
                accepted: self.accepted(),
                ..ir::Origins::default()
            },
            joins: ir::Joins::Implied,
            flush_waits: true,
            instances_done: 1,
            chunk_size: None,
        }
    }
}

/// `in_place = ..` has one value for all ranks, and may depend on constants: it is evaluated on rank 0.
fn first_in_place<'a>(
    world: World<'a>,
    shared: &mut Shared<'a>,
    frame: &[Value],
    collective: &'a Implements,
) -> Evaluated<bool> {
    let Some(value) = &collective.in_place else { return Ok(false) };
    let notes = shared.notes.take();
    shared.notes = notes.as_ref().map(Notes::apart);
    let mut eval =
        new_eval(world, shared, Some(0), frame.to_vec(), Rc::new(Declared::new(world.program)));
    let in_place = eval.boolean(value);
    let once = std::mem::replace(&mut shared.notes, notes);
    if let (Some(notes), Some(once)) = (&mut shared.notes, once) {
        notes.once(once);
    }
    in_place
}

impl<'a> Eval<'_, 'a> {
    /// Sets the parameters. Returns those that the command line sets to something other than their
    /// default, with their values. A machine of the command line sets the number of ranks, too.
    fn parameters(&mut self, settings: &'a Settings) -> Evaluated<Vec<(String, String)>> {
        let mut changed = Vec::new();
        let program = self.world.program;
        for (position, parameter) in program.parameters.iter().enumerate() {
            let given = settings
                .parameters
                .iter()
                .find(|(name, _)| *name == parameter.name)
                .map(|(_, value)| value);
            let default = match (&parameter.default, given) {
                (None, None)
                    if self.of_machine(settings, LocalId::from_index(position)).is_some() =>
                {
                    None
                }
                (None, None) => {
                    return Err(
                        self.fail_at(String::new(), missing(parameter.span, &parameter.name))
                    );
                }
                (Some(default), _) => Some(self.value(default)?),
                (None, Some(_)) => None,
            };
            let value = match given {
                Some(given) => self.given(given, &parameter.ty, &parameter.name)?,
                None => match self.of_machine(settings, LocalId::from_index(position)) {
                    Some(value) => value,
                    None => default.clone().unwrap_or(Value::Unset),
                },
            };
            if value.is_longer_than(MAX_LIST) {
                return Err(self.fail_at(String::new(), too_long(parameter.span)));
            }
            if default.as_ref() != Some(&value) {
                changed.push((parameter.name.clone(), text(&value)));
            }
            self.bind(LocalId::from_index(position), value);
        }
        Ok(changed)
    }

    /// The value of a parameter that says how many ranks there are, on the machine of the settings.
    fn of_machine(&self, settings: &Settings, parameter: LocalId) -> Option<Value> {
        let (machine, program) = (settings.machine.as_ref()?, self.world.program);
        let ranks = i64::from(machine.graph.count_ranks());
        if program.ranks == Some(parameter) {
            return Some(Value::Int(ranks));
        }
        if program.ranks_per_node != Some(parameter) {
            return None;
        }
        let nodes = machine.nodes.as_ref()?;
        let first = nodes.first()?;
        let width = nodes.iter().take_while(|node| *node == first).count() as i64;
        Some(Value::Int(width))
    }

    fn given(&mut self, given: &'a Expr, ty: &Type, name: &str) -> Evaluated<Value> {
        let value = self.value(given)?;
        match fits(&value, ty) {
            true => Ok(value),
            false => Err(self.fail_at(String::new(), wrong_type(given.span, name))),
        }
    }

    /// The number of ranks, those of a node, and those that reach each other's memory.
    fn shape(&mut self) -> Evaluated<Shape> {
        let program = self.world.program;
        let int = |local: Option<LocalId>, frame: &[Value]| match local
            .and_then(|local| frame.get(local.index()))
        {
            Some(Value::Int(value)) => Some(*value),
            _ => None,
        };
        let ranks = int(program.ranks, &self.frame).unwrap_or(1);
        if !(1..=MAX_RANKS).contains(&ranks) {
            return Err(self.fail_at(String::new(), bad_ranks(span(program, program.ranks), ranks)));
        }
        let width = int(program.ranks_per_node, &self.frame).unwrap_or(ranks);
        if width < 1 || ranks % width != 0 {
            let report = bad_nodes(span(program, program.ranks_per_node), ranks, width);
            return Err(self.fail_at(String::new(), report));
        }
        let reach = int(program.ranks_per_domain, &self.frame).unwrap_or(width);
        // If all ranks are in one domain, it may reach beyond them.
        let whole = reach >= ranks || reach >= 1 && (reach % width == 0 || width % reach == 0);
        match u32::try_from(reach) {
            Ok(ranks_per_domain) if whole => {
                Ok(Shape { ranks, ranks_per_node: width, ranks_per_domain })
            }
            Ok(_) | Err(_) => {
                let report = bad_domains(span(program, program.ranks_per_domain), width, reach);
                Err(self.fail_at(String::new(), report))
            }
        }
    }

    /// Checks that parameters of type `rank` are ranks.
    fn check_ranks(&mut self) -> Evaluated<()> {
        let program = self.world.program;
        for (position, parameter) in program.parameters.iter().enumerate() {
            if let (Type::Rank, Some(Value::Int(rank))) = (&parameter.ty, self.frame.get(position))
                && !(0..self.world.ranks).contains(rank)
            {
                let report = no_rank(parameter.span, &parameter.name, *rank, self.world.ranks);
                return Err(self.fail_at(String::new(), report));
            }
        }
        Ok(())
    }
}

fn span(program: &Program, local: Option<LocalId>) -> Span {
    local.and_then(|local| program.frame.lookup(local)).map_or(program.span, |local| local.span)
}

/// Whether a value has a parameter's type.
fn fits(value: &Value, ty: &Type) -> bool {
    match (value, ty) {
        (Value::Int(_), Type::Int | Type::Rank)
        | (Value::Bool(_), Type::Bool)
        | (Value::Str(_), Type::Str)
        | (Value::Rate(_), Type::Rate)
        | (Value::Time(_), Type::Time) => true,
        (Value::List(List::Range { .. }), Type::List(item)) => fits(&Value::Int(0), item),
        (Value::List(list), Type::List(item)) => list.iter().all(|member| fits(&member, item)),
        _ => false,
    }
}

/// A value as a part of a plan's name.
fn text(value: &Value) -> String {
    match value {
        Value::Int(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Str(value) => value.to_string(),
        Value::Rate(value) => bytes::rate_text(*value),
        Value::Time(value) => bytes::time_text(*value),
        Value::List(list) => list_text(list),
        Value::Unset
        | Value::Chunk(_)
        | Value::Buffer(_)
        | Value::Channel(_)
        | Value::Semaphore(_)
        | Value::Block(_) => String::new(),
    }
}

/// Tables that differ only in where their rows end have different names.
fn list_text(list: &List) -> String {
    let rows = list.iter().any(|member| matches!(member, Value::List(_)));
    let members: Vec<String> = list.iter().map(|member| text(&member)).collect();
    members.join(if rows { "." } else { "-" })
}

fn missing(span: Span, name: &str) -> Diagnostic {
    Diagnostic::new(
        Code::E0314,
        span,
        format!("the parameter `{name}` has no default, and no value was given"),
    )
    .help(format!("set it with `-D {name}=VALUE`"))
}

fn wrong_type(span: Span, name: &str) -> Diagnostic {
    Diagnostic::new(Code::E0314, span, format!("this is not a value of the type of `{name}`"))
}

fn bad_ranks(span: Span, ranks: i64) -> Diagnostic {
    Diagnostic::new(Code::E0314, span, format!("a program has 1 to {MAX_RANKS} ranks, not {ranks}"))
}

fn bad_nodes(span: Span, ranks: i64, width: i64) -> Diagnostic {
    Diagnostic::new(
        Code::E0314,
        span,
        format!("{ranks} ranks cannot be split into nodes of {width}: `ranks_per_node` must divide `ranks`"),
    )
    .help(format!("set it with `-D ranks_per_node=..` to one of {}", list_divisors(ranks)))
    .help(
        "for nodes of different sizes, leave out `ranks_per_node`, and find each rank's node in a list of sizes: \
         `cclc explain E0314`",
    )
}

/// The divisors of a number, the largest first: "8, 4, 2, 1".
fn list_divisors(number: i64) -> String {
    let divisors = (1..=number).rev().filter(|width| number % width == 0);
    divisors.map(|width| width.to_string()).collect::<Vec<_>>().join(", ")
}

fn bad_domains(span: Span, width: i64, reach: i64) -> Diagnostic {
    let message = format!(
        "domains of {reach} ranks and nodes of {width} overlap: `ranks_per_domain` must be a multiple of `ranks_per_node`, or divide it"
    );
    Diagnostic::new(Code::E0314, span, message).help("set it with `-D ranks_per_domain=..`")
}

fn no_rank(span: Span, name: &str, rank: i64, ranks: i64) -> Diagnostic {
    Diagnostic::new(
        Code::E0303,
        span,
        format!("`{name}` is {rank}, but the ranks are 0 to {}", ranks - 1),
    )
}
