//! Hover: the meaning of a word, the definition of a name, the value of an expression on each rank, and the
//! operations that a statement becomes.

use crate::analysis::{Analysis, Part, Semantics};
use crate::concrete::{self, Concrete};
use crate::database::Resolved;
use crate::declared::{self, Declared};
use crate::directive::{self, Assignment, Fate};
use crate::features::plain;
use crate::nodes::Node;
use crate::operations::{self, Done, counted};
use crate::settings;
use crate::typed;
use crate::values::{self, Values};
use compiler::bytes;
use compiler::diagnostic::Code;
use compiler::elaborate::observe::ObservedValue;
use compiler::ir;
use compiler::machine::{Machine, Path, PathText, Vertex};
use compiler::source::{FileId, Span};
use compiler::syntax::ast::{ExprKind, Item, ItemKind, ProgramItemKind, StmtKind, UseRoot};
use compiler::syntax::token::{Class, Kind, tokens};
use grammar::Kind as WordKind;
use grammar::forms::{HEAD, forms};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What can follow `op =`.
const REDUCTIONS: [(&str, &str); 3] = [
    ("sum", "the values of all sources are added"),
    ("min", "the smallest of the values of all sources is kept"),
    ("max", "the largest of the values of all sources is kept"),
];

/// The hover text for an offset.
#[must_use]
pub fn hover(analysis: &Analysis<'_>, offset: u32) -> Option<Hover> {
    let part = analysis.part_at(offset)?;
    let text = part.declaration.text(analysis.database);
    let at = offset - part.start;
    let word = word_at(&text, at).or_else(|| set_at(&text, at))?;
    let context = Context::new(analysis, part, word)?;
    let paragraphs = context.paragraphs();
    if paragraphs.is_empty() {
        return None;
    }
    let value = paragraphs.join("\n\n");
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
        range: Some(analysis.lines.range(part.range(word.span))),
    })
}

/// The same text for a client that shows it as plain text.
#[must_use]
pub fn unmarked(hover: Hover) -> Hover {
    match hover.contents {
        HoverContents::Markup(MarkupContent { value, .. }) => {
            let value = plain::plain(&value);
            let contents = MarkupContent { kind: MarkupKind::PlainText, value };
            Hover { contents: HoverContents::Markup(contents), ..hover }
        }
        HoverContents::Scalar(_) | HoverContents::Array(_) => hover,
    }
}

/// The token under the cursor.
#[derive(Clone, Copy)]
struct Word<'t> {
    kind: Kind,
    text: &'t str,
    span: Span,
    /// Whether it follows `op =`.
    reduces: bool,
}

/// The token at an offset; if two touch there, a word or number is preferred to punctuation.
fn word_at(text: &str, offset: u32) -> Option<Word<'_>> {
    let all = tokens(FileId(0), text).tokens;
    let touching = all.iter().enumerate().filter(|(_, token)| {
        token.span.start <= offset && offset <= token.span.end && !token.text.is_empty()
    });
    let words = touching.map(|(at, token)| {
        let before = all.get(..at).unwrap_or_default();
        let reduces = matches!(before, [.., op, equal] if op.text == "op" && equal.text == "=");
        Word { kind: token.kind, text: token.text, span: token.span, reduces }
    });
    let plain = |word: &Word<'_>| {
        word.kind.class() != Class::Mark || matches!(word.kind, Kind::Int | Kind::Str)
    };
    words.max_by_key(|word| (plain(word), word.span.start))
}

/// The name at an offset in a comment that sets parameters of the program below it.
fn set_at(text: &str, offset: u32) -> Option<Word<'_>> {
    let comments = directive::comments(text, true).into_iter();
    let counting = comments.filter(|comment| comment.fate == Fate::Counts);
    let mut set = counting.flat_map(|comment| comment.assignments());
    set.find_map(|(start, Assignment { name, .. })| {
        let span = Span { file: FileId(0), start: start as u32, end: (start + name.len()) as u32 };
        let here = span.start <= offset && offset <= span.end;
        here.then_some(Word { kind: Kind::Comment, text: name, span, reduces: false })
    })
}

/// Everything known around the cursor.
struct Context<'a, 'db> {
    analysis: &'a Analysis<'db>,
    part: Part<'db>,
    semantics: Semantics<'db>,
    concrete: Arc<Concrete>,
    parsed: Arc<crate::database::Parsed>,
    word: Word<'a>,
}

impl<'a, 'db> Context<'a, 'db> {
    fn new(analysis: &'a Analysis<'db>, part: Part<'db>, word: Word<'a>) -> Option<Self> {
        let semantics = analysis.semantics(part);
        let concrete = concrete::concrete(analysis.database, part.declaration);
        let parsed = analysis.parsed(part);
        Some(Context { analysis, part, semantics, concrete, parsed, word })
    }

    fn paragraphs(&self) -> Vec<String> {
        let path = self.path();
        if self.word.kind == Kind::Comment {
            return self.parameter().unwrap_or_default();
        }
        let place = self.semantics.place(self.word.span);
        let definition = declared::definition(&self.semantics, place);
        let verb = forms(self.word.text).next().is_some() && self.is_verb(&path);
        if let Some(definition) = definition.filter(|_| !verb) {
            return self.name(&path, definition);
        }
        if verb || self.word.kind.class() == Class::Reserved {
            return self.operation(&path);
        }
        if let Some(expr) = self.expression(&path) {
            return self.expr(expr);
        }
        self.module(&path).or_else(|| self.word_text()).into_iter().collect()
    }

    /// The text for a parameter that a comment sets.
    fn parameter(&self) -> Option<Vec<String>> {
        let Resolved { unit, .. } = &*self.semantics.resolved;
        let program = &unit.programs[self.semantics.resolved.program()?];
        Some(self.name(&[], settings::parameter(program, self.word.text)?.span))
    }

    /// The documentation of the file that an import names.
    fn module(&self, path: &[Node<'_>]) -> Option<String> {
        let Some(Node::Item(Item { kind: ItemKind::Use(used), .. })) = path.first() else {
            return None;
        };
        let is = |span: Span| span == self.word.span;
        let named = used.path.iter().any(|name| is(name.span))
            || matches!(&used.root, UseRoot::File(path) if is(path.span));
        if !named {
            return None;
        }
        declared::of_file(self.analysis, &self.analysis.imported(used)?)
    }

    fn path(&self) -> Vec<Node<'_>> {
        let at = self.word.span.start;
        let items = self.parsed.file.items.iter();
        let item = items.into_iter().find(|item| item.span.start <= at && at <= item.span.end);
        item.map(|item| Node::Item(item).path(at)).unwrap_or_default()
    }

    /// Whether the cursor is on the verb of a statement.
    fn is_verb(&self, path: &[Node<'_>]) -> bool {
        statement(path).is_some_and(|(_, span)| span.start == self.word.span.start)
    }

    /// The documentation of a word of the language; punctuation has none.
    fn word_text(&self) -> Option<String> {
        if let Some(code) = Code::parse(self.word.text) {
            return Some(explained(code));
        }
        let reduction = REDUCTIONS.iter().find(|(text, _)| *text == self.word.text);
        if let Some((text, doc)) = reduction.filter(|_| self.word.reduces) {
            return Some(format!("`{text}`: {doc}"));
        }
        let found = self.meaning()?;
        let punctuation = matches!(found.kind, WordKind::Punctuation | WordKind::Operator);
        (!punctuation).then(|| format!("`{}`: {}", found.text, found.doc))
    }

    /// The row of the table of words for the word here: some words mean something else in topologies.
    fn meaning(&self) -> Option<&'static grammar::Word> {
        let is_in_topology = self.path().iter().any(|node| matches!(node, Node::TopologyItem(_)));
        let is_of_topology = |word: &grammar::Word| {
            word.kind == WordKind::Ability || word.kind == WordKind::Clause && word.text == "switch"
        };
        let words = grammar::WORDS.iter().filter(|word| word.text == self.word.text);
        words.min_by_key(|word| is_of_topology(word) != is_in_topology)
    }

    /// The text for a verb or another word that begins a statement.
    fn operation(&self, path: &[Node<'_>]) -> Vec<String> {
        let mut said: Vec<String> = self.word_text().into_iter().collect();
        let rows: Vec<String> = forms(self.word.text).map(|form| form.row()).collect();
        if !rows.is_empty() {
            said.push(format!("{HEAD}\n{}", rows.join("\n")));
        }
        if let Some((_, span)) = statement(path).filter(|_| self.is_verb(path)) {
            said.extend(self.becomes(span));
        }
        said
    }

    /// The operations that a statement becomes with the program's parameters.
    fn becomes(&self, statement: Span) -> Vec<String> {
        let mut said = Vec::new();
        let place = self.semantics.place(statement);
        let Some(program) = &self.concrete.program else { return said };
        let done = operations::of_statement(program, place);
        let Some(first) = done.first() else { return said };
        let ranks = program.ranks.len();
        let lowered = concrete::lowered(self.analysis.database, self.part.declaration);
        let made = lowered.as_deref().map(|plan| operations::of_statement(plan, place));
        match made {
            Some(made) if made.is_empty() => {
                said.push("In the plan: joined with its neighbors".to_owned());
            }
            Some(made) => {
                said.push(format!("In the plan: {}", operations::census(&made, ranks)));
            }
            None => {}
        }
        said.extend(self.example(program, first));
        said
    }

    /// The first operation of a statement, with its size in bytes.
    fn example(&self, program: &ir::Program, done: &Done<'_>) -> Option<String> {
        let ir::Action::Transfer(transfer) = &done.op.action else { return None };
        let rank = program.ranks.lookup(done.rank)?;
        let list = |operands: &[ir::Operand]| {
            let texts: Vec<String> =
                operands.iter().map(|one| values::chunk(one, Some(rank))).collect();
            texts.join(", ")
        };
        let (sources, destinations) = (list(&transfer.sources), list(&transfer.destinations));
        let bytes = self.bytes(program, rank, transfer.sources.first()?);
        Some(format!("First on rank {}: `{sources} -> {destinations}`{bytes}", done.rank.0))
    }

    /// ", 128KiB of a message of 1MiB"
    fn bytes(&self, program: &ir::Program, rank: &ir::Rank, operand: &ir::Operand) -> String {
        let message = self.analysis.settings().message_bytes;
        let bytes = operations::bytes(program, rank, operand, message);
        bytes.map_or_else(String::new, |bytes| {
            format!(", {} of a message of {}", bytes::text(bytes), bytes::text(message))
        })
    }

    /// The text for a name: its declaration, its value here, and its documentation.
    fn name(&self, path: &[Node<'_>], definition: Span) -> Vec<String> {
        let unit = &self.semantics.resolved.unit;
        let text = |span: Span| declared::written(self.analysis, &self.semantics, span);
        let Some(declared) = declared::declared(unit, definition) else { return Vec::new() };
        let introduction = if let Declared::Local(name, ty) = declared
            && !self.is_let(definition)
        {
            format!("{name}: {ty}")
        } else {
            declared.introduction(&text)
        };
        let mut said = vec![code(&introduction)];
        let worth = match (self.expression(path), declared) {
            (Some(expr), _) => self.worth(expr),
            (None, Declared::Constant(row)) => self.lines(row.value.span).into_iter().collect(),
            (None, _) => self.lines(definition).into_iter().collect(),
        };
        said.extend(worth);
        said.extend(declared::documentation(self.analysis, &self.semantics, definition));
        said.extend(self.facts(&declared, definition, path));
        said
    }

    /// Whether a name is bound by a `let`, rather than by a binder.
    fn is_let(&self, definition: Span) -> bool {
        let before = Span { start: 0, end: definition.start, ..definition };
        self.semantics.resolved.sources.slice(before).trim_end().ends_with("let")
    }

    /// Further facts about families, programs and calls, with the program's parameters.
    fn facts(&self, declared: &Declared<'_>, definition: Span, path: &[Node<'_>]) -> Vec<String> {
        let Some(program) = &self.concrete.program else { return Vec::new() };
        let Some(rank) = program.ranks.iter().next() else { return Vec::new() };
        match declared {
            Declared::Channel(name, _) => {
                let ways = program.machine.as_deref().and_then(|on| describe_ways(on, rank, name));
                channels(rank, name).into_iter().chain(ways).collect()
            }
            Declared::Topology(..) => {
                let machine = program.machine.as_deref();
                let machine = machine.filter(|machine| machine.declared == definition);
                let texts = machine.map(|on| format!("`{}`: {}", on.name, on.describe_size()));
                texts.into_iter().collect()
            }
            Declared::Block(name) => blocks(rank, name).into_iter().collect(),
            Declared::Scratch(name, _) => self.scratch(program, rank, name).into_iter().collect(),
            Declared::Program(_) => vec![size(program)],
            Declared::Procedure(..) => match statement(path) {
                Some((_, span)) if self.is_verb(path) => self.becomes(span),
                Some(_) | None => Vec::new(),
            },
            Declared::Parameter(..)
            | Declared::Local(..)
            | Declared::Constant(..)
            | Declared::Function(..)
            | Declared::Collective(..)
            | Declared::Switch(_)
            | Declared::Semaphore(..) => Vec::new(),
        }
    }

    /// How many chunks a region of scratch has on rank 0, and their size in bytes.
    fn scratch(&self, program: &ir::Program, rank: &ir::Rank, name: &str) -> Option<String> {
        let region = rank.regions.iter().find(|region| &*region.name == name)?;
        let chunks: usize = region.dimensions.iter().map(|values| values.len()).product();
        let whole = ir::Operand {
            place: ir::Where::Local,
            buffer: ir::Buffer::Scratch,
            index: 0,
            size: u32::try_from(chunks).ok()?,
        };
        let message = self.analysis.settings().message_bytes;
        let bytes = operations::bytes(program, rank, &whole, message);
        let bytes = bytes.map_or_else(String::new, |bytes| {
            format!(", {} for a message of {}", bytes::text(bytes), bytes::text(message))
        });
        Some(format!("A region of {} on rank 0{bytes}", counted(chunks, "chunk")))
    }

    /// The expression that the word under the cursor names: with its index brackets, and for a field or a call, the
    /// whole of it.
    fn expression<'p>(&self, path: &[Node<'p>]) -> Option<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for node in path.iter().rev() {
            let Node::Expr(expr) = node else {
                if spans.is_empty() && matches!(node, Node::Name(_)) {
                    continue;
                }
                break;
            };
            let names = match &expr.kind {
                ExprKind::Name(_) => expr.span == self.word.span,
                ExprKind::Field(_, name) => name.span == self.word.span,
                ExprKind::Call(name, _) | ExprKind::Fold(name, ..) => name.span == self.word.span,
                ExprKind::Method(_, name, _) => name.span == self.word.span,
                ExprKind::Index(base, _) => spans.last() == Some(&base.span),
                ExprKind::Int(_) | ExprKind::Rate(_) | ExprKind::Time(_) | ExprKind::Bool(_) => {
                    expr.span == self.word.span
                }
                ExprKind::Str(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::Range(..)
                | ExprKind::List(_)
                | ExprKind::Set(_)
                | ExprKind::Each(..)
                | ExprKind::If(..)
                | ExprKind::Error => false,
            };
            if !names {
                break;
            }
            spans.push(expr.span);
        }
        spans.last().copied()
    }

    /// The text for an expression that is not declared in a file: a builtin name, a buffer, a number, a builtin
    /// function.
    fn expr(&self, expr: Span) -> Vec<String> {
        let mut said = Vec::new();
        let place = self.semantics.place(expr);
        let text = declared::written(self.analysis, &self.semantics, place);
        if let Some(ty) = typed::type_of(&self.semantics.resolved.unit, place) {
            said.push(code(&format!("{text}: {ty}")));
        }
        said.extend(self.worth(expr));
        said.extend(self.word_text());
        said
    }

    /// The value of an expression and, for a slice, its size in bytes.
    fn worth(&self, expr: Span) -> Vec<String> {
        let place = self.semantics.place(expr);
        let mut said: Vec<String> = self.lines(place).into_iter().collect();
        let observed = &self.concrete.observed.values;
        let first = observed.range((place, None)..=(place, Some(u32::MAX))).next();
        if let (Some(program), Some(((_, Some(rank)), worths))) = (&self.concrete.program, first)
            && let (Some(ObservedValue::Chunk(operand)), Some(rank)) =
                (worths.first(), program.ranks.lookup(ir::RankId(*rank)))
        {
            let chunks = if operand.size == 1 { "chunk" } else { "chunks" };
            let bytes = self.bytes(program, rank, operand);
            said.push(format!("{} {chunks}{bytes}", operand.size));
        }
        said
    }

    fn lines(&self, place: Span) -> Option<String> {
        let concrete = &self.concrete;
        let found: Values = values::values(&concrete.observed, place, concrete.program.as_deref())?;
        Some(format!("```text\n{}\n```", found.lines().join("\n")))
    }
}

/// The innermost statement of a path, and its span.
fn statement<'t>(path: &[Node<'t>]) -> Option<(&'t StmtKind, Span)> {
    path.iter().rev().find_map(|node| match node {
        Node::Stmt(statement) => Some((&statement.kind, statement.span)),
        Node::ProgramItem(item) => match &item.kind {
            ProgramItemKind::Statement(kind) => Some((kind, item.span)),
            ProgramItemKind::Implements(_)
            | ProgramItemKind::Machine(_)
            | ProgramItemKind::Options(_)
            | ProgramItemKind::Scratch(_)
            | ProgramItemKind::Channel(_)
            | ProgramItemKind::Semaphore(_) => None,
        },
        Node::Item(_)
        | Node::Clause(_)
        | Node::TopologyItem(_)
        | Node::Body(_)
        | Node::Parameter(_)
        | Node::Type(_)
        | Node::Option(_)
        | Node::Binder(_)
        | Node::Operand(_)
        | Node::Argument(_)
        | Node::Expr(_)
        | Node::Index(_)
        | Node::Name(_) => None,
    })
}

/// A code's title, and the beginning of its page.
fn explained(code: Code) -> String {
    let begin = code.explain().split("\n\n").nth(1).unwrap_or_default().to_owned();
    // Links lead to pages that are not here.
    let begin = Code::ALL
        .iter()
        .fold(begin, |text, other| text.replace(&format!("[{0}]({0}.md)", other.id()), other.id()));
    format!("`{}`: {}\n\n{begin}", code.id(), code.title())
}

fn code(text: &str) -> String {
    format!("```ccl\n{text}\n```")
}

/// How many channel ends of a family rank 0 has, and which ranks they lead to.
fn channels(rank: &ir::Rank, family: &str) -> Option<String> {
    let members = rank.channels.iter().filter(|row| operations::is_member(&row.name, family));
    let members: Vec<&ir::Channel> = members.collect();
    let mut seen = BTreeSet::new();
    let peers = members.iter().filter_map(|row| row.peer()).filter(|peer| seen.insert(*peer));
    let peers: Vec<String> = peers.map(|peer| peer.0.to_string()).collect();
    let ends = counted(members.len(), "end");
    (!members.is_empty()).then(|| match peers.is_empty() {
        true => format!("{ends} on rank 0"),
        false => format!("{ends} on rank 0, to {}", ranks(&peers)),
    })
}

/// How a family's channels on rank 0 lead over the machine; those that have the same properties are told once.
fn describe_ways(machine: &Machine, rank: &ir::Rank, family: &str) -> Option<String> {
    let members = rank.channels.iter().filter(|row| operations::is_member(&row.name, family));
    let mut seen = BTreeSet::new();
    let mut ways: Vec<(PathText, usize)> = Vec::new();
    for path in members.filter_map(|channel| find_way(machine, channel)) {
        if !seen.insert(path.vertices.last().copied()) {
            continue;
        }
        let text = machine.describe_path(&path);
        match ways.iter_mut().find(|(one, _)| one.properties == text.properties) {
            Some((_, count)) => *count += 1,
            None => ways.push((text, 1)),
        }
    }
    let lines = ways.iter().take(4).map(|(PathText { vertices, properties }, count)| {
        let others = match count {
            1 => String::new(),
            2 => ", and another one like it".to_owned(),
            count => format!(", and {} others like it", count - 1),
        };
        format!("- `{vertices}`: {properties}{others}")
    });
    let mut lines: Vec<String> = lines.collect();
    if ways.len() > 4 {
        lines.push("- ..".to_owned());
    }
    (!lines.is_empty()).then(|| format!("On `{}`:\n\n{}", machine.name, lines.join("\n")))
}

/// How a channel of rank 0 leads over the machine.
fn find_way(machine: &Machine, channel: &ir::Channel) -> Option<Path> {
    let from = Vertex(0);
    match &channel.link {
        ir::Link::Memory(to) => machine.find_memory_path(from, Vertex(to.0)),
        ir::Link::Port(to) => machine.find_port_path(from, Vertex(to.0)),
        ir::Link::Switch(_) => None,
    }
}

fn ranks(peers: &[String]) -> String {
    let noun = if peers.len() == 1 { "rank" } else { "ranks" };
    let mut shown: Vec<String> = peers.iter().take(8).cloned().collect();
    if peers.len() > 8 {
        shown.push("..".to_owned());
    }
    format!("{noun} {}", shown.join(", "))
}

/// The ids of a family's blocks on rank 0.
fn blocks(rank: &ir::Rank, family: &str) -> Option<String> {
    let ids: Vec<String> =
        operations::blocks_of(rank, family).map(|(id, _)| id.0.to_string()).collect();
    let noun = if ids.len() == 1 { "thread block" } else { "thread blocks" };
    let mut shown: Vec<String> = ids.iter().take(16).cloned().collect();
    if ids.len() > 16 {
        shown.push("..".to_owned());
    }
    (!ids.is_empty()).then(|| format!("{noun} {} on rank 0", shown.join(", ")))
}

/// "8 ranks, 7 thread blocks, 112 operations"; the operations are those that the author wrote.
fn size(program: &ir::Program) -> String {
    let blocks = program.ranks.iter().map(|rank| rank.blocks.len()).max().unwrap_or(0);
    let mut operations = 0;
    operations::each(program, &mut |_| operations += 1);
    format!(
        "{}, {}, {}",
        counted(program.ranks.len(), "rank"),
        counted(blocks, "thread block"),
        counted(operations, "operation")
    )
}
