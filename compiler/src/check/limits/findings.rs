//! Groups findings by mistake: one report for what the same statement does wrong on many ranks and in many blocks.
//!
//! In: what is wrong, where, and by how much. Out: one diagnostic for each rule and place, about the worst case, with a
//! note on how many others there are. A diagnostic is built only for the first finding and for worse ones.

use super::terms::Terms;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::source::{At, Place, PlanPlace};
use std::collections::BTreeMap;

/// Where in the program something is.
#[derive(Clone, Copy)]
pub(super) struct Site<'r> {
    pub(super) rank: ir::RankId,
    pub(super) block: Option<&'r ir::Block>,
    pub(super) origin: ir::OriginId,
}

/// Which findings of a rule are one mistake.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// Those at one place.
    Place,
    /// Those about something declared at another place, which is at fault.
    Of(ir::OriginId),
    /// All of a rule: an option is at fault.
    Program,
}

/// What was found so far.
pub(super) struct Findings<'p> {
    pub(super) program: &'p ir::Program,
    pub(super) terms: Terms,
    rows: BTreeMap<(Code, &'static str, Option<At>), Finding>,
}

struct Finding {
    order: usize,
    weight: u64,
    diagnostic: Diagnostic,
    count: u32,
    ranks: u32,
    last_rank: ir::RankId,
}

impl<'p> Findings<'p> {
    pub(super) fn new(program: &'p ir::Program) -> Findings<'p> {
        Findings { program, terms: Terms::of(program), rows: BTreeMap::new() }
    }

    /// Adds a finding of the rule `code`; `what` distinguishes rules of the same code. Of the findings that are one
    /// mistake, the one with the greatest weight is reported.
    pub(super) fn add(
        &mut self,
        (code, what, group): (Code, &'static str, Group),
        site: Site<'_>,
        weight: u64,
        build: impl FnOnce() -> Diagnostic,
    ) {
        let place = self.place(site);
        let order = self.rows.len();
        let around = match group {
            Group::Place => place,
            Group::Of(origin) => self.place(Site { origin, ..site }),
            Group::Program => None,
        };
        let key = (code, what, around.map(on_any_rank));
        let Some(row) = self.rows.get_mut(&key) else {
            let diagnostic = self.placed(build(), site);
            let (count, ranks, last_rank) = (1, 1, site.rank);
            self.rows.insert(key, Finding { order, weight, diagnostic, count, ranks, last_rank });
            return;
        };
        row.count += 1;
        row.ranks += u32::from(row.last_rank != site.rank);
        row.last_rank = site.rank;
        if weight > row.weight {
            let diagnostic = self.placed(build(), site);
            if let Some(row) = self.rows.get_mut(&key) {
                row.weight = weight;
                row.diagnostic = diagnostic;
            }
        }
    }

    /// Adds a finding about no rank in particular.
    pub(super) fn add_plain(&mut self, what: &'static str, diagnostic: Diagnostic) {
        let order = self.rows.len();
        let (count, ranks, last_rank) = (1, 1, ir::RankId(0));
        let row = Finding { order, weight: 0, diagnostic, count, ranks, last_rank };
        self.rows.insert((row.diagnostic.code, what, None), row);
    }

    pub(super) fn finish(self) -> Vec<Diagnostic> {
        let mut rows: Vec<Finding> = self.rows.into_values().collect();
        rows.sort_by_key(|row| row.order);
        unaccepted(self.program, rows.into_iter().map(Finding::told).collect())
    }

    fn place(&self, site: Site<'_>) -> Option<At> {
        let origins = &self.program.origins;
        origins.rows.lookup(site.origin).map(|_| origins.at(site.origin))
    }

    /// Puts a diagnostic at its site, with the rank, the block and the loop values.
    fn placed(&self, diagnostic: Diagnostic, site: Site<'_>) -> Diagnostic {
        let mut text = format!("rank {}", site.rank.0);
        if let Some(block) = site.block {
            text += &format!(", block `{}`", block.name);
        }
        let values = self.program.origins.values(site.origin);
        if !values.is_empty() {
            text += &format!(" ({})", values.join(", "));
        }
        match self.place(site) {
            Some(place) => place_at(diagnostic, Some(place), text),
            None => diagnostic,
        }
    }
}

/// The reports that no attribute accepts, at their place or at a call that led there.
pub(super) fn unaccepted(program: &ir::Program, mut reports: Vec<Diagnostic>) -> Vec<Diagnostic> {
    reports.retain(|report| {
        let at = report.primary.as_ref().map(|label| label.at());
        let calls = at.iter().flat_map(|at| &at.calls).map(|call| Place::Source(call.span));
        let mut places = at.iter().map(|at| at.place).chain(calls);
        !places.any(|place| program.origins.accepts_at(report.code.id(), place))
    });
    reports
}

/// The place without its rank, in a plan, where every rank's operations have places of their own.
fn on_any_rank(at: At) -> At {
    match at.place {
        Place::Plan(place) => At { place: Place::Plan(PlanPlace { rank: None, ..place }), ..at },
        Place::Source(_) => at,
    }
}

/// Adds a label: the primary one, unless the diagnostic has one already. Without a place, adds nothing.
pub(super) fn place_at(
    mut diagnostic: Diagnostic,
    place: Option<impl Into<At>>,
    text: String,
) -> Diagnostic {
    match place {
        Some(place) if diagnostic.primary.is_none() => {
            diagnostic.primary = Some(crate::diagnostic::Label::new(place, text));
            diagnostic
        }
        Some(place) => diagnostic.and(place, text),
        None => diagnostic,
    }
}

impl Finding {
    fn told(self) -> Diagnostic {
        let (others, other_ranks) = (self.count - 1, self.ranks - 1);
        let s = |count: u32| if count == 1 { "" } else { "s" };
        match others {
            0 => self.diagnostic,
            _ if others == other_ranks => {
                self.diagnostic.note(format!("the same on {others} other rank{}", s(others)))
            }
            _ => self.diagnostic.note(format!(
                "the same in {others} other place{} on {} rank{}",
                s(others),
                self.ranks,
                s(self.ranks)
            )),
        }
    }
}
