//! The context of a statement: the braces that it is in, and their headers.

use crate::source::{SourceFile, Span};
use crate::syntax::token::{self, Kind, Token};

/// A file as tokens, comments left out.
pub(super) struct Surroundings<'a> {
    pub(super) file: &'a SourceFile,
    pub(super) tokens: Vec<Token<'a>>,
}

/// The header of a pair of braces: `block a[p in peers]`, `for step in 0..4`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Its first token: that of an attribute, if it has one.
    pub(super) first: usize,
    /// Its first word.
    pub(super) word: usize,
    /// The brace after it.
    pub(super) open: usize,
}

impl<'a> Surroundings<'a> {
    /// The tokens of the file that `span` is in.
    pub(super) fn new(file: &'a SourceFile, span: Span) -> Surroundings<'a> {
        let mut tokens = token::tokens(span.file, &file.text).tokens;
        tokens.retain(|token| !matches!(token.kind, Kind::Comment | Kind::Doc | Kind::InnerDoc));
        Surroundings { file, tokens }
    }

    /// The text of a token; empty if there is no such token.
    pub(super) fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// Where a token begins.
    pub(super) fn start(&self, at: usize) -> Option<u32> {
        self.tokens.get(at).map(|token| token.span.start)
    }

    /// Where a token ends.
    pub(super) fn end(&self, at: usize) -> Option<u32> {
        self.tokens.get(at).map(|token| token.span.end)
    }

    /// The text from one token up to, but not including, another one.
    pub(super) fn text(&self, from: usize, to: usize) -> Option<&'a str> {
        let span = self.start(from)? as usize..self.end(to.checked_sub(1)?)? as usize;
        self.file.text.get(span)
    }

    /// The headers of the braces that an offset is in, outermost first; none if one of them encloses a
    /// list.
    pub(super) fn headers(&self, offset: u32) -> Option<Vec<Header>> {
        // For each open brace: its index, the first token of the statement that it ends, and whether it
        // encloses statements.
        let mut open: Vec<(usize, usize, bool)> = Vec::new();
        let mut first = 0;
        for (at, token) in self.tokens.iter().enumerate() {
            if token.span.start >= offset {
                break;
            }
            match token.kind.text() {
                "{" => {
                    let body = at > 0 && self.opens_a_body(at - 1);
                    open.push((first, at, body));
                    first = if body { at + 1 } else { first };
                }
                "}" => {
                    let (_, _, body) = open.pop()?;
                    first = if body { at + 1 } else { first };
                }
                ";" => first = at + 1,
                _ => {}
            }
        }
        let header = |(first, open, body): (usize, usize, bool)| {
            body.then(|| Header { first, word: self.behind_attributes(first), open })
        };
        open.into_iter().map(header).collect()
    }

    /// Whether a brace after this token opens a body; otherwise it belongs to a list.
    fn opens_a_body(&self, before: usize) -> bool {
        let Some(token) = self.tokens.get(before) else { return false };
        matches!(token.kind, Kind::Name | Kind::Int)
            || matches!(token.kind.text(), ")" | "]" | "}" | "else" | "options" | "true" | "false")
    }

    fn behind_attributes(&self, mut at: usize) -> usize {
        while self.word(at) == "#" {
            at = self.closing(at + 1).map_or(usize::MAX, |end| end + 1);
        }
        at
    }

    /// The token that closes the bracket at `open`.
    pub(super) fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_u32;
        for (at, token) in self.tokens.iter().enumerate().skip(open) {
            match token.kind.text() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    /// The first token from `from` on that is one of `wanted` and not inside a bracket opened after
    /// `from`.
    pub(super) fn next(&self, from: usize, wanted: &[&str]) -> Option<usize> {
        let mut at = from;
        while !wanted.contains(&self.word(at)) {
            self.tokens.get(at)?;
            let opens = matches!(self.word(at), "(" | "[" | "{");
            at = if opens { self.closing(at)? + 1 } else { at + 1 };
        }
        Some(at)
    }
}
