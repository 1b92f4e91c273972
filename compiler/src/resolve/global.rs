//! The names at the top of files. In: parsed modules. Out: what each name stands for in each file.
//!
//! Functions, procedures and constants share one name space. Collectives have their own, since they are named only
//! after the word `collective`; so have topologies and programs. Nothing is declared twice (E0203). An import names something that
//! the other file declares itself and that is not a program (E0206).

use super::attribute;
use super::index::{Entry, EntryKind};
use super::item::Found;
use super::load::{Module, ModuleId, Modules, uses};
use super::name::meant;
use super::program::{
    Allowed, CollectiveId, ConstantId, FunctionId, ProcedureId, ProgramId, TopologyId,
};
use super::usage::{self, Uses};
use crate::diagnostic::{Code, Diagnostic, listed, nearest};
use crate::source::Span;
use crate::syntax::ast;
use crate::table::Table;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// The declaration that a name at the top of a file stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Entity {
    /// A function.
    Function(FunctionId),
    /// A procedure.
    Procedure(ProcedureId),
    /// A constant.
    Constant(ConstantId),
    /// A collective.
    Collective(CollectiveId),
    /// A topology.
    Topology(TopologyId),
    /// A program.
    Program(ProgramId),
    /// An import that was reported, or a declaration that a syntax error hides.
    Lost,
}

/// A name in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    /// What it stands for.
    pub(super) entity: Entity,
    /// Where the file declares or imports it.
    pub(super) span: Span,
    /// Where it is declared.
    pub(super) definition: Span,
    /// Whether it is an import.
    pub(super) imported: bool,
}

/// The names of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Functions, procedures and constants.
    pub(super) values: BTreeMap<String, Named>,
    /// Collectives.
    pub(super) collectives: BTreeMap<String, Named>,
    /// Topologies.
    pub(super) topologies: BTreeMap<String, Named>,
    /// Programs.
    programs: BTreeMap<String, Named>,
    /// Names that are declared twice.
    clashes: BTreeSet<String>,
}

/// A declaration, with the file that it is in.
#[derive(Debug)]
pub(super) struct Declared<'m, T> {
    /// The file.
    pub(super) module: ModuleId,
    /// The item around it.
    pub(super) item: &'m ast::Item,
    /// The declaration.
    pub(super) ast: &'m T,
}

impl<T> Clone for Declared<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Declared<'_, T> {}

/// Everything that the files declare.
#[derive(Clone, Debug)]
pub(super) struct Globals<'m> {
    /// The files.
    pub(super) modules: &'m Modules,
    /// The names of each.
    pub(super) names: Table<ModuleId, Names>,
    /// All functions.
    pub(super) functions: Table<FunctionId, Declared<'m, ast::Function>>,
    /// All procedures.
    pub(super) procedures: Table<ProcedureId, Declared<'m, ast::Procedure>>,
    /// All constants.
    pub(super) constants: Table<ConstantId, Declared<'m, ast::Let>>,
    /// All collectives.
    pub(super) collectives: Table<CollectiveId, Declared<'m, ast::Collective>>,
    /// All topologies.
    pub(super) topologies: Table<TopologyId, Declared<'m, ast::Topology>>,
    /// The programs of the first file.
    pub(super) programs: Table<ProgramId, Declared<'m, ast::Program>>,
    /// For how many more unknown names similar ones are looked for.
    suggestions_left: Cell<usize>,
}

/// For how many unknown names similar ones are looked for, and among how many: each is compared with each.
const MOST_SUGGESTIONS: usize = 200;
const MOST_CANDIDATES: usize = 10_000;

impl<'m> Globals<'m> {
    /// The declarations of all files, and what each file's imports stand for.
    pub(super) fn new(modules: &'m Modules, reports: &mut Vec<Diagnostic>) -> Globals<'m> {
        let mut globals = Globals {
            modules,
            names: modules.modules.ids().map(|_| Names::default()).collect(),
            functions: Table::default(),
            procedures: Table::default(),
            constants: Table::default(),
            collectives: Table::default(),
            topologies: Table::default(),
            programs: Table::default(),
            suggestions_left: Cell::new(MOST_SUGGESTIONS),
        };
        for (module, file) in modules.modules.entries() {
            globals.declare(module, file, reports);
        }
        for (module, file) in modules.modules.entries() {
            for ((use_, _), from) in uses(&file.ast).into_iter().zip(&file.imports) {
                for name in &use_.names {
                    globals.import(module, *from, name, reports);
                }
                if use_.names.is_empty() && !file.is_broken() {
                    reports.extend(from.map(|_| import_without_names(use_)));
                }
            }
        }
        globals
    }

    /// Reorders the constants; `order` contains each of them once.
    pub(super) fn reorder_constants(&mut self, order: &[ConstantId]) {
        let mut moved: BTreeMap<ConstantId, ConstantId> = BTreeMap::new();
        let mut constants = Table::default();
        for &old in order {
            moved.insert(old, constants.push(self.constants[old]));
        }
        self.constants = constants;
        for names in self.names.iter_mut() {
            for named in names.values.values_mut() {
                if let Entity::Constant(id) = &mut named.entity {
                    *id = moved.get(id).copied().unwrap_or(*id);
                }
            }
        }
    }

    fn declare(&mut self, module: ModuleId, file: &'m Module, reports: &mut Vec<Diagnostic>) {
        let mut entries = file.index.entries.iter();
        for item in &file.ast.items {
            let entity = match &item.kind {
                ast::ItemKind::Use(_) => continue,
                ast::ItemKind::Function(ast) => {
                    Entity::Function(self.functions.push(Declared { module, item, ast }))
                }
                ast::ItemKind::Procedure(ast) => {
                    Entity::Procedure(self.procedures.push(Declared { module, item, ast }))
                }
                ast::ItemKind::Let(ast) => {
                    Entity::Constant(self.constants.push(Declared { module, item, ast }))
                }
                ast::ItemKind::Collective(ast) => {
                    Entity::Collective(self.collectives.push(Declared { module, item, ast }))
                }
                ast::ItemKind::Topology(ast) => {
                    Entity::Topology(self.topologies.push(Declared { module, item, ast }))
                }
                ast::ItemKind::Program(ast) if module == ModuleId::default() => {
                    Entity::Program(self.programs.push(Declared { module, item, ast }))
                }
                ast::ItemKind::Program(_) => Entity::Lost,
            };
            if let Some(entry) = entries.next() {
                let named =
                    Named { entity, span: entry.span, definition: entry.span, imported: false };
                self.names[module].add(entry.kind, &entry.name, named, reports);
            }
        }
    }

    fn import(
        &mut self,
        module: ModuleId,
        from: Option<ModuleId>,
        name: &ast::UseName,
        reports: &mut Vec<Diagnostic>,
    ) {
        let here = name.known_as();
        let found = from.and_then(|from| self.exported(from, &name.name, reports));
        let named =
            |entity, definition| Named { entity, span: here.span, definition, imported: true };
        match found {
            Some((kind, entity, definition)) => {
                self.names[module].add(kind, &here.text, named(entity, definition), reports);
            }
            None => {
                let lost = named(Entity::Lost, here.span);
                let meant = from.and_then(|from| self.offered_like(from, &name.name.text));
                let names = &mut self.names[module];
                // The name that was meant may be used with its correct spelling.
                for text in [Some(&here.text), meant.as_ref()].into_iter().flatten() {
                    names.values.entry(text.clone()).or_insert(lost);
                    names.collectives.entry(text.clone()).or_insert(lost);
                    names.topologies.entry(text.clone()).or_insert(lost);
                }
            }
        }
    }

    /// Does something whose reports nobody sees: similar names are not looked for.
    pub(super) fn without_suggestions<T>(&self, run: impl FnOnce() -> T) -> T {
        let left = self.suggestions_left.take();
        let result = run();
        self.suggestions_left.set(left);
        result
    }

    /// Whether similar names may be looked for once more.
    pub(super) fn may_suggest(&self) -> bool {
        self.suggestions_left.get() > 0
    }

    /// The most similar of these names; none if many names before were unknown, too.
    pub(super) fn nearest<'n>(
        &self,
        name: &str,
        candidates: impl IntoIterator<Item = &'n str>,
    ) -> Option<String> {
        let left = self.suggestions_left.get().checked_sub(1)?;
        self.suggestions_left.set(left);
        nearest(name, candidates.into_iter().take(MOST_CANDIDATES)).map(str::to_owned)
    }

    /// The name of something that a file offers that is similar to this one.
    fn offered_like(&self, from: ModuleId, name: &str) -> Option<String> {
        let entries = self.modules.modules[from].index.entries.iter();
        let offered = entries.filter(|entry| entry.kind != EntryKind::Program);
        self.nearest(name, offered.map(|entry| entry.name.as_str()))
    }

    /// Records that an import refers to what it imports, also under the alias that it gives it.
    fn note_import(&self, module: ModuleId, name: &ast::UseName, uses: &mut Uses) {
        let here = name.known_as();
        let names = &self.names[module];
        for space in [&names.values, &names.collectives, &names.topologies] {
            let known = space.get(&here.text).filter(|named| named.entity != Entity::Lost);
            if let Some(named) = known.filter(|named| named.span == here.span) {
                uses.add(name.name.span, named.definition);
                uses.definitions.extend(name.alias.as_ref().map(|a| (a.span, named.definition)));
            }
        }
    }

    /// What a file offers under a name; reports a name under which it offers nothing.
    fn exported(
        &self,
        from: ModuleId,
        name: &ast::Name,
        reports: &mut Vec<Diagnostic>,
    ) -> Option<(EntryKind, Entity, Span)> {
        let file = &self.modules.modules[from];
        let declared = file.index.entries.iter().filter(|entry| entry.name == name.text);
        let importable = declared.clone().find(|entry| entry.kind != EntryKind::Program);
        let Some(entry) = importable else {
            if let Some(program) = declared.clone().next() {
                reports.push(program_import(name, program));
            } else if !file.lost.contains(&name.text) {
                reports.push(unknown_import(self, from, name));
            }
            return None;
        };
        let names = &self.names[from];
        let space = match entry.kind {
            EntryKind::Collective => &names.collectives,
            EntryKind::Topology => &names.topologies,
            EntryKind::Constant
            | EntryKind::Function
            | EntryKind::Procedure
            | EntryKind::Program => &names.values,
        };
        let entity = space.get(&name.text).map_or(Entity::Lost, |named| named.entity);
        Some((entry.kind, entity, entry.span))
    }
}

impl Names {
    fn add(&mut self, kind: EntryKind, name: &str, named: Named, reports: &mut Vec<Diagnostic>) {
        let space = match kind {
            EntryKind::Collective => &mut self.collectives,
            EntryKind::Topology => &mut self.topologies,
            EntryKind::Program => &mut self.programs,
            EntryKind::Constant | EntryKind::Function | EntryKind::Procedure => &mut self.values,
        };
        match space.get(name) {
            Some(first) if first.entity != Entity::Lost || !first.imported => {
                reports.push(declared_twice(name, named.span, first.span));
                self.clashes.insert(name.to_owned());
            }
            _ => {
                space.insert(name.to_owned(), named);
            }
        }
    }
}

/// Records what imports refer to, warns about imports of the first file that nothing in it uses, and checks the
/// attributes of all imports.
pub(super) fn check_imports(globals: &Globals, found: &mut Found) {
    for (id, module) in globals.modules.modules.entries() {
        for item in &module.ast.items {
            let ast::ItemKind::Use(use_) = &item.kind else { continue };
            let none = Allowed::default();
            let allowed = attribute::allowed(&item.attributes, &none, &mut found.reports);
            for name in &use_.names {
                globals.note_import(id, name, &mut found.uses);
            }
            if id != ModuleId::default()
                || module.is_broken()
                || attribute::accepts_unused(&allowed, Code::W0201)
            {
                continue;
            }
            let is_unused = |name: &ast::UseName| {
                let (here, names) = (name.known_as(), &globals.names[id]);
                let spaces = [&names.values, &names.collectives, &names.topologies];
                let known = spaces.into_iter().find_map(|space| space.get(&here.text));
                let lost = known.is_none_or(|named| named.entity == Entity::Lost);
                let used =
                    found.mentioned.contains(&here.text) || names.clashes.contains(&here.text);
                !lost && !used && !here.text.starts_with('_')
            };
            let unused: Vec<bool> = use_.names.iter().map(is_unused).collect();
            found.reports.extend(usage::unused_imports(item, use_, &unused, &module.text));
        }
    }
}

/// Two declarations of one name in one scope.
pub(super) fn declared_twice(name: &str, second: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::E0203, second, format!("`{name}` is declared twice"))
        .label("declared again here")
        .and(first, "first declared here")
}

fn import_without_names(use_: &ast::Use) -> Diagnostic {
    let span = match &use_.root {
        ast::UseRoot::Name(name) => name.span,
        ast::UseRoot::File(path) => path.span,
    };
    Diagnostic::new(Code::E0206, span, "this import names nothing in the file")
        .help("name what you want from it: `use \"common.ccl\"::handshake;`")
}

fn program_import(name: &ast::Name, program: &Entry) -> Diagnostic {
    Diagnostic::new(Code::E0206, name.span, format!("`{}` is a program", name.text))
        .label("only functions, procedures, collectives, topologies and constants can be imported")
        .and(program.span, "declared here")
}

fn unknown_import(globals: &Globals, from: ModuleId, name: &ast::Name) -> Diagnostic {
    let file = &globals.modules.modules[from];
    let message = format!("`{}` declares no `{}`", file.name, name.text);
    let report = Diagnostic::new(Code::E0206, name.span, message);
    if let Some(near) = globals.offered_like(from, &name.text) {
        return meant(report, name.span, &near);
    }
    let names = &globals.names[from];
    let elsewhere = [&names.values, &names.collectives, &names.topologies]
        .into_iter()
        .find_map(|s| s.get(&name.text));
    if let Some(named) = elsewhere.filter(|named| named.imported) {
        return report
            .and(named.span, "imported there itself")
            .help("import it from the file that declares it");
    }
    let all = file.index.entries.iter().filter(|entry| entry.kind != EntryKind::Program);
    let all: Vec<String> = all.map(|entry| format!("`{}`", entry.name)).collect();
    if all.is_empty() { report } else { report.note(format!("it declares {}", listed(&all))) }
}
