//! Makes the brackets of a token sequence match, so that the parser never loses its place.
//!
//! In: the tokens of a file. Out: the same tokens, with missing closing brackets inserted and those that close
//! nothing removed, and a report for each. Tokens that nest too deep are removed, too, so that no later phase runs
//! out of stack. The rules:
//!
//! - A round or square bracket ends in its own statement: at `;`, at `->`, at a word that begins a statement.
//! - Braces match as they come, or by indentation: a `}` belongs to the line that has the same indentation. The
//!   caller tries the second way if the first leads nowhere.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

mod report;

use super::fault::{Fault, colon_for_brace};
use super::foreign;
use super::lookahead::{
    MAX_LOOK, begins_statement, begins_surely, behind, closes, encloses_statement, ends_element,
    ends_value, expects_value_after, holds_statements, is_operator, takes_body,
};
use super::token::{Kind, Token};
use report::{
    add_closer, list_in_parentheses, missing_brace, missing_closer, stray_closer, too_deep,
    wrong_closer,
};

/// How deep brackets, operators and `else if` may nest.
pub const MAX_DEPTH: u32 = 256;

/// Tokens whose brackets match.
#[derive(Clone, Debug)]
pub struct Balanced<'t> {
    /// The tokens.
    pub tokens: Vec<Token<'t>>,
    /// What had to be inserted or removed.
    pub faults: Vec<Fault>,
    /// How many braces of bodies have no match.
    pub lone_braces: usize,
    /// The offsets of the braces that open bodies, in order.
    pub bodies: Vec<u32>,
    /// Whether every `}` at the beginning of a line is indented like the line of its `{`.
    pub is_aligned: bool,
}

/// Makes the brackets match; with `by_indentation`, braces are matched by the indentation of their lines.
#[must_use]
pub fn balance<'t>(tokens: &[Token<'t>], by_indentation: bool) -> Balanced<'t> {
    let Balance { out, insertions, faults, lone_braces, is_aligned, bodies, .. } =
        Balance::run(tokens, by_indentation);
    let tokens = with_insertions(out, insertions);
    Balanced { tokens, faults, lone_braces, bodies, is_aligned }
}

/// What an open bracket encloses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// `(` or `[`
    Bracket,
    /// The brace of a set, of a map, or of a value of an `if` expression.
    Value,
    /// The brace around statements or declarations.
    Body,
}

/// An open bracket.
struct Open<'t> {
    frame: Frame,
    closer: Kind,
    token: Token<'t>,
    /// Where indentation suggests its closer: the first line that is indented no further than its own.
    dedent: Option<usize>,
    /// How many operators enclose the current place.
    chain: u32,
    waiting: Waiting,
    each: Each,
    /// Whether it is a parenthesis that encloses a single value.
    holds_one: bool,
    /// Whether it is where only a whole value can be, so that a comma in it is that of a list.
    is_whole: bool,
    /// Whether it holds only settings, and no statements.
    settings: bool,
    /// Whether it ended with its statement, at a `;`.
    is_ended: bool,
    role: Role,
}

/// Special roles of an open bracket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// No special role.
    Plain,
    /// It holds names to import.
    Import,
    /// It holds the links that a machine lacks: `without [0 -> 1]`.
    Links,
    /// It is the parenthesis of a `for` or of options as other languages write them, with `;` inside; it is reported as
    /// what it is.
    Turns,
    /// It is the parenthesis around all that follows the first word of a statement, as in a call; it is reported as
    /// what it is.
    Statement,
    /// Its `{` is missing or was written as `:`, which has been reported. It ends with the lines that are indented
    /// further: a body without its `{` usually has no `}` either. The report is the one at this index.
    Unopened(usize),
}

/// Parts of `if` expressions that still wait for their brace.
#[derive(Clone, Copy, Default)]
struct Waiting {
    /// How many `if` still wait for the brace of their first value.
    ifs: u32,
    /// How many `else` that are not followed by `{` or `if`.
    elses: u32,
}

/// Whether a bracket holds an operand for each value of a list: `(p in peers: p.input[0])`. No comma can follow the
/// value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Each {
    No,
    Binders,
    Value,
}

/// The walk through the tokens.
struct Balance<'t> {
    guided: bool,
    out: Vec<Token<'t>>,
    /// Tokens to be inserted, each before the token of that index in `out`.
    insertions: Vec<(usize, Token<'t>)>,
    faults: Vec<Fault>,
    open: Vec<Open<'t>>,
    lone_braces: usize,
    bodies: Vec<u32>,
    is_aligned: bool,
    /// Whether a part that was too deep extends to the end of the text: then the closers of the brackets around it
    /// were not read.
    is_cut: bool,
    /// The number of operators outside all brackets.
    chain: u32,
    /// The parts of `if` expressions that wait outside all brackets.
    waiting: Waiting,
    /// The frame of the bracket that was closed last.
    closed: Frame,
    /// The number of operators around it.
    chain_before: u32,
    /// Whether the last `else` belongs to an expression.
    value_else: bool,
}

impl<'t> Balance<'t> {
    fn run(tokens: &[Token<'t>], guided: bool) -> Balance<'t> {
        let mut state = Balance {
            guided,
            out: Vec::with_capacity(tokens.len() + 8),
            insertions: Vec::new(),
            faults: Vec::new(),
            open: Vec::new(),
            lone_braces: 0,
            bodies: Vec::new(),
            is_aligned: true,
            is_cut: false,
            chain: 0,
            waiting: Waiting::default(),
            closed: Frame::Body,
            chain_before: 0,
            value_else: false,
        };
        let mut rest = tokens;
        while let Some(token) = rest.first() {
            rest = state.step(*token, rest);
        }
        let said = state.faults.len();
        while let Some(top) = state.open.last() {
            state.lone_braces += usize::from(top.frame == Frame::Body);
            state.close_missing();
        }
        if state.is_cut {
            state.faults.truncate(said);
        }
        state
    }

    /// Takes the token at the head of `rest`, and returns what is to be read next.
    fn step<'a>(&mut self, token: Token<'t>, rest: &'a [Token<'t>]) -> &'a [Token<'t>] {
        let after = rest.get(1..).unwrap_or_default();
        if self.guided && token.first {
            self.note_dedent(token, rest);
            self.open_missing(token, rest);
        }
        if self.ends_brackets(token, rest) {
            if let Some(top) = self.open.last_mut().filter(|_| token.kind == Kind::Semicolon) {
                top.is_ended = true;
            }
            let is_list = self.open.last().is_some_and(|top| top.is_whole);
            match is_list && token.kind == Kind::Comma && closes(rest, Kind::RightParen) {
                true => self.close_list(token),
                false => self.close_missing(),
            }
            while self.in_value() && token.kind != Kind::Comma {
                self.close_missing();
            }
        }
        let in_settings = self.open.last().is_some_and(|top| top.settings);
        if token.first && in_settings && begins_surely(rest) {
            self.lone_braces += 1;
            self.close_missing();
        }
        if is_else(token) && self.closed == Frame::Body {
            *self.chain() = self.chain_before;
        }
        if is_else(token) || is_link(token.kind, self.out.last()) {
            *self.chain() += 1;
        }
        if self.depth() > MAX_DEPTH && !ends_element(token.kind) {
            self.note(too_deep(token));
            return self.skip_deep(rest);
        }
        match token.kind {
            Kind::LeftParen => self.open_parenthesis(token, rest),
            Kind::LeftBracket => self.open(Frame::Bracket, Kind::RightBracket, token),
            Kind::LeftBrace => self.open_brace(token, after),
            Kind::RightParen | Kind::RightBracket => self.close_bracket(token),
            Kind::RightBrace if self.ends_unopened_value(token, after) => {}
            Kind::RightBrace => self.close_brace(token, after),
            _ => self.plain(token, after),
        }
        after
    }

    /// Handles a token that is no bracket.
    fn plain(&mut self, token: Token<'t>, after: &[Token<'t>]) {
        match token.kind {
            Kind::Semicolon => {
                *self.chain() = 0;
                *self.waiting() = Waiting::default();
            }
            Kind::Comma => *self.chain() = 0,
            Kind::If if self.expects_value() => self.waiting().ifs += 1,
            Kind::In | Kind::Colon => {
                if let Some(top) = self.open.last_mut().filter(|top| top.frame != Frame::Body) {
                    top.each = match (token.kind, top.each) {
                        (Kind::In, Each::No) => Each::Binders,
                        (Kind::Colon, Each::Binders) => Each::Value,
                        (_, each) => each,
                    };
                }
            }
            Kind::Else => {
                self.value_else = self.closed == Frame::Value;
                let next = after.first().map(|next| next.kind);
                let opens = matches!(next, Some(Kind::LeftBrace | Kind::If));
                self.waiting().elses += u32::from(self.value_else && !opens);
            }
            _ => {}
        }
        self.out.push(token);
    }

    fn chain(&mut self) -> &mut u32 {
        self.open.last_mut().map_or(&mut self.chain, |top| &mut top.chain)
    }

    fn waiting(&mut self) -> &mut Waiting {
        self.open.last_mut().map_or(&mut self.waiting, |top| &mut top.waiting)
    }

    fn depth(&self) -> u32 {
        self.open.iter().map(|open| open.chain + 1).sum::<u32>() + self.chain
    }

    fn in_value(&self) -> bool {
        self.open.last().is_some_and(|top| top.frame != Frame::Body)
    }

    /// Whether a value is expected after what has been read.
    fn expects_value(&self) -> bool {
        if self.follows_every() {
            return false;
        }
        let mut before = self.out.iter().rev().map(|token| token.kind);
        let last = before.next().unwrap_or(Kind::Semicolon);
        // In other languages: `block main: {`, `options = {`, `1 => {`, `i++ {`.
        let is_no_value = match (before.next(), last) {
            (_, Kind::Colon) => !self.in_value(),
            (Some(Kind::Options), Kind::Equal) | (Some(Kind::Equal), Kind::Greater) => true,
            (Some(Kind::Plus), Kind::Plus) => true,
            _ => false,
        };
        if is_no_value {
            return false;
        }
        let in_set = self.open.last().is_some_and(|top| top.frame == Frame::Value);
        (last == Kind::Else && self.value_else)
            || (last == Kind::LeftBrace && in_set)
            || expects_value_after(last)
    }

    /// Whether the last token is the `*` of all indices, rather than that of a product.
    fn follows_every(&self) -> bool {
        matches!(self.out.as_slice(), [.., before, star]
            if matches!(before.kind, Kind::LeftBracket | Kind::Comma) && star.kind == Kind::Star)
    }

    fn open(&mut self, frame: Frame, closer: Kind, token: Token<'t>) {
        if frame == Frame::Body {
            self.bodies.push(token.span.start);
        }
        let last = self.out.last().map_or(Kind::Semicolon, |last| last.kind);
        let settings = last == Kind::Options;
        let holds_one = token.kind == Kind::LeftParen && expects_value_after(last);
        let is_whole = holds_one && matches!(last, Kind::Equal | Kind::In);
        self.out.push(token);
        let (dedent, each) = (None, Each::No);
        let (chain, waiting) = (0, Waiting::default());
        let role = match (last, token.kind) {
            (Kind::PathSeparator, _) => Role::Import,
            (Kind::Without, _) => Role::Links,
            (Kind::For | Kind::Options, Kind::LeftParen) => Role::Turns,
            _ => Role::Plain,
        };
        let is_ended = false;
        self.open.push(Open {
            frame,
            closer,
            token,
            dedent,
            chain,
            waiting,
            each,
            holds_one,
            is_whole,
            settings,
            is_ended,
            role,
        });
    }

    fn open_parenthesis(&mut self, token: Token<'t>, rest: &[Token<'t>]) {
        let encloses = self.out.last().is_some_and(|last| takes_no_parentheses(last.kind))
            && encloses_statement(rest);
        self.open(Frame::Bracket, Kind::RightParen, token);
        if let Some(top) = self.open.last_mut().filter(|_| encloses) {
            top.role = Role::Statement;
        }
    }

    /// Decides whether a brace belongs to a body or to a value.
    fn open_brace(&mut self, token: Token<'t>, after: &[Token<'t>]) {
        let imports = self.out.last().is_some_and(|last| last.kind == Kind::PathSeparator);
        if imports || self.expects_value() && !holds_statements(after) {
            return self.open(Frame::Value, Kind::RightBrace, token);
        }
        if let Some(fewer) = self.waiting().ifs.checked_sub(1) {
            self.waiting().ifs = fewer;
            return self.open(Frame::Value, Kind::RightBrace, token);
        }
        while self.in_value() {
            self.close_missing();
        }
        self.open(Frame::Body, Kind::RightBrace, token);
    }

    /// Whether no bracket of a statement can be open at this token.
    fn ends_brackets(&self, token: Token<'t>, rest: &[Token<'t>]) -> bool {
        let Some(top) = self.open.last().filter(|top| top.frame != Frame::Body) else {
            return false;
        };
        let follows_value =
            self.out.last().is_some_and(|last| ends_value(last.kind)) || self.follows_every();
        match token.kind {
            // A list comprehension as other languages write it: reported with its bracket closed.
            Kind::For if !token.first && closes(rest, top.closer) => false,
            Kind::Semicolon if top.role == Role::Turns => behind(rest.iter(), top.closer).is_none(),
            Kind::Comma | Kind::Relaxed if top.role == Role::Statement => false,
            Kind::Arrow if top.role == Role::Links => false,
            Kind::Semicolon | Kind::Arrow | Kind::Via | Kind::Relaxed => true,
            Kind::Equal => top.closer == Kind::RightBracket,
            Kind::Comma => top.each == Each::Value || (top.each == Each::No && top.holds_one),
            Kind::If => false,
            Kind::Op | Kind::Sync | Kind::Slice | Kind::To if follows_value => {
                let next = rest.get(1).map(|next| next.kind);
                next == Some(Kind::Equal)
                    || (token.kind == Kind::To && next.is_some_and(Kind::is_name))
            }
            _ if follows_value => begins_statement(rest),
            _ => token.first && begins_surely(rest),
        }
    }

    /// `)` or `]`
    fn close_bracket(&mut self, token: Token<'t>) {
        let values = self.open.iter().rev().take_while(|open| open.frame != Frame::Body);
        if values.clone().any(|open| open.closer == token.kind) {
            while self.open.last().is_some_and(|top| top.closer != token.kind) {
                self.close_missing();
            }
            return self.close(token);
        }
        match self.open.last().map(|top| (top.frame, top.closer, wrong_closer(top, token))) {
            Some((Frame::Bracket, kind, fault)) => {
                self.note(fault);
                self.close(Token { kind, ..token });
            }
            _ => self.note(stray_closer(token, false)),
        }
    }

    /// Drops a `}` after a value of an `if` expression whose `{` is missing; the parser reports the missing brace.
    fn ends_unopened_value(&mut self, token: Token<'t>, after: &[Token<'t>]) -> bool {
        let goes_on = |next: &&Token<'_>| !token.first && !next.first;
        let next = after.first().filter(goes_on).map(|next| next.kind);
        let waiting = self.waiting();
        match next {
            Some(Kind::Else) if waiting.ifs > 0 => {
                waiting.ifs -= 1;
                self.closed = Frame::Value;
            }
            Some(next) if waiting.elses > 0 && next != Kind::RightBrace => waiting.elses -= 1,
            _ => return false,
        }
        true
    }

    /// `}`
    fn close_brace(&mut self, token: Token<'t>, after: &[Token<'t>]) {
        let values = self.open.iter().rev().take_while(|open| open.frame != Frame::Body);
        let is_value = values.clone().any(|open| open.frame == Frame::Value);
        while self.open.last().is_some_and(|top| top.frame == Frame::Bracket) {
            self.close_missing();
        }
        if is_value {
            return self.close(token);
        }
        if self.guided && token.first {
            self.follow_indentation(token);
        }
        match self.open.last() {
            Some(top) if !self.guided || !self.closes_another(top, token) => {
                self.is_aligned &= !token.first || top.token.indent == token.indent;
                self.close(token);
            }
            _ => self.close_unopened(token, after),
        }
    }

    /// Closes the bodies that are indented further than this `}`, if some open body is indented like it.
    fn follow_indentation(&mut self, token: Token<'t>) {
        if !self.open.iter().any(|open| open.token.indent == token.indent) {
            return;
        }
        while self.open.last().is_some_and(|top| top.token.indent > token.indent) {
            self.close_missing();
        }
    }

    /// Whether a `}` cannot be the end of the innermost body.
    fn closes_another(&self, top: &Open<'t>, token: Token<'t>) -> bool {
        if token.first {
            return token.indent > top.token.indent;
        }
        // At the end of a line that begins with a word that takes a body (such as `for`) and opens none itself, if
        // that line is inside the innermost body.
        let line = self.out.iter().rev().take(MAX_LOOK).take_while(|t| !t.first).count();
        let start = self.out.len().saturating_sub(line + 1);
        let opened = top.token.span.start;
        self.out
            .get(start)
            .is_some_and(|head| head.span.start > opened && head.first && takes_body(head.kind))
    }

    /// Handles a `}` without `{`: if an earlier line with the same indentation takes a body, its `{` is missing.
    fn close_unopened(&mut self, token: Token<'t>, after: &[Token<'t>]) {
        self.lone_braces += 1;
        let bottom = self.open.last().map_or(0, |top| top.token.span.end);
        let near = self.out.len().saturating_sub(MAX_LOOK);
        let lines = self.out.get(near..).unwrap_or_default();
        let head = lines.iter().rposition(|t| {
            t.first && t.indent == token.indent && t.span.start >= bottom && takes_body(t.kind)
        });
        let head = head.map(|head| head + near);
        let Some(end) = head.filter(|_| self.guided).and_then(|head| self.end_of_header(head))
        else {
            let before_else = after.first().is_some_and(|next| next.kind == Kind::Else);
            return self.note(stray_closer(token, before_else));
        };
        let Some(last) = self.out.get(end - 1).copied() else { return };
        self.faults.push(missing_brace(last));
        self.insert(end, made(Kind::LeftBrace, last));
        self.out.push(token);
        self.end_body(Frame::Body);
    }

    /// Where the header line of a statement ends that should have opened a body; none if it has opened one.
    fn end_of_header(&self, head: usize) -> Option<usize> {
        let mut end = head + 1;
        let mut depth = 0u32;
        while let Some(token) = self.out.get(end) {
            let inner = self.out.get(end..).unwrap_or_default();
            if depth == 0 && (token.first || begins_statement(inner)) {
                break;
            }
            match token.kind {
                Kind::LeftBrace
                    if depth == 0 && !expects_value_after(self.out.get(end - 1)?.kind) =>
                {
                    return None;
                }
                Kind::LeftBrace => depth += 1,
                Kind::RightBrace => depth = depth.checked_sub(1)?,
                _ => {}
            }
            end += 1;
        }
        Some(end)
    }

    /// Inserts the `{` after a line that takes a body and has none, if the next line is a statement that is indented
    /// further.
    fn open_missing(&mut self, token: Token<'t>, rest: &[Token<'t>]) {
        let Some(last) = self.out.last().copied() else { return };
        let near = self.out.len().saturating_sub(MAX_LOOK);
        let line = self.out.get(near..).unwrap_or_default();
        let Some(head) = line.iter().rposition(|token| token.first) else { return };
        let begins =
            |at: usize| line.get(at).is_some_and(|word| takes_body(word.kind) || is_else(*word));
        let wants = line.get(head).is_some_and(|first| {
            let goes_on = first.kind == Kind::RightBrace && begins(head + 1);
            (begins(head) || goes_on)
                && first.indent < token.indent
                && last.span.end > self.opened()
        });
        let is_whole = !matches!(last.kind, Kind::Semicolon | Kind::LeftBrace | Kind::RightBrace);
        if wants && is_whole && begins_statement(rest) && self.end_of_header(near + head).is_some()
        {
            while self.in_value() {
                self.close_missing();
            }
            let Some(last) = self.out.last().copied() else { return };
            let fault = self.faults.len();
            if last.kind == Kind::Colon {
                self.out.pop();
                self.note(colon_for_brace(last.span));
                self.open(Frame::Body, Kind::RightBrace, Token { kind: Kind::LeftBrace, ..last });
            } else {
                self.faults.push(missing_brace(last));
                self.open(Frame::Body, Kind::RightBrace, made(Kind::LeftBrace, last));
            }
            if let Some(open) = self.open.last_mut() {
                open.role = Role::Unopened(fault);
            }
        }
    }

    /// Where the innermost open body begins.
    fn opened(&self) -> u32 {
        let bodies = self.open.iter().rev().find(|open| open.frame == Frame::Body);
        bodies.map_or(0, |open| open.token.span.end)
    }

    /// Notes where indentation suggests that the innermost bodies end.
    fn note_dedent(&mut self, token: Token<'t>, rest: &[Token<'t>]) {
        let here = self.out.len();
        if token.kind != Kind::RightBrace && !is_else(token) {
            let deeper = self.open.iter_mut().rev().filter(|open| open.frame == Frame::Body);
            for open in deeper.take_while(|open| open.token.indent >= token.indent) {
                open.dedent.get_or_insert(here);
            }
        }
        let ends = |open: &Open<'_>| {
            matches!(open.role, Role::Unopened(_)) && open.token.indent >= token.indent
        };
        while is_else(token) && self.open.last().is_some_and(ends) {
            self.close_missing();
        }
        let begins_item = match token.kind {
            Kind::Program | Kind::Proc | Kind::Fn | Kind::Use => true,
            Kind::Collective | Kind::Topology => opens_body(rest),
            _ => false,
        };
        while begins_item && self.open.last().is_some_and(|top| top.token.indent >= token.indent) {
            self.close_missing();
        }
    }

    /// Takes a closing bracket that matches.
    fn close(&mut self, token: Token<'t>) {
        self.out.push(token);
        let frame = self.open.pop().map_or(Frame::Body, |open| open.frame);
        self.end_body(frame);
    }

    /// Notes that a bracket has been closed. A statement ends with its body, unless `else` follows.
    fn end_body(&mut self, frame: Frame) {
        self.closed = frame;
        if frame == Frame::Body {
            self.chain_before = std::mem::take(self.chain());
        }
    }

    /// Notes a fault; everything in `out` has been read by then.
    fn note(&mut self, fault: Fault) {
        let read = self.out.last().map_or(0, |last| last.span.end);
        self.faults.push(Fault { read, ..fault });
    }

    fn insert(&mut self, at: usize, token: Token<'t>) {
        if at == self.out.len() {
            self.out.push(token);
        } else {
            self.insertions.push((at, token));
        }
    }

    /// Closes a parenthesis before the `,` of a list in it.
    fn close_list(&mut self, comma: Token<'t>) {
        let Some(open) = self.open.pop() else { return };
        let Some(last) = self.out.last().copied() else { return };
        self.faults.push(list_in_parentheses(&open, comma));
        self.insert(self.out.len(), made(open.closer, last));
        self.end_body(open.frame);
    }

    /// Inserts a missing closing bracket.
    fn close_missing(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let comma = self.out.last().is_some_and(|last| last.kind == Kind::Comma);
        let end = self.out.len() - usize::from(comma && open.frame != Frame::Body);
        let at = open.dedent.unwrap_or(end);
        let Some(last) = at.checked_sub(1).and_then(|i| self.out.get(i)).copied() else { return };
        match open.role {
            Role::Unopened(fault) => {
                if let Some(fault) = self.faults.get_mut(fault) {
                    add_closer(fault, &open, last);
                }
            }
            Role::Plain | Role::Import | Role::Links | Role::Turns | Role::Statement => {
                self.faults.push(missing_closer(&open, last));
            }
        }
        self.insert(at, made(open.closer, last));
        self.end_body(open.frame);
    }

    /// Skips a part that is too deep, up to the end of the bracket or list element that it is in.
    fn skip_deep<'a>(&mut self, rest: &'a [Token<'t>]) -> &'a [Token<'t>] {
        let mut depth = 0u32;
        let mut left = rest;
        while let Some(token) = left.first() {
            match token.kind {
                Kind::LeftParen | Kind::LeftBracket | Kind::LeftBrace => depth += 1,
                kind if depth == 0 && ends_element(kind) => break,
                Kind::RightParen | Kind::RightBracket | Kind::RightBrace => depth -= 1,
                _ => {}
            }
            left = left.get(1..).unwrap_or_default();
        }
        *self.chain() = 0;
        self.is_cut |= left.is_empty();
        left
    }
}

/// Merges the insertions into the tokens; insertions at one place keep their order.
fn with_insertions<'t>(
    tokens: Vec<Token<'t>>,
    mut insertions: Vec<(usize, Token<'t>)>,
) -> Vec<Token<'t>> {
    if insertions.is_empty() {
        return tokens;
    }
    insertions.sort_by_key(|(at, _)| *at);
    let mut pending = insertions.into_iter().peekable();
    let mut out = Vec::with_capacity(tokens.len() + pending.len());
    for (i, token) in tokens.into_iter().enumerate() {
        while let Some((_, inserted)) = pending.next_if(|(at, _)| *at <= i) {
            out.push(inserted);
        }
        out.push(token);
    }
    out.extend(pending.map(|(_, inserted)| inserted));
    out
}

/// Whether a token makes the tree one level deeper: an operator, `.`, a call or index after another one, `else`.
fn is_link(kind: Kind, last: Option<&Token<'_>>) -> bool {
    match kind {
        Kind::Dot => true,
        Kind::LeftParen | Kind::LeftBracket => {
            last.is_some_and(|last| matches!(last.kind, Kind::RightParen | Kind::RightBracket))
        }
        _ => is_operator(kind),
    }
}

/// `else`, or a word that other languages have for `else if`.
fn is_else(token: Token<'_>) -> bool {
    token.kind == Kind::Else || (token.kind == Kind::Name && foreign::is_else_if(token.text))
}

/// Whether what follows such a first word of a statement is not a single operand in general, and never has parentheses
/// around all of it.
fn takes_no_parentheses(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Require
            | Kind::Barrier
            | Kind::Signal
            | Kind::Wait
            | Kind::Acquire
            | Kind::Release
            | Kind::Flush
    )
}

/// Whether `{` comes before `;`.
fn opens_body(rest: &[Token<'_>]) -> bool {
    rest.iter()
        .take(MAX_LOOK)
        .map(|token| token.kind)
        .find(|kind| matches!(kind, Kind::LeftBrace | Kind::Semicolon))
        == Some(Kind::LeftBrace)
}

/// A token that the author left out, after `last`.
fn made<'t>(kind: Kind, last: Token<'t>) -> Token<'t> {
    Token { kind, first: false, indent: last.indent, span: last.after(), text: "" }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Code;
    use crate::source::SourceMap;

    #[test]
    fn what_nests_too_deep_is_reported_once_and_left_out() {
        for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("f(1, ", ", 2)")] {
            let text = format!("let a = {}1{};\nlet b = 2;\n", open.repeat(300), close.repeat(300));
            let file = SourceMap::default().add("deep.ccl", text.as_str());
            let (tree, diagnostics) = crate::syntax::parse(file, &text);
            let codes: Vec<Code> = diagnostics.iter().map(|report| report.code).collect();
            assert_eq!(codes, [Code::E0109], "{open}");
            assert_eq!(tree.items.len(), 2, "{open}");
        }
    }
}
