//! Comments that set parameters of the program below them: `// ccl: ranks=16, chunks=2`.
//!
//! In: the text of a declaration. Out: what such comments above it set, and where they are; also comments that look
//! like one but do not count, because of a typo, a wrong blank or their place.

use compiler::diagnostic;
use std::ops::Range;

/// The beginning of such a comment.
const HEAD: &str = "// ccl:";

/// One assignment in such a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment<'t> {
    /// The whole assignment.
    pub text: &'t str,
    /// The parameter's name.
    pub name: &'t str,
    /// Its value; none without a `=`.
    pub value: Option<&'t str>,
}

/// A comment that sets parameters, or looks as if it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment<'t> {
    /// Its range in the declaration's text.
    pub place: Range<usize>,
    /// The offset at which its assignments begin.
    pub body: usize,
    /// Its assignments.
    pub text: &'t str,
    /// Whether it counts.
    pub fate: Fate,
}

/// Whether a comment counts, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It sets parameters of the program below it.
    Counts,
    /// It would count if it were spelled `// ccl:`.
    Misspelt,
    /// It would count if it were above a program.
    Misplaced,
}

impl<'t> Comment<'t> {
    /// Its assignments, each with the offset at which it begins in the declaration's text.
    #[must_use]
    pub fn assignments(&self) -> Vec<(usize, Assignment<'t>)> {
        let mut from = 0;
        let placed = |one: Assignment<'t>| {
            let at = self.text.get(from..).and_then(|rest| rest.find(one.text)).unwrap_or(0) + from;
            from = at + one.text.len();
            (self.body + at, one)
        };
        assignments(self.text).into_iter().map(placed).collect()
    }
}

/// The assignments of the comments above a declaration, in order.
#[must_use]
pub fn directive(declaration: &str) -> String {
    let found = comments(declaration, true);
    let counts = found.iter().filter(|comment| comment.fate == Fate::Counts);
    counts.map(|comment| comment.text).collect::<Vec<_>>().join(", ")
}

/// The comments of a declaration that set parameters or look as if they should. Only those above a program count.
#[must_use]
pub fn comments(declaration: &str, is_program: bool) -> Vec<Comment<'_>> {
    let mut found = Vec::new();
    let (mut start, mut above) = (0, is_program);
    for line in declaration.split_inclusive(['\n', '\r']) {
        let text = line.trim_end();
        let leads = text.is_empty() || text.starts_with("//") || text.starts_with(['#', ' ', '\t']);
        above &= leads && !text.trim_start().starts_with("program");
        let indent = text.len() - text.trim_start().len();
        if let Some((body, well)) = text.get(indent..).and_then(head) {
            let (place, body) = (start + indent..start + text.len(), start + indent + body);
            let fate = match (above, well) {
                (true, true) => Fate::Counts,
                (_, false) => Fate::Misspelt,
                (false, true) => Fate::Misplaced,
            };
            let text = declaration.get(body..place.end).unwrap_or("").trim();
            // Elsewhere, a misspelled one may be an ordinary comment.
            if above || fate != Fate::Misspelt {
                found.push(Comment { place, body, text, fate });
            }
        }
        start += line.len();
    }
    found
}

/// If a comment looks like one that sets parameters: the offset at which its assignments begin, and whether its
/// beginning is spelled correctly.
fn head(comment: &str) -> Option<(usize, bool)> {
    if let Some(rest) = comment.strip_prefix(HEAD) {
        return Some((comment.len() - rest.trim_start().len(), true));
    }
    let inner = comment.strip_prefix("//")?.trim_start_matches(['/', '!']).trim_start();
    let end = inner.find(|character: char| !character.is_alphanumeric()).unwrap_or(inner.len());
    let (word, rest) = inner.split_at_checked(end)?;
    let marked = rest.trim_start().strip_prefix([':', ';', '=', '.', ',']);
    let body = marked.unwrap_or(rest).trim_start();
    let sets = assignments(body).first().is_some_and(|first| {
        first.value.is_some() && first.name.chars().all(|c| c.is_alphanumeric() || c == '_')
    });
    let word = word.to_lowercase();
    let own = word == "ccl";
    let near = own || marked.is_some() && diagnostic::nearest(&word, ["ccl"]).is_some();
    (near && sets).then_some((comment.len() - body.len(), false))
}

/// The assignments in the text of a comment: the parts between commas that are not inside brackets.
#[must_use]
pub fn assignments(text: &str) -> Vec<Assignment<'_>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..));
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    parts.map(assignment).collect()
}

fn assignment(text: &str) -> Assignment<'_> {
    match text.split_once('=') {
        Some((name, value)) => Assignment { text, name: name.trim(), value: Some(value.trim()) },
        None => Assignment { text, name: text, value: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_above_a_program_are_found() {
        let text = "// ccl: ranks=4\n/// Doc.\n//  x\n// ccl: n=2\n#[allow(x)]\nprogram p() {\n// ccl: ranks=9\n}";
        assert_eq!(directive(text), "ranks=4, n=2");
        assert_eq!(directive("program p() {\n// ccl: ranks=9\n}"), "");
        let fates: Vec<Fate> = comments(text, true).iter().map(|one| one.fate).collect();
        assert_eq!(fates, [Fate::Counts, Fate::Counts, Fate::Misplaced]);
    }

    #[test]
    fn comments_that_look_like_one_are_found() {
        for text in [
            "//ccl: ranks=4",
            "//  ccl: ranks=4",
            "// ccl : ranks=4",
            "// CCL: ranks=4",
            "// ccl ranks=4",
            "// ccl; ranks=4",
            "/// ccl: ranks=4",
            "// cll: ranks = 4",
            "// cclc: ranks=4",
        ] {
            let found = comments(text, true);
            let [one] = found.as_slice() else { panic!("{text}: {found:?}") };
            assert_eq!(one.fate, Fate::Misspelt, "{text}");
            assert!(text[one.body..].starts_with("ranks"), "{text}");
        }
        for text in ["// ccl is a language", "// cell: ranks=4", "// see: a=b", "// ccl", "// co=2"]
        {
            assert_eq!(comments(text, true), [], "{text}");
        }
    }

    #[test]
    fn commas_in_brackets_part_nothing() {
        let texts = |text| assignments(text).iter().map(|one| one.text).collect::<Vec<_>>();
        assert_eq!(texts("a=1, b=[1, 2] ,"), ["a=1", "b=[1, 2]"]);
    }
}
