//! Loads all files that one file needs. In: the main file. Out: parsed [`Modules`], in which every `use` knows its
//! file.
//!
//! Rules: `std::..` is a file of the library; a string is a path relative to the importing file, and `path` says which ones
//! there are. The reader decides how far up a path may lead (E0207). Files may not import themselves, not even through
//! others (E0207). A file or name that does not exist is E0206. So is a file with errors and without a single
//! declaration: it is something else, and no report shows its lines.

use super::import::{Wanted, module_with};
use super::index::{self, Index};
use super::lost;
use super::name::meant;
use super::path;
use crate::diagnostic::{Code, Diagnostic, Severity, nearest, render};
use crate::phase::phase;
use crate::source::{FileId, LINE_ENDS, Place, Ranges, SourceMap, Span};
use crate::syntax;
use crate::syntax::ast;
use crate::syntax::token::Kind;
use crate::table::{Table, id};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

id! {
    /// A row of [`Modules::modules`].
    ModuleId
}

/// How long a chain of imports may be.
const MAX_DEPTH: usize = 64;

/// How many files one file may need.
const MAX_FILES: usize = 1024;

/// The words with which declarations begin.
const DECLARATIONS: [Kind; 6] =
    [Kind::Use, Kind::Let, Kind::Fn, Kind::Proc, Kind::Collective, Kind::Program];

/// The word in an error with which a reader says that a file must not be read.
const OUTSIDE: &str = "outside";

/// The files that one file needs, itself first.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    /// The files; the first one is the main file.
    pub modules: Table<ModuleId, Module>,
}

/// One parsed file.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its path, or `std::collectives`.
    pub name: String,
    /// Its row in the source map.
    pub file: FileId,
    /// Its text.
    pub text: Arc<str>,
    /// Its tree.
    pub ast: ast::File,
    /// What it declares.
    pub index: Index,
    /// For each `use` in order, the file that it names; none if that was reported.
    pub imports: Vec<Option<ModuleId>>,
    /// The statements with syntax errors: names may be missing from `ast`.
    pub faults: Ranges,
    /// Names whose declaration a syntax error may have hidden; empty if there are no errors.
    pub lost: BTreeSet<String>,
    /// The text after faulty declarations whose names are unknown: a name used there may be one of them.
    pub unsure: Ranges,
}

impl Module {
    /// Whether its syntax has errors.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Whether it is something else than ccl: it has errors, and no line begins as a declaration does. What the parser
    /// makes of such a text, guessing what was meant, is no sign of ccl.
    fn is_foreign(&self) -> bool {
        let begins = |line: &str| {
            let line = line.trim_start();
            let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let word = line.get(..end.unwrap_or(line.len())).unwrap_or_default();
            DECLARATIONS.iter().any(|kind| kind.text() == word)
        };
        self.is_broken() && !self.text.split(LINE_ENDS).any(begins)
    }

    /// Whether the span overlaps a statement with syntax errors, which have been reported.
    #[must_use]
    pub fn is_faulty(&self, span: Span) -> bool {
        span.file == self.file && self.faults.meet(span.start..span.end)
    }

    /// Whether a name in the span may be one that a faulty declaration was meant to declare.
    #[must_use]
    pub fn is_unsure(&self, span: Span) -> bool {
        span.file == self.file && self.unsure.meet(span.start..span.end)
    }
}

/// Reads a file by its normalized path. If two paths lead to the same allocation, they name the same file. An error
/// says in a few words why the file could not be read; one with the word `outside` means that it must not be read.
pub type Read<'r> = dyn FnMut(&str) -> Result<Arc<str>, String> + 'r;

/// Parses the main file and everything that it imports.
pub fn load(main: FileId, sources: &mut SourceMap, read: &mut Read) -> (Modules, Vec<Diagnostic>) {
    let name = normalize(&sources.files[main].name);
    let text = sources.files[main].text.clone();
    let mut loading = Loading { known: BTreeMap::new(), above: climbs(&name), reports: Vec::new() };
    let mut modules = Modules::default();
    let first = loading.parse(&mut modules, main, name.clone(), text);
    loading.known.insert(name, first);

    let mut open = vec![Open::new(&modules, first)];
    while let Some(last) = open.last_mut() {
        let Some((use_, span)) = last.uses.next() else {
            open.pop();
            continue;
        };
        last.at = span;
        let importer = last.module;
        let found = loading.follow(&mut modules, sources, read, &open, &use_, span);
        modules.modules[importer].imports.push(found.map(|(module, _)| module));
        if let Some((module, true)) = found {
            open.push(Open::new(&modules, module));
        }
    }
    (modules, loading.reports)
}

/// The imports of a file, in order, each with the span of all of it.
pub(super) fn uses(file: &ast::File) -> Vec<(&ast::Use, Span)> {
    let mut uses = Vec::new();
    for item in &file.items {
        if let ast::ItemKind::Use(use_) = &item.kind {
            uses.push((use_, item.span));
        }
    }
    uses
}

/// A file whose imports are being loaded.
struct Open {
    module: ModuleId,
    /// The imports that have not been followed yet.
    uses: std::vec::IntoIter<(ast::Use, Span)>,
    /// The current import.
    at: Span,
}

impl Open {
    fn new(modules: &Modules, module: ModuleId) -> Open {
        let file = &modules.modules[module];
        let uses: Vec<(ast::Use, Span)> =
            uses(&file.ast).into_iter().map(|(use_, span)| (use_.clone(), span)).collect();
        Open { module, uses: uses.into_iter(), at: file.ast.span }
    }
}

struct Loading {
    known: BTreeMap<String, ModuleId>,
    /// How many `..` the main file's own path begins with.
    above: usize,
    reports: Vec<Diagnostic>,
}

impl Loading {
    fn parse(
        &mut self,
        modules: &mut Modules,
        file: FileId,
        name: String,
        text: Arc<str>,
    ) -> ModuleId {
        let reading = phase("file", &name);
        let (ast, reports) = syntax::parse(file, &text);
        drop(reading);
        let faults = faults(file, &text, &reports);
        let (lost, unsure) = match faults.is_empty() {
            true => Default::default(),
            false => (lost::names(&text, &reports), lost::behind(file, &text, &faults)),
        };
        self.reports.extend(reports);
        let index = index::index(&ast);
        modules.modules.push(Module {
            name,
            file,
            text,
            ast,
            index,
            imports: Vec::new(),
            faults,
            lost,
            unsure,
        })
    }

    /// The file that a `use` names, and whether it is new.
    fn follow(
        &mut self,
        modules: &mut Modules,
        sources: &mut SourceMap,
        read: &mut Read,
        chain: &[Open],
        use_: &ast::Use,
        span: Span,
    ) -> Option<(ModuleId, bool)> {
        let importer = chain.last().map(|open| &modules.modules[open.module])?;
        let faulty = importer.is_faulty(span);
        let (name, library) = match locate(&importer.name, use_, span) {
            Ok(found) => found,
            Err(report) => {
                self.reports.extend((!faulty).then_some(*report));
                return None;
            }
        };
        if let Some(&known) = self.known.get(&name) {
            return self.again(modules, chain, known, span);
        }
        if chain.len() >= MAX_DEPTH || modules.modules.len() >= MAX_FILES {
            self.reports.push(too_many_imports(span, chain.len() >= MAX_DEPTH));
            return None;
        }
        let text = match library {
            Some(text) => Arc::from(text),
            None => match read(&name) {
                Ok(text) => text,
                Err(why) => {
                    let refused = climbs(&name) > self.above || why.contains(OUTSIDE);
                    let report = if refused { outside } else { cannot_read };
                    self.reports.push(report(root_span(use_), &name, &why));
                    return None;
                }
            },
        };
        // Links can give a file several names.
        let same = |(_, module): &(_, &Module)| Arc::ptr_eq(&module.text, &text);
        if let Some((known, _)) = modules.modules.entries().find(same) {
            self.known.insert(name, known);
            return self.again(modules, chain, known, span);
        }
        let file = sources.add(name.clone(), text.clone());
        let before = self.reports.len();
        let module = self.parse(modules, file, name.clone(), text);
        if library.is_none() && modules.modules[module].is_foreign() {
            let first = self.reports.split_off(before).into_iter().next();
            let first = first.and_then(|report| report.primary).map(|label| label.place);
            let place = first.map(|place| render::place_text(sources, place));
            self.reports.push(not_ccl(root_span(use_), &name, place.as_deref()));
            return None;
        }
        self.known.insert(name, module);
        Some((module, true))
    }

    /// A file that is known already; reported if it is one of those that led here.
    fn again(
        &mut self,
        modules: &Modules,
        chain: &[Open],
        known: ModuleId,
        span: Span,
    ) -> Option<(ModuleId, bool)> {
        let Some(at) = chain.iter().position(|open| open.module == known) else {
            return Some((known, false));
        };
        self.reports.push(import_cycle(modules, chain.get(at..).unwrap_or(&[]), span));
        None
    }
}

/// The name of an imported file in a source map; none if there can be no such file.
#[must_use]
pub fn imported(from: &str, use_: &ast::Use) -> Option<String> {
    locate(from, use_, root_span(use_)).ok().map(|(name, _)| name)
}

/// The name of the file that a `use` names, and its text if it is the library's.
fn locate(
    from: &str,
    use_: &ast::Use,
    span: Span,
) -> Result<(String, Option<&'static str>), Box<Diagnostic>> {
    match &use_.root {
        ast::UseRoot::Name(root) if root.text == "std" => library_file(&use_.path, use_, span),
        ast::UseRoot::Name(root) => Err(Box::new(unknown_library(root))),
        ast::UseRoot::File(path) if from.starts_with("std::") => {
            Err(Box::new(library_imports_file(path.span)))
        }
        ast::UseRoot::File(path) => {
            path::check(path)?;
            let directory = from.rfind('/').map_or("", |slash| from.get(..=slash).unwrap_or(""));
            Ok((normalize(&format!("{directory}{}", path.text)), None))
        }
    }
}

/// The path without `.`, and without `..` after another part.
fn normalize(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(last) if *last != ".." => {
                    parts.pop();
                }
                _ => parts.push(".."),
            },
            _ => parts.push(part),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

/// How many `..` a normalized path begins with.
fn climbs(path: &str) -> usize {
    path.split('/').filter(|part| *part == "..").count()
}

fn library_file(
    path: &[ast::Name],
    use_: &ast::Use,
    span: Span,
) -> Result<(String, Option<&'static str>), Box<Diagnostic>> {
    let words: Vec<&str> = path.iter().map(|name| name.text.as_str()).collect();
    let wanted = words.join("::");
    let found = stdlib::FILES.iter().find(|(name, _)| name.replace('/', "::") == wanted);
    match found {
        Some((_, text)) => Ok((format!("std::{wanted}"), Some(text))),
        None => Err(Box::new(unknown_module(path, &wanted, use_, span))),
    }
}

/// The text of a file of the library, by its name in a source map: `std::collectives`.
#[must_use]
pub fn library_text(name: &str) -> Option<&'static str> {
    let path = name.strip_prefix("std::")?;
    stdlib::FILES.iter().find(|(known, _)| known.replace('/', "::") == path).map(|(_, text)| *text)
}

/// The statements that have errors: they are reported for their syntax only.
fn faults(file: FileId, text: &str, reports: &[Diagnostic]) -> Ranges {
    let errors = reports.iter().filter(|report| report.severity == Severity::Error);
    let places: Vec<Span> = errors
        .filter_map(|report| match report.primary.as_ref()?.place {
            Place::Source(span) => Some(span),
            Place::Plan(_) => None,
        })
        .collect();
    if places.is_empty() {
        return Ranges::default();
    }
    let fences = syntax::fences(file, text);
    let statement = |span: &Span| {
        let before = fences.partition_point(|fence| *fence < span.start);
        let start = before.checked_sub(1).and_then(|last| fences.get(last)).map_or(0, |at| at + 1);
        let behind = fences.partition_point(|fence| *fence < span.end);
        let end = fences.get(behind).copied().unwrap_or(text.len() as u32);
        start.min(span.start)..end.max(span.end)
    };
    places.iter().map(statement).collect()
}

fn root_span(use_: &ast::Use) -> Span {
    match &use_.root {
        ast::UseRoot::Name(name) => name.span,
        ast::UseRoot::File(path) => path.span,
    }
}

fn unknown_module(path: &[ast::Name], wanted: &str, use_: &ast::Use, span: Span) -> Diagnostic {
    let place = match (path.first(), path.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => use_.names.first().map_or(span, |name| name.name.span),
    };
    let modules: Vec<String> =
        stdlib::FILES.iter().map(|(name, _)| name.replace('/', "::")).collect();
    let imported = use_.names.first().map(|name| name.name.text.as_str());
    if wanted.is_empty() {
        let message = "the library consists of modules; this names none";
        let report = Diagnostic::new(Code::E0206, place, message);
        return match imported {
            Some(name) if modules.iter().any(|module| module == name) => {
                report.help(format!("name what you want from it: `use std::{name}::..;`"))
            }
            Some(name) => match module_with(name, &Wanted::ALL) {
                Some(module) => report.help(format!("write `use {module}::{name};`")),
                None => report.help(format!("its modules are {}", listed(&modules))),
            },
            None => report.help(format!("its modules are {}", listed(&modules))),
        };
    }
    let report =
        Diagnostic::new(Code::E0206, place, format!("the library has no module `{wanted}`"));
    if let Some(module) = nearest(wanted, modules.iter().map(String::as_str)) {
        return meant(report, place, module);
    }
    match imported.and_then(|name| Some((name, module_with(name, &Wanted::ALL)?))) {
        Some((name, module)) => report.help(format!("`{name}` is in `{module}`")),
        None => report.help(format!("its modules are {}", listed(&modules))),
    }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn unknown_library(root: &ast::Name) -> Diagnostic {
    let message = format!("there is no library `{}`", root.text);
    Diagnostic::new(Code::E0206, root.span, message)
        .help("write `use std::..` for the library, or a path in quotes for a file: `use \"common.ccl\"::name;`")
}

fn cannot_read(place: Span, name: &str, why: &str) -> Diagnostic {
    Diagnostic::new(Code::E0206, place, format!("`{name}` cannot be read: {why}"))
        .note("a path in a `use` is relative to the file that contains it")
}

fn not_ccl(place: Span, name: &str, first: Option<&str>) -> Diagnostic {
    let message = format!("`{name}` is not ccl: it has no declaration that can be read");
    let report = Diagnostic::new(Code::E0206, place, message);
    let report = match first {
        Some(first) => report.note(format!("the first error is at {first}")),
        None => report,
    };
    report.help(format!("`cclc check {name}` shows what is wrong with it"))
}

fn import_cycle(modules: &Modules, chain: &[Open], span: Span) -> Diagnostic {
    if chain.len() == 1 {
        return Diagnostic::new(Code::E0207, span, "this file imports itself")
            .label("what it declares is available here without a `use`");
    }
    let name = |at: usize| chain.get(at).map_or("", |open| &modules.modules[open.module].name);
    let message = format!("`{}` imports itself through other files", name(0));
    let mut report = Diagnostic::new(Code::E0207, span, message)
        .label(format!("`{}` imports it here ..", name(chain.len() - 1)));
    for (at, open) in chain.iter().enumerate().take(chain.len() - 1) {
        report = report.and(open.at, format!(".. and `{}` imports `{}`", name(at), name(at + 1)));
    }
    report.help("move what both need into a third file")
}

fn too_many_imports(span: Span, deep: bool) -> Diagnostic {
    let message = if deep {
        format!("the chain of imports is longer than {MAX_DEPTH} files")
    } else {
        format!("more than {MAX_FILES} files are imported")
    };
    Diagnostic::new(Code::E0207, span, message)
}

fn library_imports_file(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0207, span, "a module of the library cannot import a file")
}

fn outside(place: Span, name: &str, why: &str) -> Diagnostic {
    Diagnostic::new(Code::E0207, place, format!("`{name}` is outside the workspace"))
        .label(why)
        .note("a program reads only files below the folder in which it is compiled")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_detours() {
        assert_eq!(normalize("a/./b//../c.ccl"), "a/c.ccl");
        assert_eq!(normalize("../a/../../b.ccl"), "../../b.ccl");
        assert_eq!(normalize("/a/../b.ccl"), "/b.ccl");
        assert_eq!(climbs("../../b.ccl"), 2);
    }
}
