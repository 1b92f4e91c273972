//! `cclc bound`: the least that a collective takes on a machine, with what shows it.

mod answer;
mod conditions;

use super::args::Bound;
use super::collective::{find_collective, report_bound_error};
use super::machine::find_machine;
use super::proof::write_proof;
use super::reference::Reference;
use super::report::Reporter;
use super::search_watch::SearchWatch;
use super::sketch::{read_sketch, write_flags};
use super::{Failure, Status, output};
use answer::Answer;
use synth::bound::ProgramBudget;
use synth::bound::collective::{BoundRequest, CollectiveBounds, bound_collective};
use synth::schedule::list_units;

/// How many numbers each linear program may change, if nothing else is asked for: some tenths of a second. A bound that
/// ends there says so.
const PIVOT_WORK: usize = 1 << 27;

/// Prints the bounds.
pub(crate) fn run(bound: &Bound, reporter: &mut Reporter) -> Result<Status, Failure> {
    let root = bound.answer.root.as_deref();
    let Some(machine) = find_machine(reporter, &bound.machine, root)? else {
        return Err(Failure::Usage(
            "`cclc bound` needs a machine: `--topology dgx1`, or that of a file".to_owned(),
        ));
    };
    let reference = Reference::parse(reporter, "COLLECTIVE", &bound.collective)?;
    let Some(asked) = find_collective(reporter, &reference, &machine, root)? else {
        return Ok(reporter.finish());
    };
    let sketch = read_sketch(&bound.sketch, &machine)?;
    let pivot_work = bound.budget.unwrap_or(PIVOT_WORK);
    let budget = ProgramBudget { pivot_work, ..ProgramBudget::default() };
    let watch = SearchWatch::begin(&reporter.interrupt, reporter.shows_progress());
    let request = BoundRequest {
        max_steps: bound.max_steps,
        budget,
        observer: &watch,
        ..BoundRequest::default()
    };
    let bounds = match bound_collective(&machine.graph, &asked.collective, &sketch, &request) {
        Ok(bounds) => CollectiveBounds { factor: bounds.factor * asked.factor, ..bounds },
        Err(error) => {
            let flags = write_flags(&bound.sketch);
            reporter.add(vec![report_bound_error(&error, &asked, &machine, &reference, &flags)]);
            return Ok(reporter.finish());
        }
    };
    let stop = watch.find_stop();
    drop(watch);
    if let Some(path) = &bound.answer.prove {
        write_proof(path, &bounds, reporter)?;
    }
    let sketch = &write_flags(&bound.sketch);
    let conditions =
        bound.conditions.then(|| list_units(&asked.collective, machine.graph.count_ranks()));
    let conditions = conditions.as_deref();
    let answer =
        Answer { name: &asked.name, machine: &machine, bounds: &bounds, sketch, conditions, stop };
    let text = if bound.answer.json { answer.write_json() } else { answer.write_text() };
    output::show(&text)?;
    Ok(reporter.finish())
}
