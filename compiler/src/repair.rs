//! Edits of the changes that checks have found to help.
//!
//! In: reports and the files that they point to. Out: the same reports, each with a fix where its change is one obvious
//! edit of a file of the author's: statements in the library, in plans, and those whose channels are not said with
//! them stay without. Other fixes are left as they are.

use crate::diagnostic::change::{Change, Side};
use crate::diagnostic::{Certainty, Diagnostic, Edit, Fix};
use crate::source::{Place, SourceFile, SourceMap, Span};
use crate::syntax::token::{self, Kind, Token};

/// How the names of the library's files begin.
const LIBRARY: &str = "std::";

/// Makes fixes of changes.
pub fn repair(sources: &SourceMap, diagnostics: &mut [Diagnostic]) {
    for report in diagnostics.iter_mut().filter(|report| report.fix.is_none()) {
        let fix = report.change.as_ref().and_then(|change| fix(sources, change));
        if let Some(fix) = fix {
            // The fix says it from now on.
            report.helps.retain(|help| *help != fix.title);
            report.fix = Some(fix);
        }
    }
}

fn fix(sources: &SourceMap, change: &Change) -> Option<Fix> {
    let statement = |place: &Place| Statement::new(sources, *place);
    let (edits, certainty) = match change {
        Change::Join { before } => (vec![statement(before)?.before("sync;")], Certainty::Sure),
        Change::Strong { at } => {
            let words = at.iter().map(|place| statement(place)?.without_relaxed());
            (words.collect::<Option<Vec<Edit>>>()?, Certainty::Sure)
        }
        Change::Flush { at } => (vec![statement(at)?.flushed()?], Certainty::Sure),
        Change::Move { what, past, side, .. } => {
            (moved(&statement(what)?, &statement(past)?, *side)?, Certainty::Guess)
        }
        // Where options stand is no statement's matter.
        Change::DoubleScratch => return None,
        Change::Handshake { at, side, relaxed } => {
            (vec![statement(at)?.handshake(*side, *relaxed)?], Certainty::Sure)
        }
    };
    Some(Fix { title: change.title(), certainty, edits })
}

/// A statement of an author's file.
struct Statement<'a> {
    file: &'a SourceFile,
    span: Span,
    text: &'a str,
}

impl<'a> Statement<'a> {
    fn new(sources: &'a SourceMap, place: Place) -> Option<Statement<'a>> {
        let Place::Source(span) = place else { return None };
        let file = sources.files.lookup(span.file)?;
        let text = file.slice(span);
        let own = !file.name.starts_with(LIBRARY) && text.ends_with(';');
        own.then_some(Statement { file, span, text })
    }

    /// The blanks that its line begins with, if it is the first of its line.
    fn indent(&self) -> Option<&'a str> {
        let before = self.file.text.get(..self.span.start as usize)?;
        let line = before.rsplit('\n').next()?;
        line.trim().is_empty().then_some(line)
    }

    /// What stands between this and another statement beside it.
    fn gap(&self) -> String {
        self.indent().map_or_else(|| " ".to_owned(), |indent| format!("\n{indent}"))
    }

    fn before(&self, text: &str) -> Edit {
        Edit { span: self.at(self.span.start), text: format!("{text}{}", self.gap()) }
    }

    fn after(&self, text: &str) -> Edit {
        Edit { span: self.at(self.span.end), text: format!("{}{text}", self.gap()) }
    }

    fn at(&self, offset: u32) -> Span {
        Span { start: offset, end: offset, ..self.span }
    }

    /// Its tokens, with spans in the file.
    fn tokens(&self) -> Vec<Token<'a>> {
        let tokens = token::tokens(self.span.file, self.text).tokens;
        let start = self.span.start;
        let moved = |span: Span| Span { start: span.start + start, end: span.end + start, ..span };
        tokens.into_iter().map(|token| Token { span: moved(token.span), ..token }).collect()
    }

    fn without_relaxed(&self) -> Option<Edit> {
        let tokens = self.tokens();
        let at = tokens.iter().position(|token| token.kind == Kind::Relaxed)?;
        let word = tokens.get(at)?.span;
        let blanks = self.file.text.get(..word.start as usize)?;
        let start = blanks.trim_end_matches([' ', '\t']).len() as u32;
        Some(Edit { span: Span { start, ..word }, text: String::new() })
    }

    fn flushed(&self) -> Option<Edit> {
        let verb = self.tokens().into_iter().next()?;
        let span = verb.after();
        (verb.kind == Kind::PutWithSignal).then(|| Edit { span, text: "_and_flush".to_owned() })
    }

    fn handshake(&self, side: Side, relaxed: bool) -> Option<Edit> {
        let via = self.via()?;
        let word = if relaxed { " relaxed" } else { "" };
        let both = format!("signal {via}{word};{}wait {via}{word};", self.gap());
        Some(match side {
            Side::Before => self.before(&both),
            Side::After => self.after(&both),
        })
    }

    /// The channels that it names.
    fn via(&self) -> Option<&'a str> {
        let tokens = self.tokens();
        let via = tokens.iter().position(|token| token.kind == Kind::Via)?;
        let operands = tokens.get(via + 1..)?;
        let mut depth = 0_u32;
        let mut end = None;
        for (token, next) in operands.iter().zip(operands.iter().skip(1)) {
            match token.kind.text() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            let modifies = token.kind == Kind::Relaxed || next.kind == Kind::Equal;
            if depth == 0 && modifies {
                break;
            }
            end = Some(token.span.end);
        }
        let start = operands.first()?.span.start;
        self.file.text.get(start as usize..end? as usize)
    }

    /// The span to take out where the statement goes elsewhere: its line, or what it takes of one.
    fn whole(&self) -> Span {
        let rest = self.file.text.get(self.span.end as usize..).unwrap_or("");
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let line_ends = rest.get(blanks..).is_some_and(|rest| rest.starts_with('\n'));
        let end = self.span.end + blanks as u32;
        match self.indent().filter(|_| line_ends) {
            Some(indent) => {
                Span { start: self.span.start - indent.len() as u32, end: end + 1, ..self.span }
            }
            None => Span { end, ..self.span },
        }
    }
}

/// A statement goes to the other side of another one beside it.
fn moved(what: &Statement<'_>, past: &Statement<'_>, side: Side) -> Option<Vec<Edit>> {
    let (first, last) = match side {
        Side::After => (what, past),
        Side::Before => (past, what),
    };
    if what.span.file != past.span.file || first.span.end > last.span.start {
        return None;
    }
    let between = Span { start: first.span.end, end: last.span.start, ..what.span };
    let braces = token::tokens(between.file, what.file.slice(between)).tokens;
    if braces.iter().any(|token| matches!(token.kind, Kind::LeftBrace | Kind::RightBrace)) {
        return None;
    }
    let inserted = match side {
        Side::After => past.after(what.text),
        Side::Before => past.before(what.text),
    };
    Some(vec![Edit { span: what.whole(), text: String::new() }, inserted])
}

/// The text with some edits made, which must not overlap; none where they do, or lie beyond its end.
#[must_use]
pub fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in sorted {
        let (start, end) = (edit.span.start as usize, edit.span.end as usize);
        out.push_str(text.get(at..start).filter(|_| start <= end)?);
        out.push_str(&edit.text);
        at = end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;

    /// The text after the change of statements, which are named by their texts.
    fn after(text: &str, change: impl Fn(&dyn Fn(&str) -> Place) -> Change) -> Option<String> {
        let mut sources = SourceMap::default();
        let file = sources.add("a.ccl", text);
        let place = |statement: &str| {
            let start = text.find(statement).expect("it is there") as u32;
            Place::Source(Span { file, start, end: start + statement.len() as u32 })
        };
        let mut report = Diagnostic::without_place(Code::E0501, "m");
        report.change = Some(change(&place));
        report.helps = vec![change(&place).title()];
        repair(&sources, std::slice::from_mut(&mut report));
        assert_eq!(report.fix.is_none(), report.helps.len() == 1);
        apply(text, &report.fix?.edits)
    }

    #[test]
    fn statements_go_before_and_after() {
        let text = "  put a -> b via mem[p, (q)], c sync = none;\n  x; y;";
        let at = |place: &dyn Fn(&str) -> Place, side| Change::Handshake {
            at: place("put a -> b via mem[p, (q)], c sync = none;"),
            side,
            relaxed: side == Side::Before,
        };
        assert_eq!(
            after(text, |place| at(place, Side::After)).unwrap(),
            "  put a -> b via mem[p, (q)], c sync = none;\n  signal mem[p, (q)], c;\n  wait mem[p, (q)], c;\n  x; y;"
        );
        assert_eq!(
            after(text, |place| at(place, Side::Before)).unwrap(),
            "  signal mem[p, (q)], c relaxed;\n  wait mem[p, (q)], c relaxed;\n  put a -> b via mem[p, (q)], c sync = none;\n  x; y;"
        );
        let joined = after(text, |place| Change::Join { before: place("y;") }).unwrap();
        assert!(joined.ends_with("  x; sync; y;"), "{joined}");
    }

    #[test]
    fn words_go_and_come() {
        let text = "signal m relaxed; wait m  relaxed sync = none; put_with_signal a -> b via c;";
        let strong = |place: &dyn Fn(&str) -> Place| Change::Strong {
            at: vec![place("signal m relaxed;"), place("wait m  relaxed sync = none;")],
        };
        assert!(after(text, strong).unwrap().starts_with("signal m; wait m sync = none;"));
        let flush = |place: &dyn Fn(&str) -> Place| Change::Flush {
            at: place("put_with_signal a -> b via c;"),
        };
        assert!(after(text, flush).unwrap().ends_with("put_with_signal_and_flush a -> b via c;"));
    }

    #[test]
    fn a_statement_moves_past_its_neighbors_only() {
        let past = |what: &'static str, past: &'static str, side| {
            move |place: &dyn Fn(&str) -> Place| Change::Move {
                verb: "signal",
                what: place(what),
                past: place(past),
                side,
            }
        };
        let text = "{\n  signal m;\n  put a;\n  for { wait n; }\n}";
        assert_eq!(
            after(text, past("signal m;", "put a;", Side::After)).unwrap(),
            "{\n  put a;\n  signal m;\n  for { wait n; }\n}"
        );
        assert_eq!(
            after(text, past("put a;", "signal m;", Side::Before)).unwrap(),
            "{\n  put a;\n  signal m;\n  for { wait n; }\n}"
        );
        assert_eq!(after(text, past("wait n;", "put a;", Side::Before)), None);
        assert_eq!(after("put a;", |place| Change::Flush { at: place("put a;") }), None);
    }

    #[test]
    fn edits_that_overlap_are_refused() {
        let mut sources = SourceMap::default();
        let file = sources.add("a", "abc");
        let edit = |start, end, text: &str| Edit {
            span: Span { file, start, end },
            text: text.to_owned(),
        };
        assert_eq!(apply("abc", &[edit(2, 3, "x"), edit(0, 1, "")]).as_deref(), Some("bx"));
        assert_eq!(apply("abc", &[edit(0, 2, ""), edit(1, 3, "")]), None);
        assert_eq!(apply("abc", &[edit(2, 9, "")]), None);
    }
}
