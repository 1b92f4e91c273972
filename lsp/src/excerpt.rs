//! The texts that the compiler is given: declarations without comments, and only those that are needed.
//!
//! In: the texts of declarations. Out: a text with the same tokens, and the mapping of its offsets back to the
//! originals. Between two tokens there is one blank or line break, or nothing where authors write none, because fixes
//! copy text from here. A token that is the first on its line stays the first on its line, so that text with errors is
//! read the same way.

use compiler::resolve::index::{self, EntryKind};
use compiler::source::FileId;
use compiler::syntax::ast;
use compiler::syntax::token::{Kind, Token, tokens};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A declaration's tokens, without documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canon {
    /// The tokens as text.
    pub text: Arc<str>,
    /// For each token: its offset in that text, its offset in the declaration, and its length.
    tokens: Vec<(u32, u32, u32)>,
}

impl Canon {
    /// Maps an offset in the text to an offset in the declaration. A position between two tokens belongs to the first.
    #[must_use]
    pub fn back(&self, offset: u32) -> u32 {
        let next = self.tokens.partition_point(|(canon, ..)| *canon <= offset);
        match next.checked_sub(1).and_then(|last| self.tokens.get(last)) {
            Some((canon, raw, length)) => raw + (offset - canon).min(*length),
            None => 0,
        }
    }

    /// Like [`Canon::back`], for the end of a range: where two tokens touch in the text, it is the end of the first
    /// one.
    #[must_use]
    pub fn back_from_end(&self, offset: u32) -> u32 {
        let next = self.tokens.partition_point(|(canon, ..)| *canon < offset);
        let last = next.checked_sub(1).and_then(|last| self.tokens.get(last));
        match last.filter(|(canon, _, length)| offset <= canon + length) {
            Some((canon, raw, _)) => raw + (offset - canon),
            None => self.back(offset),
        }
    }

    /// Like [`Canon::back`], but a position between two tokens belongs to the next one, as indentation does.
    #[must_use]
    pub fn back_to_next(&self, offset: u32) -> u32 {
        let at = self.tokens.partition_point(|(canon, ..)| *canon <= offset);
        let before = at.checked_sub(1).and_then(|last| self.tokens.get(last));
        let before = before.map_or((0, 0), |(canon, raw, length)| (canon + length, raw + length));
        match self.tokens.get(at).filter(|_| offset > before.0) {
            Some((canon, raw, _)) => raw.saturating_sub(canon - offset).max(before.1),
            None => self.back(offset),
        }
    }

    /// Maps an offset in the declaration to an offset in the text.
    #[must_use]
    pub fn forth(&self, offset: u32) -> u32 {
        let next = self.tokens.partition_point(|(_, raw, _)| *raw <= offset);
        match next.checked_sub(1).and_then(|last| self.tokens.get(last)) {
            Some((canon, raw, length)) => canon + (offset - raw).min(*length),
            None => 0,
        }
    }
}

/// The canonical form of a declaration.
#[must_use]
pub fn canon(declaration: &str) -> Canon {
    let mut text = String::with_capacity(declaration.len());
    let mut places = Vec::new();
    let mut before = None;
    for token in tokens(FileId(0), declaration).tokens {
        if matches!(token.kind, Kind::Doc | Kind::InnerDoc) {
            continue;
        }
        if token.first {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', token.indent as usize));
        } else if !before.is_some_and(|before| touch(before, token.kind)) {
            text.push(' ');
        }
        before = Some(token.kind);
        places.push((text.len() as u32, token.span.start, token.span.end - token.span.start));
        text.push_str(token.text);
    }
    text.push('\n');
    Canon { text: text.into(), tokens: places }
}

/// Tokens on one line, with blanks where authors write them.
#[must_use]
pub fn line(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    let mut before = None;
    for token in tokens {
        if before.is_some_and(|before| !touch(before, token.kind)) {
            text.push(' ');
        }
        before = Some(token.kind);
        text.push_str(token.text);
    }
    text
}

/// Whether no blank is written between two tokens. Used only for tokens that stay separate without one.
fn touch(first: Kind, second: Kind) -> bool {
    let joins = |kind: Kind| matches!(kind.text(), "." | "::" | ".." | "..=" | "..+");
    let opens = |kind: Kind| matches!(kind, Kind::LeftBracket | Kind::LeftParen);
    let follows = |kind: Kind| matches!(kind.text(), "]" | ")" | "," | ";" | ":");
    let value = first.is_name() || first == Kind::Int || matches!(first.text(), "]" | ")");
    let is_type = |kind: Kind| matches!(kind, Kind::Channel | Kind::Semaphore | Kind::Block);
    follows(second)
        || opens(first)
        || is_type(first) && second == Kind::LeftBracket
        || value && (second == Kind::LeftBracket || joins(second))
        || first.is_name() && second == Kind::LeftParen
        || joins(first) && (second.is_name() || second == Kind::Int)
}

/// The names that a declaration declares and mentions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The names that it declares or imports; imports have no kind.
    pub declares: Vec<(Option<EntryKind>, String)>,
    /// The names that occur in it.
    pub mentions: BTreeSet<String>,
    /// Whether it is a program; nothing else can refer to a program.
    pub program: bool,
}

/// Finds the names that a declaration declares, and those that occur in it.
#[must_use]
pub fn names(file: &ast::File, canon: &str) -> Names {
    let entries = index::index(file).entries;
    let program = entries.iter().any(|entry| entry.kind == EntryKind::Program);
    let mut declares: Vec<(Option<EntryKind>, String)> =
        entries.into_iter().map(|entry| (Some(entry.kind), entry.name)).collect();
    let mut imports = 0;
    for item in &file.items {
        if let ast::ItemKind::Use(used) = &item.kind {
            imports += 1;
            let here = used.names.iter().map(|name| name.known_as());
            declares.extend(here.map(|name| (None, name.text.clone())));
        }
    }
    let leaf = imports > 0 && imports == file.items.len();
    let words = tokens(FileId(0), canon).tokens;
    let words = words.iter().filter(|token| token.kind.is_name() && !leaf);
    let mentions = words.map(|token| token.text.to_owned()).collect();
    Names { declares, mentions, program }
}

/// The first two words of a declaration: what it is, and what it is called.
#[must_use]
pub fn title(piece: &str) -> String {
    let lines = piece.split_inclusive(['\n', '\r']);
    let starts = |line: &&str| line.trim_start().starts_with(|first: char| first.is_lowercase());
    let above: usize = lines.take_while(|line| !starts(line)).map(str::len).sum();
    let rest = piece.get(above..).unwrap_or("");
    let end = rest.find(['(', '{', '=', ':', ';']).unwrap_or(rest.len());
    let words = rest.get(..end).unwrap_or("").split_whitespace().take(2);
    words.collect::<Vec<_>>().join(" ")
}

/// The canonical texts of several declarations, concatenated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The whole text.
    pub text: Arc<str>,
    /// Where each declaration begins.
    pub starts: Vec<u32>,
}

impl Excerpt {
    /// Concatenates texts.
    pub fn new(texts: impl Iterator<Item = Arc<str>>) -> Excerpt {
        let (mut text, mut starts) = (String::new(), Vec::new());
        for part in texts {
            starts.push(text.len() as u32);
            text.push_str(&part);
        }
        Excerpt { text: text.into(), starts }
    }

    /// The index of the declaration in which an offset lies, and the offset in its text.
    #[must_use]
    pub fn part(&self, offset: u32) -> (usize, u32) {
        let position = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        (position, offset - self.starts.get(position).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blanks_make_no_difference() {
        let one = canon("/// A.\nfn  f( n ) = n;   // c\n");
        let other = canon("fn f(n)= n;");
        assert_eq!(one.text, other.text);
        let at = one.text.find("= n").unwrap() as u32;
        assert_eq!((one.back(at), other.back(at)), (18, 7));
        assert_eq!((one.forth(18), other.forth(7)), (at, at));
        // Indentation belongs to what it indents.
        let lines = canon("{\n  a; // c\n\n    b;\n}");
        let indent = lines.text.find("    b").unwrap() as u32;
        assert_eq!((lines.back(indent), lines.back_to_next(indent)), (6, 13));
        // The place after a token stays after it.
        assert_eq!(one.back(at + 1), 19);
        // Even where the next one touches it.
        let apart = canon("work [ * ] ;");
        assert_eq!(&*apart.text, "\nwork[*];\n");
        assert_eq!((apart.back(5), apart.back_from_end(5), apart.back_from_end(6)), (5, 4, 6));
        let all = "\nput a[c .. c + 2] -> (p in peers: p.b[f(1, 0 ..= 3)]) via mem[std::x];\n";
        assert_eq!(&*canon(all).text, all.replace(" .. ", "..").replace(" ..= ", "..="));
    }

    #[test]
    fn a_title_does_not_know_what_follows() {
        assert_eq!(title("// c\n#[allow(x)]\nprogram ring(ranks: int) {"), "program ring");
        assert_eq!(title("use std::a::b;"), "use std");
        assert_eq!(title("// c\r  program\n  ring (ranks: int) {"), "program ring");
        assert_eq!(title("// only this\n"), "");
    }

    #[test]
    fn imports_mention_nothing() {
        let text = "use std::a::{b, c as d};";
        let (file, _) = compiler::syntax::parse(FileId(0), text);
        let names = names(&file, text);
        let declared: Vec<&str> = names.declares.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!((declared, names.mentions.len()), (vec!["b", "d"], 0));
    }
}
