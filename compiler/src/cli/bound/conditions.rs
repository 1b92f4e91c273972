//! The pre- and postcondition of a collective as matrices: a row for each chunk, a column for each rank.

use serde_json::{Value, json};
use std::fmt::Write as _;
use synth::graph::Vertex;
use synth::schedule::Unit;

/// A row for each chunk. What is added up has a `+` for each rank that contributes to it, and for each rank that gets the
/// sum of some of them only, as in a scan.
pub(super) fn fill_conditions(units: &[Unit], ranks: u32, text: &mut String) -> std::fmt::Result {
    let width = (ranks as usize).max("before".len());
    writeln!(text, "  {:>6}  {:<width$}  after", "chunk", "before")?;
    for (index, unit) in units.iter().enumerate() {
        let had = if unit.is_sum() { '+' } else { 'x' };
        let before = draw_row(ranks, |rank| unit.has_origin(rank).then_some(had));
        let after = draw_row(ranks, |rank| {
            let kept = (!unit.is_sum() && unit.has_origin(rank)).then_some('x');
            let got = unit.receivers.binary_search(&rank).ok().map(|index| {
                if unit.find_summands(index).len() < unit.origins.len() { '+' } else { 'x' }
            });
            got.or(kept)
        });
        writeln!(text, "  {index:>6}  {before:<width$}  {after}")?;
    }
    Ok(())
}

fn draw_row(ranks: u32, mark: impl Fn(Vertex) -> Option<char>) -> String {
    (0..ranks).map(|rank| mark(Vertex(rank)).unwrap_or('.')).collect()
}

/// The same as lists of ranks.
pub(super) fn list_conditions(units: &[Unit]) -> Value {
    let list = |ranks: &[Vertex]| -> Vec<u32> { ranks.iter().map(|rank| rank.0).collect() };
    let rows = units
        .iter()
        .map(|unit| json!({ "before": list(&unit.origins), "after": list(&unit.receivers) }));
    Value::Array(rows.collect())
}
