//! Sums of atoms with integer factors.

use super::Found;
use super::atoms::Atom;

/// From how many values a sum is computed; it is then compared with all.
const SAMPLES: usize = 24;

/// The factors and the constant for which a sum of columns has these values, if a sample of the values determines them;
/// the caller checks whether the other values fit.
pub(super) fn solve(columns: &[&[i64]], values: &[i64]) -> Option<(Vec<i64>, i64)> {
    let stride = values.len().div_ceil(SAMPLES).max(1);
    let near = 0..values.len().min(SAMPLES);
    let far = (0..values.len()).step_by(stride);
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for at in near.chain(far) {
        let mut row: Vec<f64> = columns
            .iter()
            .map(|column| column.get(at).map(|v| *v as f64))
            .collect::<Option<_>>()?;
        row.extend([1.0, *values.get(at)? as f64]);
        rows.push(row);
    }
    let unknowns = columns.len() + 1;
    for pivot in 0..unknowns {
        let entry = |row: &[f64]| row.get(pivot).map_or(0.0, |v| v.abs());
        let best = (pivot..rows.len()).max_by(|a, b| {
            let size = |at: &usize| rows.get(*at).map_or(0.0, |row| entry(row));
            size(a).total_cmp(&size(b))
        })?;
        rows.swap(pivot, best);
        let top = rows.get(pivot)?.clone();
        let head = *top.get(pivot)?;
        if head.abs() < 1e-9 {
            return None;
        }
        for (_, row) in rows.iter_mut().enumerate().filter(|(at, _)| *at != pivot) {
            let factor = row.get(pivot)? / head;
            if factor != 0.0 {
                row.iter_mut().zip(&top).for_each(|(entry, above)| *entry -= factor * above);
            }
        }
    }
    let whole = |pivot: usize| -> Option<i64> {
        let row = rows.get(pivot)?;
        let value = row.last()? / row.get(pivot)?;
        ((value - value.round()).abs() < 1e-6 && value.abs() < 1e12).then(|| value.round() as i64)
    };
    let factors: Vec<i64> = (0..columns.len()).map(whole).collect::<Option<_>>()?;
    Some((factors, whole(columns.len())?))
}

/// The sum as text: first what is added, then what is subtracted.
pub(super) fn found(atoms: &[&Atom], factors: &[i64], constant: i64) -> Found {
    let mut cost = 1;
    let (mut added, mut taken) = (Vec::new(), Vec::new());
    let mut terms: Vec<(&&Atom, &i64)> =
        atoms.iter().zip(factors).filter(|(_, factor)| **factor != 0).collect();
    terms.sort_by_key(|(_, factor)| std::cmp::Reverse(factor.unsigned_abs()));
    for (atom, factor) in terms {
        let operand = if atom.tight { atom.text.clone() } else { format!("({})", atom.text) };
        let text = match factor.unsigned_abs() {
            1 => operand,
            size => format!("{size} * {operand}"),
        };
        cost += atom.cost + if factor.abs() == 1 { 1 } else { 2 };
        if *factor > 0 { added.push(text) } else { taken.push(text) }
    }
    match constant {
        0 => {}
        1.. => added.push(constant.to_string()),
        _ => taken.push(constant.unsigned_abs().to_string()),
    }
    if added.is_empty() {
        added.push("0".to_owned());
    }
    let text = std::iter::once(added.join(" + ")).chain(taken).collect::<Vec<_>>().join(" - ");
    let tight = !text.contains(' ');
    Found { text, tight, cost: cost + u32::from(constant != 0) }
}
