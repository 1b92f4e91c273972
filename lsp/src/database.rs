//! Everything known about all files: salsa inputs, and queries over them.
//!
//! ```text
//! Document ── outline ──> Declaration ── parsed ──> names, canon ── excerpt ──> resolved ── proved
//!  (text)      (pieces)    (its text)                  (of what it reaches)     (types)     (one program)
//! ```
//!
//! A declaration is processed together with the declarations that it needs, and with nothing else, in a text without
//! comments and empty lines ([`Excerpt`]). An edit therefore reruns only what depends on the tokens that changed, even
//! if they have moved. Reports and uses are in offsets of that text; [`crate::analysis`] maps them back.

use crate::cut;
use crate::diagnostics;
use crate::entangled::entangled;
use crate::excerpt::{self, Canon, Excerpt, Names};
pub use crate::inputs::{Configuration, Declaration, Document, Reach, Text};
use crate::settings::Settings;
use crate::text::{Encoding, Lines};
use compiler::diagnostic::Diagnostic;
use compiler::driver;
use compiler::interrupt::Interrupt;
use compiler::ir;
use compiler::resolve;
use compiler::resolve::program::{ProgramId, Unit};
use compiler::resolve::usage::Uses;
use compiler::source::{FileId, SourceMap};
use compiler::syntax;
use compiler::syntax::ast;
use salsa::Setter as _;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The declarations of a file, with the offsets at which they begin.
#[derive(Clone, Debug, PartialEq, Eq, salsa::SalsaValue)]
pub struct Outline<'db> {
    /// In order; the first begins at 0, each extends to the beginning of the next one.
    pub declarations: Vec<(u32, Declaration<'db>)>,
}

/// A declaration's syntax tree; spans are relative to its beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The tree; it usually has one item.
    pub file: ast::File,
    /// Syntax errors.
    pub reports: Vec<Diagnostic>,
}

/// A declaration and everything that it needs, after name resolution; spans are those of the excerpt.
#[derive(Debug)]
pub struct Resolved {
    /// The excerpt first, then imported files.
    pub sources: SourceMap,
    /// The resolved form of the declarations.
    pub unit: Unit,
    /// What is wrong with them.
    pub reports: Vec<Diagnostic>,
    /// The definition of each use of a name.
    pub uses: Uses,
    /// Names of the file that are used somewhere in them.
    pub mentioned: BTreeSet<String>,
    /// Whether there are errors, here or in an imported file.
    pub broken: bool,
}

impl Resolved {
    /// The program, if the declaration is one; none if there are several in a file that is not cut.
    #[must_use]
    pub fn program(&self) -> Option<ProgramId> {
        let mut programs = self.unit.programs.ids();
        programs.next().filter(|_| programs.next().is_none())
    }
}

/// The result of the checks of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proved {
    /// Reports, in offsets of the excerpt.
    pub reports: Vec<Diagnostic>,
    /// The size of the program, if it could be lowered.
    pub shape: Option<Shape>,
}

/// The size of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Ranks.
    pub ranks: usize,
    /// Thread blocks of the rank that has the most.
    pub blocks: usize,
    /// Operations over all ranks.
    pub operations: usize,
}

/// How often queries were run; for tests and for the log.
#[derive(Debug, Default)]
pub struct Counts {
    /// Declarations parsed.
    pub parsed: AtomicUsize,
    /// Declarations resolved.
    pub resolved: AtomicUsize,
    /// Programs checked.
    pub proved: AtomicUsize,
}

/// Files that are not open.
pub trait Disk: Send + Sync {
    /// The text of a file.
    ///
    /// # Errors
    /// A short explanation of why there is none, for instance because it is outside the workspace.
    fn read(&self, name: &str) -> Text;

    /// Refuses a file, open or not, that the file `main` may not import, not even through others.
    ///
    /// # Errors
    /// Why it may not, in words with `outside` among them.
    fn refuse_import(&self, main: &str, name: &str) -> Result<(), String>;
}

/// A disk without folders, on which every file may import every other one.
impl<F: Fn(&str) -> Text + Send + Sync> Disk for F {
    fn read(&self, name: &str) -> Text {
        self(name)
    }

    fn refuse_import(&self, _: &str, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// What queries need in addition to each other.
#[salsa::db]
pub trait Db: salsa::Database {
    /// The file with a name; it is read from the disk if it has not been requested before.
    fn document(&self, name: &str) -> Document;
    /// The text of a file that the file `main` imports, directly or not; the error is the reason why it has none.
    fn import(&self, main: &str, name: &str) -> Text;
    /// The flag that is set when an answer is no longer wanted.
    fn interrupt(&self) -> &Interrupt;
    /// How often queries were run.
    fn counts(&self) -> &Counts;

    /// Unwinds if an answer is no longer wanted: results so far may be incomplete and must not be cached.
    fn give_way(&self) {
        while self.interrupt().is_set() {
            // Whoever sets the flag writes an input next, which cancels this revision.
            self.unwind_if_revision_cancelled();
            std::thread::yield_now();
        }
    }
}

/// The database. A clone is a snapshot; setting an input waits until all clones are dropped.
#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: salsa::Storage<Database>,
    documents: Arc<Mutex<BTreeMap<String, Document>>>,
    disk: Arc<dyn Disk>,
    interrupt: Interrupt,
    counts: Arc<Counts>,
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl Db for Database {
    fn document(&self, name: &str) -> Document {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        *documents
            .entry(name.to_owned())
            .or_insert_with(|| Document::new(self, name.into(), self.disk.read(name)))
    }

    fn import(&self, main: &str, name: &str) -> Text {
        // What may be imported is asked again when the folders have changed.
        Reach::get(self).changes(self);
        self.disk.refuse_import(main, name)?;
        self.document(name).text(self)
    }

    fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }
}

impl Database {
    /// An empty database.
    #[must_use]
    pub fn new(disk: Arc<dyn Disk>) -> Database {
        let database = Database {
            storage: salsa::Storage::default(),
            documents: Arc::default(),
            disk,
            interrupt: Interrupt::default(),
            counts: Arc::default(),
        };
        Configuration::new(&database, Arc::default());
        Reach::new(&database, 0);
        database
    }

    /// Gives a file a new text. Cancels everything that is being computed, and waits until it has stopped.
    pub fn set_text(&mut self, name: &str, text: Text) {
        let document = self.document(name);
        if document.text(self) != text {
            self.stop();
            let _ = document.set_text(self).to(text);
        }
    }

    /// Sets the editor's settings.
    pub fn set_settings(&mut self, settings: Settings) {
        self.stop();
        let configuration = Configuration::get(self);
        configuration.set_settings(self).to(Arc::new(settings));
    }

    /// Asks again what files may import, since the editor's folders have changed.
    pub fn change_folders(&mut self) {
        self.stop();
        let reach = Reach::get(self);
        let changes = reach.changes(self) + 1;
        reach.set_changes(self).to(changes);
    }

    /// Reads a file again, if it was read before.
    pub fn refresh(&mut self, name: &str) {
        let known = self.known(name);
        if known {
            let text = self.disk.read(name);
            self.set_text(name, text);
        }
    }

    /// Reads all files again that were read before.
    pub fn refresh_all(&mut self) {
        let documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for name in documents.keys() {
            self.refresh(name);
        }
    }

    /// Whether a file has been requested.
    #[must_use]
    pub fn known(&self, name: &str) -> bool {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner).contains_key(name)
    }

    /// The files that have been requested and have this name, or lie in the folder with this name.
    #[must_use]
    pub fn known_below(&self, name: &str) -> Vec<String> {
        let documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        let below = |known: &&String| {
            known.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        documents.keys().filter(below).cloned().collect()
    }

    /// The texts of all files that have been requested.
    #[must_use]
    pub fn texts(&self) -> BTreeMap<String, Text> {
        let documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner).clone();
        documents.into_iter().map(|(name, document)| (name, document.text(self))).collect()
    }

    fn stop(&mut self) {
        std::mem::take(&mut self.interrupt).set();
    }
}

/// The lines of a file; of an empty text if the file cannot be read.
#[salsa::tracked(returns(clone), no_eq)]
pub fn lines(db: &dyn Db, document: Document, encoding: Encoding) -> Arc<Lines> {
    Arc::new(Lines::new(document.text(db).unwrap_or_default(), encoding))
}

/// The declarations of a file; a file whose declarations cannot be processed separately has only one.
pub fn outline<'db>(db: &'db dyn Db, document: Document) -> &'db Outline<'db> {
    if entangled(db, document) { uncut(db, document) } else { pieces(db, document) }
}

/// A file that is not cut.
#[salsa::tracked]
fn uncut<'db>(db: &'db dyn Db, document: Document) -> Outline<'db> {
    let text = document.text(db).unwrap_or_default();
    Outline { declarations: vec![(0, Declaration::new(db, document, String::new(), text))] }
}

/// Cuts a file into declarations.
#[salsa::tracked]
pub fn pieces<'db>(db: &'db dyn Db, document: Document) -> Outline<'db> {
    let text = document.text(db).unwrap_or_default();
    let declaration = |(start, piece): (u32, &str)| {
        (start, Declaration::new(db, document, excerpt::title(piece), piece.into()))
    };
    Outline { declarations: cut::pieces(&text).map(declaration).collect() }
}

/// Parses a declaration on its own.
#[salsa::tracked(returns(clone), no_eq)]
pub fn parsed<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<Parsed> {
    db.counts().parsed.fetch_add(1, Ordering::Relaxed);
    let (file, reports) = syntax::parse(FileId(0), &declaration.text(db));
    Arc::new(Parsed { file, reports })
}

/// Whether a declaration has syntax errors.
#[salsa::tracked(returns(copy))]
pub fn is_faulty<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> bool {
    !parsed(db, declaration).reports.is_empty()
}

/// A declaration's tokens without comments, and the position of each of them.
#[salsa::tracked(returns(clone), no_eq)]
pub fn canon<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<Canon> {
    Arc::new(excerpt::canon(&declaration.text(db)))
}

/// The text of [`canon`]; it does not change when a comment is edited.
#[salsa::tracked(returns(clone))]
pub fn canon_text<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<str> {
    canon(db, declaration).text.clone()
}

/// The names that a declaration declares and those that it mentions.
#[salsa::tracked(returns(clone))]
pub fn names<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<Names> {
    Arc::new(excerpt::names(&parsed(db, declaration).file, &canon_text(db, declaration)))
}

/// The names that a file's declarations share, and which of them declares each; programs are not included.
#[salsa::tracked(returns(clone))]
pub fn directory<'db>(db: &'db dyn Db, document: Document) -> Arc<Directory<'db>> {
    let mut directory = Directory::default();
    for (_, declaration) in &outline(db, document).declarations {
        let names = names(db, *declaration);
        let position = directory.declarations.len();
        // If another declaration shares a piece with a program, other declarations could not find it.
        directory.clashes |= names.program && names.declares.len() > 1;
        for (_, name) in &names.declares {
            if names.program {
                directory.clashes |= !directory.programs.insert(name.clone());
            } else {
                let declaring = directory.declaring.entry(name.clone()).or_default();
                directory.clashes |= !declaring.is_empty();
                declaring.push(position);
            }
        }
        if !names.program {
            directory.declarations.push(*declaration);
        }
    }
    Arc::new(directory)
}

/// Which declarations of a file declare which names.
#[derive(Clone, Debug, Default, PartialEq, Eq, salsa::SalsaValue)]
pub struct Directory<'db> {
    /// All declarations except programs, in order.
    pub declarations: Vec<Declaration<'db>>,
    /// For each name, the positions in `declarations` of those that declare it.
    pub declaring: BTreeMap<String, Vec<usize>>,
    /// The names of programs.
    pub programs: BTreeSet<String>,
    /// Whether a name may be declared twice, or may not be found.
    pub clashes: bool,
}

/// The declarations that a declaration needs, directly or indirectly, in the order of the file, including itself.
#[salsa::tracked(returns(clone))]
pub fn reached<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<Vec<Declaration<'db>>> {
    let directory = directory(db, declaration.document(db));
    let mut found = BTreeSet::new();
    let mut open = vec![declaration];
    while let Some(next) = open.pop() {
        for name in &names(db, next).mentions {
            for position in directory.declaring.get(name).into_iter().flatten() {
                if found.insert(*position) {
                    open.extend(directory.declarations.get(*position));
                }
            }
        }
    }
    let others = found.iter().filter_map(|position| directory.declarations.get(*position));
    let mut reached: Vec<Declaration<'db>> = others.copied().collect();
    if !reached.contains(&declaration) {
        reached.push(declaration);
    }
    Arc::new(reached)
}

/// The text in which a declaration is compiled.
#[salsa::tracked(returns(clone))]
pub fn excerpt_of<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<Excerpt> {
    let reached = reached(db, declaration);
    Arc::new(Excerpt::new(reached.iter().map(|other| canon_text(db, *other))))
}

/// Resolves a declaration together with the declarations that it needs.
#[salsa::tracked(returns(clone), no_eq)]
pub fn resolved<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<Resolved> {
    db.counts().resolved.fetch_add(1, Ordering::Relaxed);
    Arc::new(resolve(db, declaration, excerpt_of(db, declaration).text.clone()))
}

/// Resolves a text in the place of a declaration; the result is not cached.
pub fn resolve(db: &dyn Db, declaration: Declaration<'_>, text: Arc<str>) -> Resolved {
    let name = declaration.document(db).name(db);
    let mut sources = SourceMap::default();
    let main = sources.add(&*name, text);
    let mut read = |import: &str| db.import(&name, import);
    let (modules, mut reports) = resolve::load(main, &mut sources, &mut read);
    let resolved = resolve::resolve_all(&modules);
    let syntax = driver::has_errors(&reports);
    reports.extend(resolved.reports);
    let broken = syntax || driver::has_errors(&reports);
    let (unit, uses, mentioned) = (resolved.unit, resolved.uses, resolved.mentioned);
    Resolved { sources, unit, reports, uses, mentioned, broken }
}

/// The parameters that the comments above a program set.
#[salsa::tracked(returns(clone))]
pub fn directive<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<str> {
    let (text, parsed) = (declaration.text(db), parsed(db, declaration));
    let name = |item: &ast::Item| match &item.kind {
        ast::ItemKind::Program(program) => Some(program.name.span.start),
        ast::ItemKind::Use(_)
        | ast::ItemKind::Let(_)
        | ast::ItemKind::Function(_)
        | ast::ItemKind::Procedure(_)
        | ast::ItemKind::Collective(_)
        | ast::ItemKind::Topology(_) => None,
    };
    let program = parsed.file.items.iter().find_map(name);
    let (_, piece) = cut::piece(&text, program.unwrap_or(0));
    crate::directive::directive(piece).into()
}

/// Checks a program, if the declaration is a program without errors.
#[salsa::tracked(returns(clone))]
pub fn proved<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<Proved> {
    let resolved = resolved(db, declaration);
    let Some(program) = resolved.program().filter(|_| !resolved.broken) else {
        return Arc::default();
    };
    db.counts().proved.fetch_add(1, Ordering::Relaxed);
    let settings = Configuration::get(db).settings(db);
    let directive = directive(db, declaration);
    let elaboration = settings.elaboration(&resolved.unit.programs[program], &directive);
    let (unit, interrupt) = (&resolved.unit, db.interrupt());
    let (mut reports, made) = diagnostics::prove(unit, program, &elaboration, &settings, interrupt);
    let shape = made.as_ref().map(shape);
    db.give_way();
    let subject = (&resolved.sources, unit, program);
    diagnostics::confirm(subject, &elaboration, &settings, interrupt, &mut reports);
    settings.attribute(&unit.programs[program], &directive, &mut reports);
    Arc::new(Proved { reports, shape })
}

fn shape(program: &ir::Program) -> Shape {
    let blocks = program.ranks.iter().map(|rank| rank.blocks.len()).max().unwrap_or(0);
    let operations = program.ranks.iter().flat_map(|rank| &rank.blocks);
    let operations = operations.map(|block| ir::count_ops(&block.ops)).sum();
    Shape { ranks: program.ranks.len(), blocks, operations }
}
