//! Names that C accepts.

use std::collections::BTreeSet;

/// The name, with everything that C does not accept replaced.
pub(super) fn identifier(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match plain.chars().next() {
        Some(first) if !first.is_ascii_digit() => plain,
        Some(_) | None => format!("ccl_{plain}"),
    }
}

/// Names that are taken.
#[derive(Default)]
pub(super) struct Taken {
    names: BTreeSet<String>,
}

impl Taken {
    /// The name, or if it is taken, one like it that is not.
    pub(super) fn name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1;
        while !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        name
    }
}

/// Whether a text uses a variable with this name, as opposed to a member or a function.
pub(super) fn has_variable(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(|c| is_word(c) || c == '.')
            && !after.is_some_and(|c| is_word(c) || c == '(')
    })
}
