//! Finds the arguments of a collective from the sizes of the buffers, and what follows from them.
//!
//! In: a collective, the number of chunks of every rank's buffers, and arguments that are given or likely. Out: the
//! first arguments with which the collective has exactly these sizes on every rank, with how input and output share
//! memory and what is promised. A parameter called `ranks` is the number of ranks. Another number is tried with its
//! default, with the number of chunks of each buffer, with that number divided by the ranks, if that is whole, and with
//! small distances between ranks; a rank is tried with its default and every rank; a list of numbers with the chunks of
//! every rank's input, and of every rank's output. The number of tries is bounded.

use super::eval::Shared;
use super::value::Value;
use super::world::{Declared, World};
use super::{finish, new_eval};
use crate::interrupt::Interrupt;
use crate::ir;
use crate::resolve::program::{
    CollectiveId, Expr, ExprKind, Implements, Parameter, ProgramId, Type, Unit,
};
use crate::source::Span;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// How many chunks a rank's buffers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of the input buffer.
    pub input: u32,
    /// Of the output buffer.
    pub output: u32,
}

/// What to solve.
pub struct Question<'q> {
    /// The collective.
    pub collective: CollectiveId,
    /// The buffers of every rank.
    pub sizes: &'q [Sizes],
    /// Arguments that are fixed.
    pub given: &'q [(String, Expr)],
    /// Arguments that are tried first.
    pub hints: &'q [(String, Expr)],
    /// Whether input and output share memory.
    pub in_place: bool,
}

/// A collective with its arguments, and what it means for every rank.
#[derive(Clone, Debug)]
pub struct Contract {
    /// The arguments, as they are written in source.
    pub arguments: Vec<(String, String)>,
    /// Parameters for which other values fit, too.
    pub open: Vec<Open>,
    /// Parameters that have their values from hints, although the sizes of the buffers do not determine them.
    pub hinted: Vec<Hinted>,
    /// The terms of every rank, in order.
    pub ranks: Vec<Terms>,
    /// Whether the terms lack what the outputs must hold: that is promised of too many chunks.
    pub is_unpromised: bool,
}

/// A parameter that the sizes of the buffers leave open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Its name.
    pub name: String,
    /// The value that was chosen, as it is written in source.
    pub value: String,
    /// Some of the other values that fit.
    pub others: Vec<i64>,
}

/// A parameter whose value only a hint determines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hinted {
    /// Its name.
    pub name: String,
    /// Its value, as it is written in source.
    pub value: String,
    /// Whether it would have this value without the hint, too, as the first of several.
    pub is_first: bool,
}

/// What a collective means for one rank.
#[derive(Clone, Debug)]
pub struct Terms {
    /// How input and output share memory.
    pub alias: Option<ir::Alias>,
    /// What the output must hold.
    pub promises: Arc<[ir::Promise]>,
    /// The ranks that have begun before this one ends.
    pub begun: Arc<[ir::RankId]>,
    /// The output chunks that have the same bits as those of other ranks.
    pub same: Arc<[u32]>,
}

/// How many combinations of arguments are tried, and for how many ranks they are evaluated, all tries together.
const MOST_TRIES: usize = 1 << 16;
const MOST_RANKS: usize = 1 << 21;
/// With how many different numbers a parameter is tried at most.
const MOST_VALUES: usize = 1 << 12;
/// Up to which distance between ranks numbers are tried.
const MOST_DISTANCES: usize = 16;
/// How many other values are listed for an open parameter at most.
const MOST_OTHERS: usize = 64;
/// How many promises are evaluated for all ranks together at most, and how many steps that may take; if there would be more,
/// nothing is promised, and a warning says so.
const MOST_PROMISES: u64 = 1 << 24;
const FUEL_OF_PROMISES: u64 = 1 << 27;
/// How many steps one try may take, which bounds the collective's own loops.
const FUEL: u64 = 1 << 24;

/// Solves a collective's arguments. `program` is any program of the unit; it is needed only as a context for the
/// evaluation.
#[must_use]
pub fn contract(
    unit: &Unit,
    program: ProgramId,
    question: &Question<'_>,
    interrupt: &Interrupt,
) -> Option<Contract> {
    let program = &unit.programs[program];
    let ranks = question.sizes.len() as i64;
    let world = World { unit, program, ranks, ranks_per_node: ranks.max(1) };
    let parameters = &unit.collectives[question.collective].parameters;
    let mut solver = Solver { world, question, interrupt, ranks_left: MOST_RANKS };
    let candidates: Vec<Vec<Option<Expr>>> =
        parameters.iter().map(|parameter| solver.candidates(parameter)).collect();
    let (chosen, values) = solver.first(&candidates)?;
    let open = solver.open(parameters, &candidates, &chosen, &values);
    let hinted = solver.hinted(parameters, &candidates, &chosen, &values);
    let implements = solver.implements(&candidates, &chosen);
    let (ranks, is_unpromised) = solver.terms(&implements)?;
    let arguments = arguments(parameters, &values);
    Some(Contract { arguments, open, hinted, ranks, is_unpromised })
}

/// Names and values of parameters, as they are written in source.
pub(super) fn arguments(parameters: &[Parameter], values: &[Value]) -> Vec<(String, String)> {
    let named = parameters.iter().zip(values);
    named.filter_map(|(parameter, value)| Some((parameter.name.clone(), written(value)?))).collect()
}

/// A value as it is written in source; none if it cannot be an argument of a collective.
pub(super) fn written(value: &Value) -> Option<String> {
    match value {
        Value::Int(value) => Some(value.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::List(list) => {
            let members: Option<Vec<String>> = list.iter().map(|member| written(&member)).collect();
            Some(format!("[{}]", members?.join(", ")))
        }
        Value::Unset
        | Value::Str(_)
        | Value::Rate(_)
        | Value::Time(_)
        | Value::Chunk(_)
        | Value::Buffer(_)
        | Value::Channel(_)
        | Value::Semaphore(_)
        | Value::Block(_) => None,
    }
}

struct Solver<'s, 'a> {
    world: World<'a>,
    question: &'s Question<'s>,
    interrupt: &'s Interrupt,
    /// How many more ranks may be evaluated.
    ranks_left: usize,
}

impl<'a> Solver<'_, 'a> {
    /// The values that a parameter is tried with, in order; `None` stands for its default.
    fn candidates(&self, parameter: &Parameter) -> Vec<Option<Expr>> {
        let given = self.question.given.iter().find(|(name, _)| *name == parameter.name);
        if let Some((_, value)) = given {
            return vec![Some(value.clone())];
        }
        let hint = self.hint(parameter).map(|value| Some(value.clone()));
        hint.into_iter().chain(self.guesses(parameter)).collect()
    }

    fn hint(&self, parameter: &Parameter) -> Option<&Expr> {
        let hint = self.question.hints.iter().find(|(name, _)| *name == parameter.name);
        hint.map(|(_, value)| value)
    }

    fn guesses(&self, parameter: &Parameter) -> Vec<Option<Expr>> {
        let default = parameter.default.iter().map(|_| None);
        let number = |value: i64| Some(self.expr(ExprKind::Int(value), Type::Int));
        match &parameter.ty {
            Type::Int if parameter.name == "ranks" => vec![number(self.world.ranks)],
            Type::Int => {
                // Distances between ranks, too: no buffer's size follows from the stride of a shift.
                let distances = (1..self.world.ranks).take(MOST_DISTANCES);
                let counts: BTreeSet<i64> = self.counts().into_iter().chain(distances).collect();
                default.chain(counts.into_iter().map(number)).collect()
            }
            Type::Rank => {
                default.chain((0..self.world.ranks).take(MOST_VALUES).map(number)).collect()
            }
            Type::List(member) if **member == Type::Int => {
                let lists = [self.list(|sizes| sizes.input), self.list(|sizes| sizes.output)];
                default.chain(lists.map(Some)).collect()
            }
            Type::Bool
            | Type::Str
            | Type::Rate
            | Type::Time
            | Type::Chunk
            | Type::Buffer
            | Type::Channel
            | Type::Semaphore
            | Type::Block
            | Type::List(_)
            | Type::Error => default.collect(),
        }
    }

    /// The numbers of chunks of all buffers, and each of them divided by the number of ranks, if that divides it.
    fn counts(&self) -> BTreeSet<i64> {
        let mut counts = BTreeSet::new();
        for sizes in self.question.sizes {
            for chunks in [i64::from(sizes.input), i64::from(sizes.output)] {
                counts.insert(chunks);
                counts.extend(
                    chunks.checked_div(self.world.ranks).filter(|_| chunks % self.world.ranks == 0),
                );
            }
            if counts.len() >= MOST_VALUES {
                break;
            }
        }
        counts
    }

    fn list(&self, size: impl Fn(&Sizes) -> u32) -> Expr {
        let number = |sizes| self.expr(ExprKind::Int(i64::from(size(sizes))), Type::Int);
        let members = self.question.sizes.iter().map(number).collect();
        self.expr(ExprKind::List(members), Type::List(Box::new(Type::Int)))
    }

    fn expr(&self, kind: ExprKind, ty: Type) -> Expr {
        Expr { kind, span: self.span(), ty }
    }

    fn span(&self) -> Span {
        self.world.program.span
    }

    /// The first combination that fits, with the values that the parameters then have.
    fn first(&mut self, candidates: &[Vec<Option<Expr>>]) -> Option<(Vec<usize>, Vec<Value>)> {
        if candidates.iter().any(Vec::is_empty) {
            return None;
        }
        let mut chosen = vec![0; candidates.len()];
        for _ in 0..MOST_TRIES {
            let implements = self.implements(candidates, &chosen);
            if let Some(values) = self.fit(&implements) {
                return Some((chosen, values));
            }
            if !next(&mut chosen, candidates) || self.ranks_left == 0 {
                return None;
            }
        }
        None
    }

    /// The parameters for which another value than the chosen one fits, too.
    fn open(
        &mut self,
        parameters: &[Parameter],
        candidates: &[Vec<Option<Expr>>],
        chosen: &[usize],
        values: &[Value],
    ) -> Vec<Open> {
        let mut open = Vec::new();
        for (position, (parameter, value)) in parameters.iter().zip(values).enumerate() {
            if chosen.get(position) == Some(&0) && self.hint(parameter).is_some() {
                continue;
            }
            let others = self.others(candidates, chosen, position, value);
            if let (false, Some(value)) = (others.is_empty(), written(value)) {
                open.push(Open { name: parameter.name.clone(), value, others });
            }
        }
        open
    }

    /// The parameters that have their values from hints, and could have others, or none, without.
    fn hinted(
        &mut self,
        parameters: &[Parameter],
        candidates: &[Vec<Option<Expr>>],
        chosen: &[usize],
        values: &[Value],
    ) -> Vec<Hinted> {
        let mut hinted = Vec::new();
        for (position, (parameter, value)) in parameters.iter().zip(values).enumerate() {
            if chosen.get(position) != Some(&0) || !self.has_hint_only(parameter) {
                continue;
            }
            let choices = 1..candidates.get(position).map_or(0, Vec::len);
            let unhinted = choices
                .into_iter()
                .find_map(|choice| self.try_choice(candidates, chosen, position, choice));
            let is_first = unhinted.as_ref() == Some(value);
            if is_first && self.others(candidates, chosen, position, value).is_empty() {
                continue;
            }
            if let Some(text) = written(value) {
                hinted.push(Hinted { name: parameter.name.clone(), value: text, is_first });
            }
        }
        hinted
    }

    fn has_hint_only(&self, parameter: &Parameter) -> bool {
        let is_given = self.question.given.iter().any(|(name, _)| *name == parameter.name);
        !is_given && self.hint(parameter).is_some()
    }

    /// The value of one parameter with another choice, if that fits while the others keep their values.
    fn try_choice(
        &mut self,
        candidates: &[Vec<Option<Expr>>],
        chosen: &[usize],
        position: usize,
        choice: usize,
    ) -> Option<Value> {
        let mut changed = chosen.to_vec();
        changed.iter_mut().skip(position).take(1).for_each(|old| *old = choice);
        let implements = self.implements(candidates, &changed);
        self.fit(&implements)?.get(position).cloned()
    }

    /// The numbers other than `value` that fit for one parameter while the others keep their values.
    fn others(
        &mut self,
        candidates: &[Vec<Option<Expr>>],
        chosen: &[usize],
        position: usize,
        value: &Value,
    ) -> Vec<i64> {
        let mut others = Vec::new();
        for choice in 0..candidates.get(position).map_or(0, Vec::len) {
            let found = self.try_choice(candidates, chosen, position, choice);
            if let Some(Value::Int(number)) = found.filter(|found| found != value)
                && others.len() < MOST_OTHERS
            {
                others.push(number);
            }
        }
        others
    }

    fn implements(&self, candidates: &[Vec<Option<Expr>>], chosen: &[usize]) -> Implements {
        let argument = |(position, (candidates, choice)): (usize, (&Vec<Option<Expr>>, &usize))| {
            Some((position, candidates.get(*choice)?.clone()?))
        };
        let arguments = candidates.iter().zip(chosen).enumerate().filter_map(argument).collect();
        Implements {
            collective: self.question.collective,
            arguments,
            in_place: None,
            op: None,
            span: self.span(),
        }
    }

    /// The values of the parameters, if they give the buffers of every rank the sizes that are in the question.
    fn fit(&mut self, implements: &Implements) -> Option<Vec<Value>> {
        let mut values = None;
        for (rank, sizes) in self.question.sizes.iter().enumerate() {
            self.ranks_left = self.ranks_left.checked_sub(1)?;
            if self.interrupt.is_set() {
                return None;
            }
            let (declared, frame) = self.rank(implements, rank as i64)?;
            let same = declared.input_chunks == i64::from(sizes.input)
                && declared.output_chunks == i64::from(sizes.output);
            if !same {
                return None;
            }
            values.get_or_insert(frame);
        }
        values
    }

    /// What the collective declares for a rank, and the values of its locals; none if it refuses its arguments.
    fn rank(&self, implements: &Implements, rank: i64) -> Option<(Declared, Vec<Value>)> {
        let world = World { ..self.world };
        let mut shared = shared(self.interrupt);
        let own = Rc::new(Declared::new(world.program));
        let frame = vec![Value::Unset; world.program.frame.len()];
        let mut eval = new_eval(world, &mut shared, Some(rank), frame, own);
        eval.implement(implements, self.question.in_place).ok()?;
        let frame = std::mem::take(&mut eval.frame);
        Some((Rc::unwrap_or_clone(eval.own), frame))
    }

    /// The terms of every rank, and whether they lack the promises, of which there are too many.
    fn terms(&self, implements: &Implements) -> Option<(Vec<Terms>, bool)> {
        let count = self.question.sizes.len() as i64;
        let declared: Option<Vec<Rc<Declared>>> =
            (0..count).map(|rank| Some(Rc::new(self.rank(implements, rank)?.0))).collect();
        let declared = declared?;
        let mut ranks = vec![ir::Rank::default(); declared.len()];
        let written: u64 = self.question.sizes.iter().map(|sizes| u64::from(sizes.output)).sum();
        let promises_nothing =
            self.world.unit.collectives[self.question.collective].ensures.is_empty();
        let mut is_unpromised = written > MOST_PROMISES && !promises_nothing;
        if !is_unpromised {
            let mut shared = Shared::new(FUEL_OF_PROMISES, self.interrupt);
            let in_place = self.question.in_place;
            finish::promises(self.world, implements, in_place, &mut shared, &declared, &mut ranks);
            if shared.fuel == 0 {
                is_unpromised = true;
                ranks = vec![ir::Rank::default(); declared.len()];
            } else if shared.reports.has_errors() {
                return None;
            }
        }
        let terms = |(own, rank): (&Rc<Declared>, ir::Rank)| Terms {
            alias: own.alias,
            promises: rank.promises,
            begun: rank.begun,
            same: rank.same,
        };
        Some((declared.iter().zip(ranks).map(terms).collect(), is_unpromised))
    }
}

fn shared(interrupt: &Interrupt) -> Shared<'_> {
    Shared::new(FUEL, interrupt)
}

/// The next combination, the first parameter changing first; false after the last one.
fn next(chosen: &mut [usize], candidates: &[Vec<Option<Expr>>]) -> bool {
    for (choice, candidates) in chosen.iter_mut().zip(candidates) {
        *choice += 1;
        if *choice < candidates.len() {
            return true;
        }
        *choice = 0;
    }
    false
}
