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

/// The kernel of a file.
pub(super) fn kernel(file: &str) -> String {
    format!("{file}_kernel")
}

/// The type of the rows of a role's table.
pub(super) fn row(role: &str) -> String {
    format!("{role}_row")
}

/// A role's table.
pub(super) fn rows(role: &str) -> String {
    format!("{role}_rows")
}

/// What begins a function that has a table. Libraries that one process loads share the tables of functions with equal
/// names, whatever these contain, unless the functions are hidden.
pub(super) const WITH_TABLE: &str = "    [[gnu::visibility(\"hidden\")]] static";

/// Names that are taken.
pub(super) struct Taken {
    names: BTreeSet<String>,
}

impl Taken {
    /// The names that every file has, and its kernel's.
    pub(super) fn by(file: &str) -> Taken {
        Taken { names: [kernel(file)].into() }
    }

    /// The name of a role, or if it or one of those of its table is taken, one like it that is not.
    pub(super) fn role(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1;
        while [name.clone(), row(&name), rows(&name)].iter().any(|name| self.names.contains(name)) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        self.names.extend([name.clone(), row(&name), rows(&name)]);
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

#[cfg(test)]
mod tests {
    use super::Taken;

    #[test]
    fn tables_and_the_kernel_have_names_of_their_own() {
        let mut taken = Taken::by("block");
        for (wanted, name) in [
            ("block_a", "block_a"),
            ("block_a_rows", "block_a_rows_2"),
            ("block_a_row", "block_a_row_2"),
            ("block_b_row", "block_b_row"),
            ("block_b", "block_b_2"),
            ("block_b", "block_b_3"),
            ("block_kernel", "block_kernel_2"),
        ] {
            assert_eq!(taken.role(wanted), name);
        }
    }
}
