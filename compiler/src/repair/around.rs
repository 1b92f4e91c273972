//! A signal and a wait over all channels of a family, next to the loops and conditions around a statement.
//!
//! A block that signals inside a loop does so each time, and one that signals inside a condition only where it holds;
//! over the whole family, next to the outermost of them, all ranks do so once.

use super::statement::{Statement, gap};
use super::surroundings::{Header, Surroundings};
use crate::diagnostic::change::Side;
use crate::diagnostic::witness::{Event, Finding};
use crate::diagnostic::{Certainty, Code, Diagnostic, Edit, Fix};
use crate::source::{SourceMap, Span};
use crate::syntax::token::{self, Kind};

/// The fixes of a race that are worth trying: after the loops and conditions around its first access, and before those
/// around its second one, the outermost first, and of these, those over few channels. None of them has been tried.
pub(crate) fn around(sources: &SourceMap, report: &Diagnostic) -> Vec<Fix> {
    let across = matches!(report.code, Code::E0510 | Code::E0515);
    // A rank tells that it is done after the first access, or that it has begun before the second one.
    let tried = [
        (Side::After, matches!(report.code, Code::E0501 | Code::E0512)),
        (Side::Before, report.code == Code::E0501 || across),
    ];
    let Some(Finding::Race(race)) = report.witness.as_ref().map(|witness| &witness.finding) else {
        return Vec::new();
    };
    let statement = |event: &Event| Statement::new(sources, event.place?);
    let first = race.first.as_ref().and_then(|access| statement(&access.event));
    let second = statement(&race.second.event);
    let mut exchanges = Vec::new();
    for (side, _) in tried.iter().filter(|(_, helps)| *helps) {
        let (beside, other) = match side {
            Side::After => (first.as_ref(), second.as_ref()),
            Side::Before => (second.as_ref(), first.as_ref()),
        };
        let via = [beside, other].into_iter().flatten().find_map(Statement::via);
        if let Some((beside, via)) = beside.zip(via) {
            let whole = families(beside, via).filter(|whole| whole != via);
            for (depth, level) in levels(beside, *side).into_iter().enumerate() {
                let exchange = |channels: &str, is_over_all| TriedExchange {
                    depth,
                    is_over_all,
                    fix: level.exchange(channels, across),
                };
                exchanges.push(exchange(via, false));
                exchanges.extend(whole.as_deref().map(|all| exchange(all, true)));
            }
        }
    }
    exchanges.sort_by_key(|one| (one.depth, one.is_over_all));
    exchanges.into_iter().map(|one| one.fix).collect()
}

/// A fix, and what makes it better than others.
struct TriedExchange {
    /// How many loops and conditions it is in.
    depth: usize,
    /// Whether it is over all channels of a family, and not over those of a statement.
    is_over_all: bool,
    fix: Fix,
}

/// A place next to a loop or a condition.
struct Level {
    at: Span,
    side: Side,
    /// What comes between what is there and something new.
    gap: String,
    /// "loop", "outermost condition".
    name: String,
}

impl Level {
    /// A signal and a wait over channels.
    fn exchange(&self, channels: &str, relaxed: bool) -> Fix {
        let (word, enough) = if relaxed { (" relaxed", "; `relaxed` is enough") } else { ("", "") };
        let Level { gap, name, .. } = self;
        let both = format!("signal {channels}{word};{gap}wait {channels}{word};");
        let text = match self.side {
            Side::After => format!("{gap}{both}"),
            Side::Before => format!("{both}{gap}"),
        };
        let side = self.side.word();
        let title = format!("signal and wait over `{channels}` {side} the {name}{enough}");
        let edits = vec![Edit { span: self.at, text }];
        Fix { title, certainty: Certainty::Sure, edits, import: None }
    }
}

/// The places next to the loops and conditions around a statement of a block, the outermost first.
fn levels(statement: &Statement<'_>, side: Side) -> Vec<Level> {
    let text = Surroundings::new(statement.file, statement.span);
    let headers = text.headers(statement.span.start).unwrap_or_default();
    let block = headers.iter().rposition(|header| text.word(header.word) == "block");
    let inside = block.and_then(|block| headers.get(block + 1..)).unwrap_or_default();
    let kinds = inside.iter().map(|header| text.word(header.word)).collect::<Vec<&str>>();
    let level = |(depth, header): (usize, &Header)| {
        let kind = *kinds.get(depth)?;
        let word = match kind {
            "for" => "loop",
            "if" => "condition",
            _ => return None,
        };
        let is_outer = !kinds.get(..depth)?.contains(&kind);
        let which = match kinds.iter().filter(|other| **other == kind).count() {
            1 => "",
            _ if is_outer => "outermost ",
            _ => "inner ",
        };
        let start = text.start(header.first)?;
        let at = match side {
            Side::After => text.end(end(&text, header)?)?,
            Side::Before => start,
        };
        let at = Span { start: at, end: at, ..statement.span };
        Some(Level { at, side, gap: gap(text.file, start), name: format!("{which}{word}") })
    };
    inside.iter().enumerate().filter_map(level).collect()
}

/// The last token of a loop or a condition, which may have an `else`.
fn end(text: &Surroundings<'_>, header: &Header) -> Option<usize> {
    let mut end = text.closing(header.open)?;
    while text.word(end + 1) == "else" {
        end = text.closing(text.next(end + 2, &["{"])?)?;
    }
    Some(end)
}

/// The families of a list of channels, each as a whole: `a[*], b[*, *]` for `a[p], b[q, 1], a[q]`; none if an operand is
/// anything but a name with or without indices.
fn families(statement: &Statement<'_>, via: &str) -> Option<String> {
    let mut tokens = token::tokens(statement.span.file, via).tokens.into_iter().peekable();
    let mut families: Vec<String> = Vec::new();
    while let Some(name) = tokens.next() {
        let mut family = (name.kind == Kind::Name).then(|| name.text.to_owned())?;
        if tokens.next_if(|token| token.kind.text() == "[").is_some() {
            let (mut depth, mut dimensions) = (1_u32, 1);
            while depth > 0 {
                match tokens.next()?.kind.text() {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => depth -= 1,
                    "," if depth == 1 => dimensions += 1,
                    _ => {}
                }
            }
            family += &format!("[{}]", vec!["*"; dimensions].join(", "));
        }
        if !families.contains(&family) {
            families.push(family);
        }
        match tokens.next() {
            Some(comma) if comma.kind.text() != "," => return None,
            Some(_) | None => {}
        }
    }
    Some(families.join(", "))
}
