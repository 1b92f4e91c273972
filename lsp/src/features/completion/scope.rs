//! The scope at the cursor: the kind of place it is, and the names that are visible there.
//!
//! In: the tokens before the cursor, those of the whole declaration, and whatever could be resolved of it. Names bound
//! in bodies that are closed before the cursor are not visible.
#![expect(clippy::wildcard_enum_match_arm, reason = "only few of the many token kinds matter here")]

use super::named::Named;
use super::{items, procedures};
use crate::analysis::{Analysis, Part};
use crate::database::{self, Resolved};
use crate::declared;
use crate::excerpt;
use compiler::resolve::index::{Entry, EntryKind, index};
use compiler::resolve::program::{Frame, Unit};
use compiler::syntax::ast;
use compiler::syntax::token::{Kind, Token};
use lsp_types::{CompletionItem, CompletionItemKind, Documentation};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The kind of place in which the statement at the cursor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// At the top of a file.
    File,
    /// In a collective's declaration.
    Collective,
    /// In its `in_place`.
    InPlace,
    /// In one of its promises (`ensures`).
    Ensures,
    /// In a topology's declaration.
    Topology,
    /// In one of its switches.
    Switch,
    /// At the top level of a program.
    Program,
    /// In `options`.
    Options,
    /// In a block.
    Block,
    /// In a pipeline in a block.
    Round,
    /// In a group.
    Group,
    /// In a procedure.
    Procedure,
    /// In a pipeline at the top level, which opens blocks.
    Window,
}

/// The kind of a family of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Memory,
    Port,
    Switch,
}

/// A family of scratch regions, channels, semaphores or blocks that the program declares.
#[derive(Clone, Debug)]
struct Family {
    name: String,
    word: Kind,
    indices: bool,
    /// Whether it has one member for each of some ranks.
    by_rank: bool,
    link: Option<Link>,
    /// How it is declared.
    declaration: String,
}

/// What is visible at the cursor.
pub(super) struct Scope<'a> {
    level: Level,
    /// The index, among the tokens before the cursor, at which its statement begins.
    start: usize,
    /// Whether the body of an `if` ends just before it.
    after_if: bool,
    /// The options that the program sets.
    options: BTreeSet<String>,
    families: Vec<Family>,
    /// The switches that the topology declares.
    switches: Vec<CompletionItem>,
    /// Names that are bound at the cursor, the nearest last.
    bound: Vec<String>,
    types: BTreeMap<String, String>,
    /// The names of the declaration's parameters.
    parameters: BTreeSet<String>,
    resolved: Arc<Resolved>,
    analysis: &'a Analysis<'a>,
    part: Part<'a>,
}

impl<'a> Scope<'a> {
    /// The scope after some tokens of a declaration.
    pub(super) fn new<'db: 'a>(
        analysis: &'a Analysis<'db>,
        part: Part<'db>,
        before: &[Token<'_>],
        all: &[Token<'_>],
    ) -> Scope<'a> {
        let resolved = database::resolved(analysis.database, part.declaration);
        let Reader { open, start, after_if, bound, .. } = read(before);
        let mut types = BTreeMap::new();
        let unit = &resolved.unit;
        let frames: Vec<&Frame> = unit
            .programs
            .iter()
            .map(|row| &row.frame)
            .chain(unit.procedures.iter().map(|row| &row.frame))
            .chain(unit.functions.iter().map(|row| &row.frame))
            .collect();
        // If two have the same name, that of the program is used.
        for local in frames.into_iter().rev().flat_map(|frame| frame.iter()) {
            types.insert(local.name.clone(), local.ty.to_string());
        }
        let (level, families, options) = (level(&open), families(all), options(all));
        let parameters = parameters(&analysis.parsed(part).file);
        let switches = switches(all);
        Scope {
            level,
            start,
            after_if,
            options,
            families,
            switches,
            bound,
            types,
            parameters,
            resolved,
            analysis,
            part,
        }
    }

    /// The kind of place in which the cursor is.
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// The file.
    pub(super) fn analysis(&self) -> &'a Analysis<'a> {
        self.analysis
    }

    /// The declaration.
    pub(super) fn part(&self) -> Part<'a> {
        self.part
    }

    /// Whether the statement at the cursor would directly follow the body of an `if`.
    pub(super) fn follows_if(&self) -> bool {
        self.after_if
    }

    /// Whether the program sets an option.
    pub(super) fn is_set(&self, option: &str) -> bool {
        self.options.contains(option)
    }

    /// The type of a function's result.
    pub(super) fn result_of(&self, function: &str) -> Option<String> {
        let named = self.resolved.unit.functions.iter().find(|row| row.name == function);
        named.map(|row| row.result.to_string()).filter(|ty| ty != "?")
    }

    /// The tokens of the statement at the cursor.
    pub(super) fn statement<'t, 's>(&self, before: &'s [Token<'t>]) -> &'s [Token<'t>] {
        before.get(self.start..).unwrap_or_default()
    }

    /// Whether the colon at the end is between binders and a value.
    pub(super) fn in_fold(&self, statement: &[Token<'_>]) -> bool {
        statement.iter().any(|token| token.kind == Kind::In)
            && !statement.iter().any(|token| matches!(token.kind, Kind::Fn | Kind::Proc))
    }

    /// The type of a name.
    pub(super) fn type_of(&self, name: &str) -> Option<String> {
        if let Some(family) = self.families.iter().find(|family| family.name == name) {
            return Some(family.word.text().to_owned());
        }
        match name {
            "rank" => Some("rank".to_owned()),
            "peers" | "node_peers" | "rail_peers" => Some("rank[]".to_owned()),
            _ => self.types.get(name).cloned().filter(|ty| ty != "?"),
        }
    }

    /// The names bound at the cursor that may be ranks, the nearest first; names of type `rank` come before numbers. A
    /// parameter that is a number is a size.
    pub(super) fn ranks(&self) -> impl Iterator<Item = &str> {
        let ty = |name: &str| self.types.get(name).map(String::as_str);
        let named = self.nearest().filter(move |name| ty(name) == Some("rank"));
        let numbers = self.nearest().filter(move |name| {
            matches!(ty(name), Some("int" | "?") | None) && !self.parameters.contains(*name)
        });
        named.chain(numbers)
    }

    /// The buffers, with a short description of each.
    pub(super) fn buffers(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let regions = self.of(Kind::Scratch).map(|family| (family.name.as_str(), "scratch"));
        [("input", "buffer"), ("output", "buffer")].into_iter().chain(regions)
    }

    /// Channels of the kinds that `fits` accepts.
    pub(super) fn channels(
        &self,
        fits: &dyn Fn(Link) -> bool,
    ) -> impl Iterator<Item = CompletionItem> {
        let families = self.of(Kind::Channel).filter(|family| family.link.is_none_or(fits));
        let own: Vec<CompletionItem> = families.map(|family| self.member(family)).collect();
        own.into_iter().chain(self.lists_of("channel"))
    }

    /// The families that a word declares, as lists.
    pub(super) fn lists(&self, word: Kind) -> impl Iterator<Item = CompletionItem> {
        self.of(word).map(|family| self.family(family, false))
    }

    /// The members of the families that a word declares.
    pub(super) fn members(&self, word: Kind) -> impl Iterator<Item = CompletionItem> {
        self.of(word).map(|family| self.member(family))
    }

    fn member(&self, family: &Family) -> CompletionItem {
        self.family(family, family.indices)
    }

    /// A family, with brackets for an index where `indexed`.
    fn family(&self, family: &Family, indexed: bool) -> CompletionItem {
        CompletionItem {
            documentation: self.documentation(&family.name),
            ..items::family(&family.name, indexed, &family.declaration)
        }
    }

    /// The type of the indices of what has a name; none if it is not a family of channels, semaphores or blocks.
    pub(super) fn index_of(&self, name: &str) -> Option<&'static str> {
        let indexed = |family: &&Family| family.name == name && family.word != Kind::Scratch;
        let family = self.families.iter().find(indexed);
        family.map(|family| if family.by_rank { "rank" } else { "int" })
    }

    /// Semaphores.
    pub(super) fn semaphores(&self) -> impl Iterator<Item = CompletionItem> {
        let own = self.of(Kind::Semaphore).map(|family| self.member(family));
        own.chain(self.lists_of("semaphore"))
    }

    /// The names of blocks.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &str> {
        self.of(Kind::Block).map(|family| family.name.as_str())
    }

    /// The families of channels, with their kinds.
    pub(super) fn links(&self) -> impl Iterator<Item = (&str, Link)> {
        self.of(Kind::Channel).filter_map(|family| Some((family.name.as_str(), family.link?)))
    }

    /// Whether a name is bound at the cursor.
    pub(super) fn binds(&self, name: &str) -> bool {
        self.bound.iter().any(|bound| bound == name)
    }

    /// The names bound at the cursor, the nearest first.
    fn nearest(&self) -> impl Iterator<Item = &str> {
        let rebound = |(at, name): (usize, &String)| {
            self.bound.get(at + 1..)?.iter().find(|later| *later == name)
        };
        let names = self.bound.iter().enumerate().rev();
        names
            .filter(move |(at, name)| rebound((*at, name)).is_none())
            .map(|(_, name)| name.as_str())
    }

    /// Names bound at the cursor with their types, the nearest first.
    pub(super) fn values(&self) -> impl Iterator<Item = CompletionItem> {
        self.nearest().map(|name| CompletionItem {
            detail: self.types.get(name).cloned(),
            documentation: self.documentation(name),
            ..items::name(name)
        })
    }

    /// The documentation of what the top level of a program declares by a name.
    fn documentation(&self, name: &str) -> Option<Documentation> {
        declared::documentation_inside(&self.analysis.parsed(self.part).file, name)
            .map(items::markdown)
    }

    /// Names bound at the cursor that are numbers.
    pub(super) fn counts(&self) -> impl Iterator<Item = CompletionItem> {
        self.values().filter(|item| item.detail.as_deref() == Some("int"))
    }

    /// Constants of the file, and functions, each with its beginning.
    pub(super) fn functions(&self) -> impl Iterator<Item = CompletionItem> {
        let functions =
            self.names(|unit| unit.functions.iter().map(|row| row.name.clone()).collect());
        let functions = functions.into_iter().map(|named| {
            named.introduced(self.analysis, called(&named.here, CompletionItemKind::FUNCTION))
        });
        let mut constants =
            self.names(|unit| unit.constants.iter().map(|row| row.name.clone()).collect());
        // Functions may be recursive; constants may not.
        let own = index(&self.analysis.parsed(self.part).file).entries;
        let is_own = |named: &Named| {
            own.iter().any(|row| row.kind == EntryKind::Constant && row.name == named.here)
        };
        constants.retain(|named| !is_own(named));
        let constants = constants.into_iter().map(|named| {
            let item = CompletionItem {
                kind: Some(CompletionItemKind::CONSTANT),
                ..items::name(&named.here)
            };
            named.introduced(self.analysis, item)
        });
        constants.collect::<Vec<_>>().into_iter().chain(functions)
    }

    /// Procedures that can be called at the cursor.
    pub(super) fn procedures(&self) -> impl Iterator<Item = CompletionItem> {
        let allowed = |unit: &Unit| -> Vec<String> {
            let rows = unit.procedures.iter();
            let rows = rows.filter(|row| procedures::allowed(unit, row, self.level));
            rows.map(|row| row.name.clone()).collect()
        };
        let named = self.names(allowed).into_iter();
        named.map(|named| named.introduced(self.analysis, procedure(&named.here)))
    }

    /// Channels that can be named as the other end of one.
    pub(super) fn ends(&self) -> impl Iterator<Item = CompletionItem> {
        let families = self.of(Kind::Channel);
        let ends = families.filter(|family| family.link != Some(Link::Switch));
        ends.map(|family| self.member(family))
    }

    /// Collectives that can be implemented.
    pub(super) fn collectives(&self) -> Vec<CompletionItem> {
        let named =
            self.names(|unit| unit.collectives.iter().map(|row| row.name.clone()).collect());
        let item = |named: &Named| {
            named.introduced(self.analysis, called(&named.here, CompletionItemKind::INTERFACE))
        };
        named.iter().map(item).collect()
    }

    /// Topologies of which a program can say that it is for them.
    pub(super) fn topologies(&self) -> Vec<CompletionItem> {
        let named = self.names(|unit| unit.topologies.iter().map(|row| row.name.clone()).collect());
        let item = |named: &Named| topology(self.analysis, named, &named.here);
        named.iter().map(item).collect()
    }

    /// The switches that links can end at: those of the topology at the cursor, or of a topology that is named.
    pub(super) fn switches(&self, topology: Option<&str>) -> Vec<CompletionItem> {
        let Some(name) = topology else { return self.switches.clone() };
        let topologies = self.resolved.unit.topologies.iter();
        let switches =
            topologies.filter(|row| row.name == name).flat_map(|row| row.switches.iter());
        switches.map(|row| items::family(&row.name, !row.dimensions.is_empty(), "switch")).collect()
    }

    /// Those of the file's declarations and imports that are among the ones `of` a unit.
    fn names(&self, of: impl Fn(&Unit) -> Vec<String>) -> BTreeSet<Named> {
        let mut names = BTreeSet::new();
        for part in self.analysis.parts() {
            let brought = brought(self.analysis, &self.analysis.parsed(part).file);
            if brought.is_empty() {
                continue;
            }
            let resolved = database::resolved(self.analysis.database, part.declaration);
            let all = of(&resolved.unit);
            names.extend(brought.into_iter().filter(|named| all.contains(&named.name)));
        }
        names
    }

    /// Whether the file declares or imports a name.
    pub(super) fn is_named(&self, name: &str) -> bool {
        let directory = database::directory(self.analysis.database, self.analysis.document);
        directory.declaring.contains_key(name)
    }

    fn of(&self, word: Kind) -> impl Iterator<Item = &Family> {
        self.families.iter().filter(move |family| family.word == word)
    }

    /// Bound names of a type, or of lists of it.
    fn lists_of(&self, member: &'static str) -> impl Iterator<Item = CompletionItem> {
        let fits = move |name: &&str| {
            self.types.get(*name).is_some_and(|ty| ty.trim_end_matches("[]") == member)
        };
        self.nearest().filter(fits).map(items::name)
    }
}

/// The names that a declaration brings into its file, programs aside.
fn brought(analysis: &Analysis<'_>, file: &ast::File) -> Vec<Named> {
    let here = analysis.name();
    let entries = index(file).entries.into_iter();
    let entries = entries.filter(|entry| entry.kind != EntryKind::Program);
    let own =
        |entry: Entry| Named { here: entry.name.clone(), file: here.to_string(), name: entry.name };
    let mut names: Vec<Named> = entries.map(own).collect();
    for item in &file.items {
        if let ast::ItemKind::Use(used) = &item.kind {
            let from = analysis.imported(used).unwrap_or_default();
            names.extend(used.names.iter().map(|one| Named {
                here: one.known_as().text.clone(),
                file: from.clone(),
                name: one.name.text.clone(),
            }));
        }
    }
    names
}

/// The names of all parameters of a declaration.
fn parameters(file: &ast::File) -> BTreeSet<String> {
    let of = |item: &ast::Item| match &item.kind {
        ast::ItemKind::Function(row) => names_of(&row.parameters),
        ast::ItemKind::Procedure(row) => names_of(&row.parameters),
        ast::ItemKind::Collective(row) => names_of(&row.parameters),
        ast::ItemKind::Topology(row) => names_of(&row.parameters),
        ast::ItemKind::Program(row) => names_of(&row.parameters),
        ast::ItemKind::Use(_) | ast::ItemKind::Let(_) => Vec::new(),
    };
    file.items.iter().flat_map(of).collect()
}

fn names_of(parameters: &[ast::Parameter]) -> Vec<String> {
    parameters.iter().map(|parameter| parameter.name.text.clone()).collect()
}

/// A function or collective, with brackets for its arguments.
pub(super) fn called(name: &str, kind: CompletionItemKind) -> CompletionItem {
    let text = format!("{name}($1)");
    CompletionItem { kind: Some(kind), documentation: None, ..items::snippet(name, &text) }
}

/// A topology, with brackets for its arguments if it has parameters.
pub(super) fn topology(analysis: &Analysis<'_>, named: &Named, here: &str) -> CompletionItem {
    let kind = CompletionItemKind::STRUCT;
    let item = named.introduced(analysis, called(here, kind));
    let is_called = item.detail.as_ref().is_none_or(|detail| detail.contains('('));
    if is_called {
        item
    } else {
        CompletionItem { insert_text: None, insert_text_format: None, ..item }
    }
}

/// A procedure call.
pub(super) fn procedure(name: &str) -> CompletionItem {
    let text = format!("{name}($1);");
    CompletionItem {
        kind: Some(CompletionItemKind::METHOD),
        documentation: None,
        ..items::snippet(name, &text)
    }
}

/// The families that a program declares, regardless of where the cursor is.
fn families(all: &[Token<'_>]) -> Vec<Family> {
    let mut found: Vec<Family> = Vec::new();
    for (i, pair) in all.windows(3).enumerate() {
        let [word, name, next] = pair else { continue };
        let declares =
            matches!(word.kind, Kind::Scratch | Kind::Channel | Kind::Semaphore | Kind::Block);
        if !declares || !name.kind.is_name() || found.iter().any(|one| one.name == name.text) {
            continue;
        }
        let rest = all.get(i..).unwrap_or_default().iter();
        let rest =
            rest.take_while(|token| !matches!(token.kind, Kind::Semicolon | Kind::LeftBrace));
        let declared: Vec<Token<'_>> = rest.copied().collect();
        let mut links = declared.iter().filter_map(|token| match token.text {
            "memory" => Some(Link::Memory),
            "port" => Some(Link::Port),
            "switch" => Some(Link::Switch),
            _ => None,
        });
        let first = links.next().filter(|_| word.kind == Kind::Channel);
        let link = first.filter(|first| links.all(|link| link == *first));
        let indices = next.kind == Kind::LeftBracket;
        let dimensions = declared.iter().take_while(|token| token.kind != Kind::RightBracket);
        let mut dimensions = dimensions.skip_while(|token| token.kind != Kind::In);
        found.push(Family {
            name: name.text.to_owned(),
            word: word.kind,
            indices,
            by_rank: dimensions.any(|token| token.text.ends_with("peers")),
            link,
            declaration: excerpt::line(&declared),
        });
    }
    found
}

/// The switches that a topology declares, regardless of where the cursor is.
fn switches(all: &[Token<'_>]) -> Vec<CompletionItem> {
    let rows = all.windows(3).filter_map(|row| match row {
        [word, name, next] if word.kind == Kind::Switch && name.kind.is_name() => {
            let is_family = next.kind == Kind::LeftBracket;
            Some(items::family(name.text, is_family, "switch"))
        }
        _ => None,
    });
    rows.collect()
}

/// The options that a program sets, regardless of where the cursor is.
fn options(all: &[Token<'_>]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut depth, mut last) = (0_usize, None);
    for token in all.iter().skip_while(|token| token.kind != Kind::Options) {
        match token.kind {
            Kind::LeftBrace => depth += 1,
            Kind::RightBrace if depth <= 1 => break,
            Kind::RightBrace => depth -= 1,
            Kind::Equal if depth == 1 => found.extend(last.map(str::to_owned)),
            _ => {}
        }
        last = token.kind.is_name().then_some(token.text);
    }
    found
}

/// A bracket that is open.
struct Open {
    /// The first word of the statement that it belongs to.
    head: Option<Kind>,
    /// Whether that is an `if`.
    chosen: bool,
    bracket: Kind,
    /// The names bound before the statement that it belongs to; restored when a body closes.
    bound: Vec<String>,
}

/// Determines where the cursor is, where its statement begins, and what is bound there.
fn read(before: &[Token<'_>]) -> Reader {
    let mut reader = Reader::default();
    for (i, token) in before.iter().enumerate() {
        reader.token(before, i, token.kind);
    }
    reader
}

/// The state after the tokens read so far.
#[derive(Default)]
struct Reader {
    open: Vec<Open>,
    /// Names bound where the statement begins, the nearest last.
    base: Vec<String>,
    /// Names bound so far, in the statement or before it.
    bound: Vec<String>,
    /// Names of binders, which are bound once their lists end, with the number of brackets that are open at each.
    binding: Vec<(usize, String)>,
    start: usize,
    /// Whether the last token ends the body of an `if`.
    after_if: bool,
}

impl Reader {
    fn token(&mut self, before: &[Token<'_>], i: usize, kind: Kind) {
        self.after_if = false;
        self.ends_list(before, i, kind);
        if self.ends_parameter(before, i, kind) {
            self.bound.extend(name_at(before, i.checked_sub(1)));
        }
        match kind {
            Kind::LeftBrace | Kind::LeftBracket | Kind::LeftParen => self.opens(before, i, kind),
            Kind::RightBrace | Kind::RightBracket | Kind::RightParen => self.closes(i, kind),
            Kind::Semicolon => {
                if before.get(self.start).is_some_and(|token| token.kind == Kind::Let) {
                    self.base.extend(name_at(before, Some(self.start + 1)));
                }
                self.bound.clone_from(&self.base);
                self.binding.clear();
                self.start = i + 1;
            }
            Kind::In => {
                let name = name_at(before, i.checked_sub(1));
                self.binding.extend(name.map(|name| (self.open.len(), name)));
            }
            _ => {}
        }
    }

    /// Whether a parameter's name is just before a token.
    fn ends_parameter(&self, before: &[Token<'_>], i: usize, kind: Kind) -> bool {
        let ends = matches!(kind, Kind::Colon | Kind::Equal | Kind::Comma | Kind::RightParen);
        let two = i.checked_sub(2).and_then(|i| before.get(i)).map(|token| token.kind);
        let [only] = self.open.as_slice() else { return false };
        ends && only.bracket == Kind::LeftParen
            && matches!(two, Some(Kind::LeftParen | Kind::Comma))
            && matches!(
                only.head,
                Some(Kind::Program | Kind::Proc | Kind::Fn | Kind::Collective | Kind::Topology)
            )
    }

    /// Binds the names of binders whose lists end at a token.
    fn ends_list(&mut self, before: &[Token<'_>], i: usize, kind: Kind) {
        let ends = match kind {
            Kind::If | Kind::Colon | Kind::Comma => true,
            Kind::RightBrace | Kind::RightBracket | Kind::RightParen => true,
            Kind::LeftBrace => self.is_body(before, i),
            _ => false,
        };
        let depth = self.open.len();
        while let Some((_, name)) = self.binding.pop_if(|(at, _)| ends && *at >= depth) {
            self.bound.push(name);
        }
    }

    /// Whether a brace opens a body.
    fn is_body(&self, before: &[Token<'_>], i: usize) -> bool {
        let head = before.get(self.start).map(|token| token.kind);
        let last = i.checked_sub(1).and_then(|i| before.get(i)).map(|token| token.kind);
        let value = matches!(last, Some(Kind::In | Kind::Equal | Kind::LeftParen | Kind::Comma));
        let bodiless = matches!(head, Some(Kind::Use | Kind::Let | Kind::Require | Kind::Fn));
        !value && !bodiless
    }

    fn opens(&mut self, before: &[Token<'_>], i: usize, kind: Kind) {
        let head = before.get(self.start).map(|token| token.kind);
        let body = kind == Kind::LeftBrace && self.is_body(before, i);
        let bracket = if body { Kind::LeftBrace } else { Kind::LeftParen };
        let chosen = before.get(self.start + 1).is_some_and(|token| token.kind == Kind::If);
        let chosen = head == Some(Kind::If) || head == Some(Kind::Else) && chosen;
        self.open.push(Open { head, chosen, bracket, bound: self.base.clone() });
        if body {
            self.base.clone_from(&self.bound);
            self.start = i + 1;
        }
    }

    fn closes(&mut self, i: usize, kind: Kind) {
        let Some(closed) = self.open.pop() else { return };
        if closed.bracket == Kind::LeftBrace {
            self.base = closed.bound;
            self.bound.clone_from(&self.base);
            self.start = i + 1;
            self.after_if = closed.chosen;
        } else if closed.head == Some(Kind::Hash) && kind == Kind::RightBracket {
            // An attribute precedes the statement that it applies to.
            self.start = i + 1;
        }
    }
}

fn name_at(tokens: &[Token<'_>], at: Option<usize>) -> Option<String> {
    let token = at.and_then(|at| tokens.get(at))?;
    token.kind.is_name().then(|| token.text.to_owned())
}

fn level(open: &[Open]) -> Level {
    let mut level = Level::File;
    for open in open.iter().filter(|open| open.bracket == Kind::LeftBrace) {
        level = match (open.head, level) {
            (Some(Kind::Program), _) => Level::Program,
            (Some(Kind::Proc), _) => Level::Procedure,
            (Some(Kind::Collective), Level::File) => Level::Collective,
            (Some(Kind::Topology), Level::File) => Level::Topology,
            (Some(Kind::Switch), Level::Topology) => Level::Switch,
            (Some(Kind::InPlace), Level::Collective) => Level::InPlace,
            (Some(Kind::Ensures), Level::Collective) => Level::Ensures,
            (Some(Kind::Options), _) => Level::Options,
            (Some(Kind::Block), _) => Level::Block,
            (Some(Kind::Group), _) => Level::Group,
            (Some(Kind::Pipeline), Level::Program) => Level::Window,
            (Some(Kind::Pipeline), Level::Block) => Level::Round,
            (Some(_) | None, level) => level,
        };
    }
    level
}
