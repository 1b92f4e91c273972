//! Collectives that have the name of one of the library's and promise something else.
//!
//! In: a program whose collective its author has declared. Out: W0803, if the library has a collective of that name, and no
//! arguments with which it promises the same for buffers of these sizes. Those with tables of sizes are left out: sizes of
//! buffers do not determine a table. MSCCL++ chooses plans by the names of collectives, and
//! `cclc verify` takes a plan's promise from its name.

use super::contract::{self, Known};
use crate::diagnostic::{Code, Diagnostic};
use crate::elaborate::contract::Open;
use crate::interrupt::Interrupt;
use crate::ir::{self, Promise};
use crate::resolve::program::{Collective, Implements, Unit};
use crate::source::{Place, Span};
use std::sync::Arc;

/// Up to so many contributions, the promises of all ranks are compared; otherwise those of the first and the last rank.
const MOST_COMPARED: u64 = 4_000_000;

/// The warning, if it is due. `implements` is the statement by which the program names its collective.
pub(super) fn check(
    unit: &Unit,
    implements: &Implements,
    program: &ir::Program,
    interrupt: &Interrupt,
) -> Option<Diagnostic> {
    let collective = &unit.collectives[implements.collective];
    let is_accepted = unit.accepts(Code::W0803, Place::Source(implements.span));
    let is_own = !program.origins.is_library(Place::Source(collective.span));
    if !is_own || is_accepted || !contract::has_without_tables(&program.collective.name) {
        return None;
    }
    let mut other = bare(program);
    let is_same = match contract::add(&mut other, &Known::default(), interrupt) {
        Ok(undetermined) => {
            let mut open = undetermined.open.iter();
            are_same(program, &other) || open.any(|open| fits(program, open, interrupt))
        }
        // The library's promises too much to be compared.
        Err(why) => why.code == Code::W0501,
    };
    (!is_same).then(|| report_other_promise(collective, implements.span))
}

/// Whether the library's collective promises the same with another value for a parameter that sizes leave open.
fn fits(program: &ir::Program, open: &Open, interrupt: &Interrupt) -> bool {
    open.others.iter().any(|value| {
        let given = vec![(open.name.clone(), contract::number(*value))];
        let mut other = bare(program);
        let known = Known { given, ..Known::default() };
        contract::add(&mut other, &known, interrupt).is_ok() && are_same(program, &other)
    })
}

/// The buffers of a program, without operations.
fn bare(program: &ir::Program) -> ir::Program {
    let ranks = program.ranks.iter().map(|rank| ir::Rank {
        input_chunks: rank.input_chunks,
        output_chunks: rank.output_chunks,
        ..ir::Rank::default()
    });
    ir::Program { ranks: ranks.collect::<Vec<_>>().into(), ..program.clone() }
}

fn are_same(one: &ir::Program, other: &ir::Program) -> bool {
    let ranks = one.ranks.iter().zip(other.ranks.iter());
    let all = one.ranks.iter().map(|rank| contributions(&rank.promises)).sum::<u64>();
    let last = one.ranks.len().saturating_sub(1);
    ranks.enumerate().all(|(at, (one, other))| {
        let is_compared = all <= MOST_COMPARED || at == 0 || at == last;
        // More may be promised, and anything where the library promises nothing.
        let has_begun = |rank| one.begun.contains(rank);
        !is_compared
            || other.begun.iter().all(has_begun)
                && (other.promises.is_empty() || promise_the_same(&one.promises, &other.promises))
    })
}

fn contributions(promises: &[Promise]) -> u64 {
    promises.iter().flat_map(|promise| &promise.terms).map(|term| u64::from(term.count)).sum()
}

fn promise_the_same(one: &Arc<[Promise]>, other: &Arc<[Promise]>) -> bool {
    one == other || listed(one) == listed(other)
}

/// The contributions to each chunk, in order.
fn listed(promises: &[Promise]) -> Vec<(u32, Vec<(u32, u32)>)> {
    let sources = |promise: &Promise| {
        let mut all: Vec<(u32, u32)> = promise.terms.iter().flat_map(ir::Term::sources).collect();
        all.sort_unstable();
        all
    };
    let mut listed: Vec<_> =
        promises.iter().map(|promise| (promise.chunk, sources(promise))).collect();
    listed.sort_unstable();
    listed
}

fn report_other_promise(collective: &Collective, place: Span) -> Diagnostic {
    let name = &collective.name;
    let message = format!("this `{name}` promises something else than the library's");
    Diagnostic::new(Code::W0803, place, message)
        .label("MSCCL++ chooses plans by this name")
        .and(collective.span, "declared here")
        .note(format!(
            "a plan of it would be used wherever `{name}` is asked for, and `cclc verify` cannot tell what it promises"
        ))
        .help(format!("give it a name of its own, or use the library's: `use std::collectives::{name};`"))
}
