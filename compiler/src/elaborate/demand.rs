//! Evaluates what a collective promises, without a program that implements it.
//!
//! In: a collective with arguments, and a number of ranks. Out: ranks that have nothing but their promises.

use super::eval::Shared;
use super::world::{Declared, World};
use super::{Settings, finish, fuel, new_eval};
use crate::diagnostic::Diagnostic;
use crate::interrupt::Interrupt;
use crate::ir;
use crate::resolve::program::{CollectiveId, Expr, Implements, Program, Unit};
use crate::source::Span;
use std::rc::Rc;

/// A collective with arguments, as a command names it.
#[derive(Clone, Debug)]
pub struct CollectiveQuestion {
    /// The collective.
    pub collective: CollectiveId,
    /// The arguments: the parameter's position, and its value.
    pub arguments: Vec<(usize, Expr)>,
    /// How many ranks there are.
    pub ranks: u32,
    /// Where it is named.
    pub span: Span,
}

/// The ranks with what they are promised; none if something is wrong, which is reported.
#[must_use]
pub fn evaluate_promises(
    unit: &Unit,
    question: &CollectiveQuestion,
    interrupt: &Interrupt,
) -> (Option<Vec<ir::Rank>>, Vec<Diagnostic>) {
    let context = Program::without_items(question.span);
    let implements = Implements {
        collective: question.collective,
        arguments: question.arguments.clone(),
        in_place: None,
        op: None,
        span: question.span,
    };
    let count = i64::from(question.ranks);
    let world = World { unit, program: &context, ranks: count, ranks_per_node: count };
    let mut shared = Shared::new(fuel(&Settings::default()), interrupt);
    let mut declared = Vec::new();
    for rank in 0..count {
        let own = Rc::new(Declared::new(&context));
        let mut eval = new_eval(world, &mut shared, Some(rank), Vec::new(), own);
        if eval.implement(&implements, false).is_err() {
            break;
        }
        declared.push(eval.own);
    }
    let mut ranks = vec![ir::Rank::default(); declared.len()];
    if !shared.reports.has_errors() && !interrupt.is_set() {
        finish::promises(world, &implements, false, &mut shared, &declared, &mut ranks);
    }
    let is_whole = !shared.reports.has_errors() && !interrupt.is_set();
    (is_whole.then_some(ranks), shared.reports.finish(count))
}
