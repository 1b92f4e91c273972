//! Edits that order two statements of different blocks: a new semaphore, or a barrier.
//!
//! Edits are made only if the blocks are opened directly in the program, or in loops and pipelines. Statements in
//! procedures, and statements that only some ranks run, are left to the author.

use super::statement::{Statement, gap};
use super::surroundings::{Header, Surroundings};
use crate::diagnostic::Edit;
use crate::diagnostic::change::{Handover, Times};
use crate::source::{SourceFile, Span};

/// Where a release or an acquire goes: around the statement itself, or around the loops that repeat it.
struct Site<'a> {
    start: u32,
    end: u32,
    /// The name of the block.
    block: &'a str,
    /// What the block is a family over: the names and the binders.
    family: Vec<(&'a str, &'a str)>,
}

/// Declares a semaphore, and makes one block release it and another one acquire it.
pub(super) fn hand_over(
    change: &Handover,
    after: &Statement<'_>,
    before: &Statement<'_>,
) -> Option<Vec<Edit>> {
    if after.span.file != before.span.file {
        return None;
    }
    let text = Surroundings::new(after.file, after.span);
    let (from, to) = (site(&text, after, change.times)?, site(&text, before, change.times)?);
    let (family, released, acquired) = members(&from.family, &to.family)?;
    let name = new_name(&text, from.block);
    let initial =
        if change.initial == 0 { String::new() } else { format!(" = {}", change.initial) };
    let insert = |offset: u32, text: String| Edit {
        span: Span { start: offset, end: offset, ..after.span },
        text,
    };
    let (end, declared) = declarations(&text, after.span.start)?;
    Some(vec![
        insert(end, format!("{}semaphore {name}{family}{initial};", gap(text.file, declared))),
        insert(from.end, format!("{}release {name}{released};", gap(text.file, from.start))),
        insert(to.start, format!("acquire {name}{acquired};{}", gap(text.file, to.start))),
    ])
}

/// Declares semaphores between the blocks of a family over a range of numbers. Each block but the last one releases the
/// next one's semaphore at its end, and each but the first one acquires its own at its beginning.
pub(super) fn relay(name: &str, within: &Statement<'_>) -> Option<Vec<Edit>> {
    let text = Surroundings::new(within.file, within.span);
    let headers = text.headers(within.span.start)?;
    let [program, header, ..] = headers.as_slice() else { return None };
    let own = text.word(header.word) == "block" && text.word(header.word + 1) == name;
    if text.word(program.word) != "program" || !own {
        return None;
    }
    let list = family(&text, header, &[])?;
    let [(k, range)] = list.as_slice() else { return None };
    let (first, end) = range.strip_prefix(k)?.trim_start().strip_prefix("in")?.split_once("..")?;
    let (first, end) = (first.trim(), end.trim());
    if end.starts_with(['+', '=']) || end.contains(" if ") {
        return None;
    }
    let close = text.closing(header.open)?;
    let (last, behind) = (close.checked_sub(1)?, text.start(header.open + 1)?);
    let (declared, declaration) = declarations(&text, within.span.start)?;
    let new = new_name(&text, name);
    let second = if first == "0" { "1".to_owned() } else { format!("{first} + 1") };
    let insert = |offset: u32, text: String| Edit {
        span: Span { start: offset, end: offset, ..within.span },
        text,
    };
    let gap = |offset: u32| gap(text.file, offset);
    Some(vec![
        insert(declared, format!("{}semaphore {new}[{k} in {second}..{end}];", gap(declaration))),
        insert(behind, format!("if {k} > {first} {{ acquire {new}[{k}]; }}{}", gap(behind))),
        insert(
            text.end(last)?,
            format!("{}if {k} + 1 < {end} {{ release {new}[{k} + 1]; }}", gap(behind)),
        ),
    ])
}

/// The family of a semaphore, and which of its members are released and acquired: each as text in brackets.
fn members(from: &[(&str, &str)], to: &[(&str, &str)]) -> Option<(String, String, String)> {
    let list = |parts: Vec<&str>| format!("[{}]", parts.join(", "));
    let names = |family: &[(&str, &str)]| list(family.iter().map(|(name, _)| *name).collect());
    let binders = |family: &[(&str, &str)]| list(family.iter().map(|(_, text)| *text).collect());
    let all = |family: &[(&str, &str)]| list(family.iter().map(|_| "*").collect());
    match (from, to) {
        ([], []) => Some(Default::default()),
        (from, []) => Some((binders(from), names(from), all(from))),
        ([], to) => Some((binders(to), all(to), names(to))),
        (from, to) if binders(from) == binders(to) => Some((binders(from), names(from), names(to))),
        (_, _) => None,
    }
}

/// A name that does not occur in the file.
fn new_name(text: &Surroundings<'_>, block: &str) -> String {
    let is_new = |name: &String| text.tokens.iter().all(|token| token.text != name);
    let numbered = (2..).map(|number| format!("{block}_done{number}"));
    let mut names = std::iter::once(format!("{block}_done")).chain(numbered);
    names.find(is_new).unwrap_or_default()
}

fn site<'a>(text: &Surroundings<'a>, statement: &Statement<'a>, times: Times) -> Option<Site<'a>> {
    let headers = text.headers(statement.span.start)?;
    let block = headers.iter().position(|header| text.word(header.word) == "block")?;
    let (around, inside) = (headers.get(1..block)?, headers.get(block + 1..)?);
    let words = |list: &[Header], allowed: &[&str]| {
        list.iter().all(|header| allowed.contains(&text.word(header.word)))
    };
    let in_program = headers.first().is_some_and(|first| text.word(first.word) == "program");
    let allowed = ["for", "pipeline"];
    if !in_program || !words(around, &allowed) || !words(inside, &allowed) {
        return None;
    }
    let header = headers.get(block)?;
    let family = family(text, header, around)?;
    let (start, end) = match (times, inside) {
        (Times::Each, _) | (Times::Once, []) => (statement.span.start, statement.span.end),
        (Times::Once, inside) => around_loops(text, statement, inside)?,
    };
    // A loop around the block repeats it.
    let again = around.iter().any(|header| text.word(header.word) == "for");
    if times == Times::Once && again {
        return None;
    }
    Some(Site { start, end, block: text.word(header.word + 1), family })
}

/// Where nested loops begin and end that contain nothing but one statement.
fn around_loops(
    text: &Surroundings<'_>,
    statement: &Statement<'_>,
    loops: &[Header],
) -> Option<(u32, u32)> {
    let mut starts = loops.iter().map(|header| text.start(header.first));
    let outermost = starts.next()??;
    let mut inner = starts.chain([Some(statement.span.start)]);
    let mut close = text.tokens.iter().position(|token| token.span.start >= statement.span.end)?;
    for header in loops {
        if text.word(header.word) != "for" || text.start(header.open + 1) != inner.next()? {
            return None;
        }
    }
    for header in loops.iter().rev() {
        if text.closing(header.open)? != close {
            return None;
        }
        close += 1;
    }
    Some((outermost, text.end(close.checked_sub(1)?)?))
}

/// What a block is a family over: its own binders, or the loops around it whose variables it is indexed by.
fn family<'a>(
    text: &Surroundings<'a>,
    header: &Header,
    around: &[Header],
) -> Option<Vec<(&'a str, &'a str)>> {
    let bracket = header.word + 2;
    if text.word(bracket) != "[" {
        return Some(Vec::new());
    }
    let close = text.closing(bracket)?;
    let mut family = Vec::new();
    let mut from = bracket + 1;
    while from < close {
        let to = text.next(from, &[",", "]"])?;
        let name = text.word(from);
        if text.word(from + 1) == "in" {
            family.push((name, text.text(from, to)?));
        } else {
            let binds = |header: &&Header| {
                text.word(header.word) == "for" && text.word(header.word + 1) == name
            };
            let own = around.iter().find(binds).filter(|_| to == from + 1)?;
            family.push((name, text.text(own.word + 1, own.open)?));
        }
        from = to + 1;
    }
    Some(family)
}

/// Where the declarations before a program's first block end, and where the last of them begins.
fn declarations(text: &Surroundings<'_>, within: u32) -> Option<(u32, u32)> {
    let program = *text.headers(within)?.first()?;
    let mut at = program.open + 1;
    let mut last = None;
    loop {
        let word = text.word(at);
        let attribute = word == "#";
        let declares =
            ["collective", "options", "scratch", "channel", "semaphore", "let", "require", "block"];
        if !attribute && !declares.contains(&word) {
            return last;
        }
        if attribute {
            at = text.closing(at + 1)? + 1;
            continue;
        }
        let end = match word {
            "options" => text.closing(at + 1)?,
            "block" => match text.next(at, &[";", "{"])? {
                end if text.word(end) == ";" => end,
                _ => return last,
            },
            _ => text.next(at, &[";"])?,
        };
        last = Some((behind_comment(text.file, text.end(end)?), text.start(at)?));
        at = end + 1;
    }
}

/// The end of the line if only a comment follows, since the comment belongs to what is before it.
fn behind_comment(file: &SourceFile, offset: u32) -> u32 {
    let rest = file.text.get(offset as usize..).and_then(|rest| rest.lines().next());
    match rest.filter(|rest| rest.trim_start().starts_with("//")) {
        Some(rest) => offset + rest.trim_end().len() as u32,
        None => offset,
    }
}

/// Puts a barrier between the bodies of two statements; the second statement must be the first one of its body.
pub(super) fn meet(first: &Statement<'_>, second: &Statement<'_>) -> Option<Edit> {
    let text = Surroundings::new(first.file, first.span);
    let (one, _) = body(&text, first)?;
    let (other, header) = body(&text, second)?;
    let start = text.start(header.first)?;
    let is_first = text.start(header.open + 1) == Some(second.span.start);
    if first.span.file != second.span.file || first.span.end > start || !is_first {
        return None;
    }
    // `work[*]` includes a member that is named separately, such as `work[0]`.
    let all = |list: &str, part: &str| {
        list.strip_suffix("[*]").is_some_and(|name| {
            part.strip_prefix(name).is_some_and(|rest| rest.starts_with('[') && !part.contains(','))
        })
    };
    let blocks = match (all(&one, &other), all(&other, &one)) {
        (true, _) => one,
        (false, true) => other,
        (false, false) => format!("{one}, {other}"),
    };
    let span = Span { start, end: start, ..second.span };
    Some(Edit { span, text: format!("barrier {blocks};{}", gap(text.file, start)) })
}

/// The blocks of the body that a statement is in, and the header of that body, which must be directly in the program.
fn body(text: &Surroundings<'_>, statement: &Statement<'_>) -> Option<(String, Header)> {
    let headers = text.headers(statement.span.start)?;
    let [program, header] = headers.as_slice() else { return None };
    if text.word(program.word) != "program" {
        return None;
    }
    let blocks = match text.word(header.word) {
        "group" => text.text(header.word + 1, header.open)?.to_owned(),
        "block" => {
            let name = text.word(header.word + 1);
            let written = text.text(header.word + 1, header.open)?;
            match family(text, header, &[]) {
                Some(dimensions) if dimensions.is_empty() => name.to_owned(),
                Some(dimensions) => {
                    let all: Vec<&str> = dimensions.iter().map(|_| "*").collect();
                    format!("{name}[{}]", all.join(", "))
                }
                // One block that is named separately: `work[0]`.
                None if !written.contains(" in ") => written.to_owned(),
                None => return None,
            }
        }
        _ => return None,
    };
    Some((blocks, *header))
}
