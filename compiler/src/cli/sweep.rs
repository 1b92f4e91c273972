//! `check` and `build` with several values of a parameter: every combination is tried, and one mistake is still one report.

use super::Failure;
use super::settings::{self, Given, Value};
use compiler::diagnostic::{Code, Diagnostic, Severity};
use compiler::resolve::program::{Expr, Program};
use compiler::source::{Place, SourceMap};
use std::collections::BTreeMap;

/// The most combinations that are tried.
const MAX_COMBINATIONS: usize = 1_000_000;

/// The most combinations that a note lists.
const LISTED: usize = 8;

/// The values of each parameter for which some are given.
pub(crate) struct Sweep {
    axes: Vec<(String, Vec<Value>)>,
}

/// One value for each parameter.
pub(crate) struct Combination {
    /// The values for the elaboration.
    pub(crate) parameters: Vec<(String, Expr)>,
    /// The parameters that vary, for people: "ranks = 4".
    pub(crate) text: String,
}

/// The combinations for one program. Definitions of other programs' parameters are ignored.
pub(crate) fn sweep(
    sources: &SourceMap,
    given: &Given,
    program: &Program,
    allowed: settings::Values,
) -> Result<Sweep, Failure> {
    let mut axes = Vec::new();
    for definition in &given.definitions {
        if let Some(parameter) = program.parameters.iter().find(|p| p.name == definition.name) {
            let values = settings::values(definition, parameter, allowed)
                .map_err(|failure| failure.and(&settings::lists(sources, &[program])))?;
            axes.push((definition.name.clone(), values));
        }
    }
    let sweep = Sweep { axes };
    match sweep.count() {
        Some(..=MAX_COMBINATIONS) => Ok(sweep),
        Some(_) | None => {
            Err(Failure::Usage(format!("more than {MAX_COMBINATIONS} combinations of values")))
        }
    }
}

impl Sweep {
    /// How many combinations there are; none if that is more than a number can say.
    fn count(&self) -> Option<usize> {
        self.axes.iter().try_fold(1_usize, |n, (_, values)| n.checked_mul(values.len()))
    }

    /// How many combinations there are.
    pub(crate) fn len(&self) -> usize {
        self.count().unwrap_or(0)
    }

    /// Whether there is more than one combination.
    pub(crate) fn varies(&self) -> bool {
        self.len() != 1
    }

    /// The parameters that have several values, as they were given: `ranks=2..=16`.
    pub(crate) fn given<'d>(&self, define: &'d [String]) -> Vec<&'d str> {
        let varies =
            |text: &&str| text.split_once('=').is_some_and(|(name, _)| self.varies_in(name.trim()));
        define.iter().map(|text| text.trim()).filter(varies).collect()
    }

    /// Whether a parameter has several values.
    fn varies_in(&self, name: &str) -> bool {
        self.axes.iter().any(|(axis, values)| axis == name && values.len() > 1)
    }

    /// Why there is nothing to check, if there is not. A value is impossible, rather than wrong, if it was one of several.
    pub(crate) fn skips(&self, program: &Program, diagnostics: &[Diagnostic]) -> Option<Skipped> {
        let errors = || diagnostics.iter().filter(|report| report.severity == Severity::Error);
        let ranks = program.ranks.and_then(|ranks| program.frame.lookup(ranks)).map(|row| row.span);
        let varied = |place: Place| {
            let parameter = program.parameters.iter().find(|row| place == Place::from(row.span));
            parameter.is_some_and(|row| Some(row.span) != ranks && self.varies_in(&row.name))
        };
        let impossible = |report: &Diagnostic| {
            let place = report.primary.as_ref().map(|label| label.place);
            matches!(report.code, Code::E0303 | Code::E0314) && place.is_some_and(varied)
        };
        if !self.varies() || errors().next().is_none() {
            return None;
        }
        if errors().all(|report| report.code == Code::E0302) {
            return Some(Skipped::Refused);
        }
        errors().all(impossible).then_some(Skipped::Impossible)
    }

    /// All combinations, the last parameter's values varying fastest.
    pub(crate) fn combinations(&self) -> impl Iterator<Item = Combination> {
        (0..self.len()).map(|number| self.combination(number))
    }

    fn combination(&self, mut number: usize) -> Combination {
        let mut parameters = Vec::new();
        let mut varying = Vec::new();
        for (name, values) in self.axes.iter().rev() {
            let Some(value) = values.get(number % values.len()) else { continue };
            number /= values.len();
            parameters.push((name.clone(), value.value.clone()));
            if values.len() > 1 {
                varying.push(format!("{name} = {}", value.text));
            }
        }
        parameters.reverse();
        varying.reverse();
        Combination { parameters, text: varying.join(", ") }
    }
}

/// Why there is nothing to check with a combination.
pub(crate) enum Skipped {
    /// A `require` refused it.
    Refused,
    /// Its values exclude each other: `ranks_per_node` does not divide `ranks`, nodes and domains overlap, or a parameter is no rank.
    Impossible,
}

/// How many combinations there were of each kind.
#[derive(Default)]
pub(crate) struct Tally {
    /// Those that were checked or built.
    pub(crate) taken: usize,
    refused: usize,
    impossible: usize,
}

impl Tally {
    /// Counts one for which there is nothing to do.
    pub(crate) fn skip(&mut self, why: Skipped) {
        match why {
            Skipped::Refused => self.refused += 1,
            Skipped::Impossible => self.impossible += 1,
        }
    }

    /// The numbers, for people; `done` is what was done with those that were taken.
    pub(crate) fn text(&self, done: &str) -> String {
        let Tally { taken, refused, impossible } = self;
        let impossible = match impossible {
            0 => String::new(),
            _ => format!(", {impossible} impossible"),
        };
        let plural = if *taken == 1 { "" } else { "s" };
        format!("{taken} combination{plural} {done}, {refused} refused by a `require`{impossible}")
    }
}

/// The reports of many combinations, each mistake once.
#[derive(Default)]
pub(crate) struct Gathered {
    reports: Vec<(Diagnostic, Vec<String>)>,
    known: BTreeMap<(Code, Option<Place>), usize>,
    /// Where earlier combinations had an error. An error of another combination there has the same cause.
    errors: BTreeMap<Place, usize>,
}

impl Gathered {
    /// Adds what was found with one combination.
    pub(crate) fn add(&mut self, combination: &Combination, diagnostics: Vec<Diagnostic>) {
        let before = self.reports.len();
        for diagnostic in diagnostics {
            let place = diagnostic.primary.as_ref().map(|label| label.place);
            let slot = self.known.get(&(diagnostic.code, place)).copied();
            if let Some((_, with)) = slot.and_then(|slot| self.reports.get_mut(slot)) {
                with.push(combination.text.clone());
                continue;
            }
            let is_error = diagnostic.severity == Severity::Error;
            let error = place.filter(|_| is_error).and_then(|place| self.errors.get(&place));
            let other = error.filter(|slot| **slot < before);
            if let Some((_, with)) = other.and_then(|slot| self.reports.get_mut(*slot)) {
                with.push(format!("{} ({})", combination.text, diagnostic.code.id()));
                continue;
            }
            let slot = self.reports.len();
            self.known.insert((diagnostic.code, place), slot);
            if let Some(place) = place.filter(|_| is_error) {
                self.errors.entry(place).or_insert(slot);
            }
            self.reports.push((diagnostic, vec![combination.text.clone()]));
        }
    }

    /// The reports; if there were several combinations, with those for which each was found.
    pub(crate) fn finish(self, varies: bool) -> Vec<Diagnostic> {
        let noted = |(diagnostic, with): (Diagnostic, Vec<String>)| {
            if varies { diagnostic.note(found_with(with)) } else { diagnostic }
        };
        self.reports.into_iter().map(noted).collect()
    }
}

fn found_with(mut with: Vec<String>) -> String {
    with.dedup();
    let rest = with.len().saturating_sub(LISTED);
    with.truncate(LISTED);
    let mut combinations = with.into_iter();
    let first = combinations.next().unwrap_or_default();
    let others: Vec<String> = combinations.collect();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    if others.is_empty() {
        format!("with {first}")
    } else {
        format!("with {first}; also with {}{more}", others.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_lists_the_combinations() {
        let texts = |n: usize| (2..2 + n).map(|i| format!("ranks = {i}")).collect::<Vec<_>>();
        assert_eq!(found_with(texts(1)), "with ranks = 2");
        assert_eq!(found_with(texts(3)), "with ranks = 2; also with ranks = 3; ranks = 4");
        assert!(found_with(texts(11)).ends_with("ranks = 9 and 3 more"));
    }
}
