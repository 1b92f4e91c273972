//! Numbers that differ from rank to rank, or from member to member: as a formula where there is one, otherwise as a
//! constant list at the top of the file, which is evaluated once and not for each rank.

/// The lists that a program needs.
#[derive(Default)]
pub(super) struct Tables {
    /// Their declarations.
    pub(super) text: String,
}

impl Tables {
    /// An expression for `values[index]`.
    pub(super) fn list(&mut self, name: &str, values: &[i64], index: &str) -> String {
        if let Some(formula) = formula(values, index) {
            return formula;
        }
        self.text.push_str(&format!("let {name} = {};\n", bracketed(values)));
        format!("{name}[{index}]")
    }

    /// An expression for `rows[rank][index]`. No rank reads beyond the end of its row.
    pub(super) fn rows(&mut self, name: &str, rows: &[Vec<i64>], index: &str) -> String {
        let longest = rows.iter().max_by_key(|row| row.len()).map_or(&[][..], Vec::as_slice);
        if rows.iter().all(|row| longest.starts_with(row)) {
            return self.list(name, longest, index);
        }
        if rows.iter().all(|row| row.len() == 1) {
            return self.list(name, &rows.concat(), "rank");
        }
        let lines: Vec<String> =
            rows.iter().map(|row| format!("    {},\n", bracketed(row))).collect();
        self.text.push_str(&format!("let {name} = [\n{}];\n", lines.concat()));
        format!("{name}[rank][{index}]")
    }

    /// An expression for the list that a rank has.
    pub(super) fn whole(&mut self, name: &str, rows: &[Vec<i64>]) -> String {
        let first = rows.first().map_or(&[][..], Vec::as_slice);
        if rows.iter().all(|row| row == first) {
            return range(first).unwrap_or_else(|| bracketed(first));
        }
        let lines: Vec<String> =
            rows.iter().map(|row| format!("    {},\n", bracketed(row))).collect();
        self.text.push_str(&format!("let {name} = [\n{}];\n", lines.concat()));
        format!("{name}[rank]")
    }
}

/// A list. An empty one would have no type; nobody reads what is in its place.
fn bracketed(values: &[i64]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    if values.is_empty() { "[0]".to_owned() } else { format!("[{}]", values.join(", ")) }
}

/// A range, for consecutive numbers.
fn range(values: &[i64]) -> Option<String> {
    let first = *values.first()?;
    let consecutive = values.iter().zip(first..).all(|(value, expected)| *value == expected);
    consecutive.then(|| format!("{first}..{}", first + values.len() as i64))
}

/// A formula for numbers that are all the same, or a constant step apart.
fn formula(values: &[i64], index: &str) -> Option<String> {
    let first = values.first().copied().unwrap_or(0);
    let step = values.get(1).map_or(0, |second| second.wrapping_sub(first));
    let even = |(i, value): (usize, &i64)| {
        first.checked_add(step.checked_mul(i as i64)?).map(|v| v == *value)
    };
    if !values.iter().enumerate().all(|pair| even(pair) == Some(true)) {
        return None;
    }
    let times = |step: i64| if step == 1 { index.to_owned() } else { format!("{step} * {index}") };
    Some(match (first, step) {
        (first, 0) => first.to_string(),
        (0, step) => times(step),
        (first, step) if step < 0 && step > i64::MIN => format!("{first} - {}", times(-step)),
        (first, step) => format!("{first} + {}", times(step)),
    })
}
