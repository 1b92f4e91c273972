//! Definitions of names: from the place of a declaration to a description of what is declared there.
//!
//! In: a resolved declaration and the place of a name that it uses or declares. Out: what kind of thing the name
//! stands for, a line that introduces it, and its documentation.

use crate::analysis::{Analysis, Semantics, Spot};
use crate::database::{self, Database, Db as _, Parsed, Resolved};
use crate::documentation::without_html;
use crate::excerpt;
use compiler::resolve::index;
use compiler::resolve::program::{
    Constant, Dimension, Frame, Parameter, Program, SwitchFamily, Type, Unit,
};
use compiler::source::{FileId, Span};
use compiler::syntax;
use compiler::syntax::ast::{
    self, Doc, ItemKind, Name, ProgramItemKind, StmtKind, TopologyItemKind,
};
use compiler::syntax::token::{Kind, tokens};
use compiler::table::Id as _;

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub enum Declared<'u> {
    /// A parameter.
    Parameter(&'u Parameter),
    /// A `let` or a binder.
    Local(&'u str, &'u Type),
    /// A `let` of a file.
    Constant(&'u Constant),
    /// A function.
    Function(&'u str, &'u [Parameter], &'u Type),
    /// A procedure.
    Procedure(&'u str, &'u [Parameter]),
    /// A collective.
    Collective(&'u str, &'u [Parameter]),
    /// A topology.
    Topology(&'u str, &'u [Parameter]),
    /// A switch of a topology, or a family of them.
    Switch(&'u SwitchFamily),
    /// A program.
    Program(&'u Program),
    /// A region of scratch, with the span of its declaration.
    Scratch(&'u str, Span),
    /// A family of channels, with the span of its declaration.
    Channel(&'u str, Span),
    /// A family of semaphores, with the span of its declaration.
    Semaphore(&'u str, Span),
    /// A family of thread blocks.
    Block(&'u str),
}

/// The declaration whose name is at a place.
#[must_use]
pub fn declared(unit: &Unit, at: Span) -> Option<Declared<'_>> {
    if let Some(row) = unit.constants.iter().find(|row| row.span == at) {
        return Some(Declared::Constant(row));
    }
    for row in unit.functions.iter() {
        if row.span == at {
            return Some(Declared::Function(&row.name, &row.parameters, &row.result));
        }
        if let Some(local) = local(&row.frame, &row.parameters, at) {
            return Some(local);
        }
    }
    for row in unit.procedures.iter() {
        if row.span == at {
            return Some(Declared::Procedure(&row.name, &row.parameters));
        }
        if let Some(local) = local(&row.frame, &row.parameters, at) {
            return Some(local);
        }
    }
    for row in unit.collectives.iter() {
        if row.span == at {
            return Some(Declared::Collective(&row.name, &row.parameters));
        }
        if let Some(local) = local(&row.frame, &row.parameters, at) {
            return Some(local);
        }
    }
    for row in unit.topologies.iter() {
        if row.span == at {
            return Some(Declared::Topology(&row.name, &row.parameters));
        }
        let switch = row.switches.iter().find(|switch| switch.span == at);
        let switch = switch.map(Declared::Switch);
        if let Some(found) = switch.or_else(|| local(&row.frame, &row.parameters, at)) {
            return Some(found);
        }
    }
    unit.programs.iter().find_map(|program| in_program(program, at))
}

fn in_program(program: &Program, at: Span) -> Option<Declared<'_>> {
    if program.span == at {
        return Some(Declared::Program(program));
    }
    if let Some(local) = local(&program.frame, &program.parameters, at) {
        return Some(local);
    }
    // The span of a family starts at the first word of its declaration; the span of a block is its name.
    let is = |word: &str, name: &str, span: Span| {
        let start = span.start + word.len() as u32;
        (span.file, start, start + name.len() as u32) == (at.file, at.start, at.end)
    };
    let scratch = program.scratch.iter().find(|row| is("scratch ", &row.name, row.span));
    let channel = program.channels.iter().find(|row| is("channel ", &row.name, row.span));
    let semaphore = program.semaphores.iter().find(|row| is("semaphore ", &row.name, row.span));
    let block = program.blocks.iter().find(|row| is("", &row.name, row.span));
    scratch
        .map(|row| Declared::Scratch(&row.name, row.span))
        .or_else(|| channel.map(|row| Declared::Channel(&row.name, row.span)))
        .or_else(|| semaphore.map(|row| Declared::Semaphore(&row.name, row.span)))
        .or_else(|| block.map(|row| Declared::Block(&row.name)))
}

fn local<'u>(frame: &'u Frame, parameters: &'u [Parameter], at: Span) -> Option<Declared<'u>> {
    let (id, local) = frame.entries().find(|(_, local)| local.span == at)?;
    let parameter = parameters.get(id.index()).map(Declared::Parameter);
    Some(parameter.unwrap_or(Declared::Local(&local.name, &local.ty)))
}

impl Declared<'_> {
    /// The line of ccl that would introduce it.
    #[must_use]
    pub fn introduction(&self, text: &dyn Fn(Span) -> String) -> String {
        match self {
            Declared::Parameter(row) => parameter(row, text),
            Declared::Local(name, ty) => format!("let {name}: {ty}"),
            Declared::Constant(row) => format!("let {}: {}", row.name, row.value.ty),
            Declared::Function(name, parameters, result) => {
                format!("fn {name}({}) -> {result}", listed(parameters, text))
            }
            Declared::Procedure(name, parameters) => {
                format!("proc {name}({})", listed(parameters, text))
            }
            Declared::Collective(name, parameters) => {
                format!("collective {name}({})", listed(parameters, text))
            }
            Declared::Topology(name, []) => format!("topology {name}"),
            Declared::Topology(name, parameters) => {
                format!("topology {name}({})", listed(parameters, text))
            }
            Declared::Switch(row) => match row.dimensions.last() {
                Some(last) => format!("switch {}]", text(row.span.to(end_of(last)))),
                None => format!("switch {}", row.name),
            },
            Declared::Program(program) => {
                format!("program {}({})", program.name, listed(&program.parameters, text))
            }
            Declared::Scratch(_, span)
            | Declared::Channel(_, span)
            | Declared::Semaphore(_, span) => text(*span).trim_end_matches(';').to_owned(),
            Declared::Block(name) => format!("block {name}"),
        }
    }
}

/// What a dimension ends with.
fn end_of(dimension: &Dimension) -> Span {
    match dimension {
        Dimension::Binder(binder) => binder.filter.as_ref().unwrap_or(&binder.list).span,
        Dimension::Count(count) => count.span,
    }
}

/// A parameter as it is declared.
#[must_use]
pub fn parameter(parameter: &Parameter, text: &dyn Fn(Span) -> String) -> String {
    match &parameter.default {
        Some(value) => format!("{}: {} = {}", parameter.name, parameter.ty, text(value.span)),
        None => format!("{}: {}", parameter.name, parameter.ty),
    }
}

fn listed(parameters: &[Parameter], text: &dyn Fn(Span) -> String) -> String {
    let texts: Vec<String> = parameters.iter().map(|one| parameter(one, text)).collect();
    texts.join(", ")
}

/// The definition of the name at a place, whether the name is used there or declared.
#[must_use]
pub fn definition(semantics: &Semantics<'_>, at: Span) -> Option<Span> {
    let uses = &semantics.resolved.uses.definitions;
    let used = uses.iter().find(|(place, _)| *place == at).map(|(_, definition)| *definition);
    used.or_else(|| declared(&semantics.resolved.unit, at).map(|_| at))
}

/// Where the function, procedure, collective or topology is declared that has this name in the file, which may import it.
#[must_use]
pub fn callable(semantics: &Semantics<'_>, name: &str) -> Option<Span> {
    let Resolved { unit, uses, sources, .. } = &*semantics.resolved;
    let functions = unit.functions.iter().map(|row| (&row.name, row.span));
    let procedures = unit.procedures.iter().map(|row| (&row.name, row.span));
    let collectives = unit.collectives.iter().map(|row| (&row.name, row.span));
    let topologies = unit.topologies.iter().map(|row| (&row.name, row.span));
    let mut own = functions.chain(procedures).chain(collectives).chain(topologies);
    let own = own.find(|(text, span)| *text == name && span.file == FileId(0)).map(|(_, at)| at);
    let named =
        |(place, _): &&(Span, Span)| place.file == FileId(0) && sources.slice(*place) == name;
    let used = uses.definitions.iter().filter(named).map(|(_, definition)| *definition);
    own.into_iter().chain(used).find(|at| {
        use Declared::{Collective, Function, Procedure, Topology};
        let found = declared(unit, *at);
        matches!(found, Some(Function(..) | Procedure(..) | Collective(..) | Topology(..)))
    })
}

/// The text of a span as its author wrote it, on one line.
#[must_use]
pub fn written(analysis: &Analysis<'_>, semantics: &Semantics<'_>, span: Span) -> String {
    let spot = semantics.spot(span);
    let text = match span.file {
        FileId(0) => analysis.text().get(spot.start as usize..spot.end as usize).unwrap_or(""),
        _ => semantics.resolved.sources.slice(span),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The documentation of what is declared at a place.
#[must_use]
pub fn documentation(
    analysis: &Analysis<'_>,
    semantics: &Semantics<'_>,
    definition: Span,
) -> Option<String> {
    let spot = semantics.spot(definition);
    if definition.file == FileId(0) {
        let part = analysis.part_at(spot.start)?;
        return documented(&analysis.parsed(part).file, spot.start - part.start);
    }
    let file = semantics.resolved.sources.files.lookup(definition.file)?;
    if analysis.database.known(&spot.name) {
        return in_other(analysis, &spot);
    }
    documented(&syntax::parse(FileId(0), &file.text).0, spot.start)
}

fn in_other(analysis: &Analysis<'_>, spot: &Spot) -> Option<String> {
    let document = analysis.database.document(&spot.name);
    let parts = crate::analysis::parts(analysis.database, document);
    let part = parts.iter().rfind(|part| part.start <= spot.start)?;
    let parsed: std::sync::Arc<Parsed> = database::parsed(analysis.database, part.declaration);
    documented(&parsed.file, spot.start - part.start)
}

/// How a declaration at the top of a file begins, and its documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The line up to its body or value; a constant's value is part of it.
    pub text: String,
    /// Its documentation.
    pub documentation: Option<String>,
}

/// The longest value of a constant in a [`Heading`], in characters.
const LONGEST_VALUE: usize = 60;

/// The heading of what a file declares by a name, programs aside; none if it declares no such name.
#[must_use]
pub fn heading(database: &Database, file: &str, name: &str) -> Option<Heading> {
    let directory = database::directory(database, database.document(file));
    let positions = directory.declaring.get(name)?.iter();
    let mut declarations = positions.filter_map(|position| directory.declarations.get(*position));
    declarations.find_map(|declaration| {
        let parsed = database::parsed(database, *declaration);
        let entries = index(&parsed.file).entries;
        let entry = entries.into_iter().find(|entry| entry.name == name)?;
        let item = parsed.file.items.get(entry.item)?;
        let text = declaration.text(database);
        let text = text.get(item.span.start as usize..body(item) as usize)?;
        Some(Heading { text: beginning(text), documentation: text_of(&item.docs) })
    })
}

/// The offset at which the body of a declaration has begun.
fn body(item: &ast::Item) -> u32 {
    match &item.kind {
        ItemKind::Function(row) => row.body.span.start,
        ItemKind::Procedure(row) => row.body.span.start,
        ItemKind::Collective(row) => row.items.first().map_or(item.span.end, |row| row.span.start),
        ItemKind::Topology(row) => row.items.first().map_or(item.span.end, |row| row.span.start),
        ItemKind::Use(_) | ItemKind::Let(_) | ItemKind::Program(_) => item.span.end,
    }
}

/// A declaration on one line, without its body.
fn beginning(declaration: &str) -> String {
    let all = tokens(FileId(0), declaration).tokens;
    let mut depth = 0_usize;
    let end = all.iter().position(|token| {
        let ends = matches!(token.kind, Kind::LeftBrace | Kind::Equal | Kind::Semicolon);
        depth += usize::from(token.kind.is_opener());
        depth = depth.saturating_sub(usize::from(token.kind.is_closer()));
        ends && depth <= usize::from(token.kind.is_opener())
    });
    let (head, rest) = all.split_at(end.unwrap_or(all.len()));
    let text = excerpt::line(head);
    if head.first().is_none_or(|first| first.kind != Kind::Let) {
        return text;
    }
    let value = excerpt::line(rest);
    let value = value.trim_end_matches(';');
    if value.chars().count() > LONGEST_VALUE { text + " = .." } else { format!("{text} {value}") }
}

/// The documentation of what the top level of a declaration's program declares by a name.
#[must_use]
pub fn documentation_inside(file: &ast::File, name: &str) -> Option<String> {
    let programs = file.items.iter().filter_map(program_of);
    let mut items = programs.flat_map(|program| &program.items);
    let item = items.find(|item| named(&item.kind).is_some_and(|one| one.text == name))?;
    text_of(&item.docs)
}

/// The program that an item is, if it is one.
#[must_use]
pub fn program_of(item: &ast::Item) -> Option<&ast::Program> {
    if let ItemKind::Program(program) = &item.kind { Some(program) } else { None }
}

/// The documentation of a file.
#[must_use]
pub fn of_file(analysis: &Analysis<'_>, name: &str) -> Option<String> {
    let document = analysis.database.document(name);
    let first = crate::analysis::parts(analysis.database, document).first().copied()?;
    text_of(&analysis.parsed(first).file.docs)
}

/// The documentation of the declaration whose name begins at an offset.
fn documented(file: &ast::File, offset: u32) -> Option<String> {
    let is = |name: &Name| name.span.start == offset;
    let around = |span: Span| span.start <= offset && offset < span.end;
    let item = file.items.iter().find(|item| around(item.span))?;
    let name = match &item.kind {
        ItemKind::Use(_) => return None,
        ItemKind::Let(row) => &row.name,
        ItemKind::Function(row) => &row.name,
        ItemKind::Procedure(row) => &row.name,
        ItemKind::Collective(row) => &row.name,
        ItemKind::Topology(row) => {
            let inner = row.items.iter().find(|inner| match &inner.kind {
                TopologyItemKind::Switch(switch) => is(&switch.name),
                TopologyItemKind::Let(row) => is(&row.name),
                TopologyItemKind::Require(_)
                | TopologyItemKind::Count(_)
                | TopologyItemKind::Link(_) => false,
            });
            if let Some(inner) = inner {
                return text_of(&inner.docs);
            }
            &row.name
        }
        ItemKind::Program(row) => {
            let inner = row.items.iter().find(|inner| named(&inner.kind).is_some_and(is));
            if let Some(inner) = inner {
                return text_of(&inner.docs);
            }
            &row.name
        }
    };
    is(name).then(|| text_of(&item.docs))?
}

/// The name that a part of a program's top level declares.
fn named(item: &ProgramItemKind) -> Option<&Name> {
    match item {
        ProgramItemKind::Scratch(row) => Some(&row.name),
        ProgramItemKind::Channel(row) => Some(&row.name),
        ProgramItemKind::Semaphore(row) => Some(&row.name),
        ProgramItemKind::Statement(StmtKind::Let(row)) => Some(&row.name),
        ProgramItemKind::Statement(StmtKind::Block(row)) => Some(&row.name),
        ProgramItemKind::Statement(_)
        | ProgramItemKind::Implements(_)
        | ProgramItemKind::Machine(_)
        | ProgramItemKind::Options(_) => None,
    }
}

fn text_of(docs: &[Doc]) -> Option<String> {
    let lines: Vec<&str> = docs.iter().map(|doc| doc.text.as_str()).collect();
    (!lines.is_empty()).then(|| without_html(&lines.join("\n")))
}
