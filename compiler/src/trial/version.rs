//! A program as text and as resolved declarations, and the version of it that results from applying fixes.

use super::Subject;
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::driver;
use crate::elaborate::{self, Settings};
use crate::interrupt::Interrupt;
use crate::ir;
use crate::repair;
use crate::resolve::program::{ProgramId, Unit};
use crate::source::{FileId, SourceMap};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program with its files.
pub(super) struct Version {
    pub(super) sources: SourceMap,
    /// The file that declares the program; the files that it imports come after it.
    main: FileId,
    pub(super) unit: Unit,
    pub(super) program: ProgramId,
    /// The reports about its files, before it was checked with any settings.
    said: Vec<(Code, String)>,
}

impl Version {
    /// The program as it was checked. Its fixes apply to the files that were read for it.
    pub(super) fn new(subject: Subject<'_>) -> Option<Version> {
        let program = subject.unit.programs.lookup(subject.program)?;
        let main = program.span.file;
        let again = read(subject.sources, main, &BTreeMap::new(), &program.name)?;
        let (sources, unit) = (subject.sources.clone(), subject.unit.clone());
        Some(Version { sources, main, unit, program: subject.program, said: again.said })
    }

    /// The program with the fixes of some reports; none if there are no fixes, or if they do not fit together.
    pub(super) fn mended(&self, reports: &[&Diagnostic]) -> Option<Version> {
        let mut edits: BTreeMap<FileId, Vec<Edit>> = BTreeMap::new();
        for edit in
            reports.iter().filter_map(|report| report.fix.as_ref()).flat_map(|fix| &fix.edits)
        {
            let list = edits.entry(edit.span.file).or_default();
            // Two reports may require the same edit.
            if !list.contains(edit) {
                list.push(edit.clone());
            }
        }
        let mut texts: BTreeMap<FileId, Arc<str>> = BTreeMap::new();
        for (file, edits) in &edits {
            let text = &self.sources.files.lookup(*file)?.text;
            texts.insert(*file, repair::apply(text, edits)?.into());
        }
        let name = &self.unit.programs[self.program].name;
        (!texts.is_empty()).then(|| read(&self.sources, self.main, &texts, name)).flatten()
    }

    /// Whether its files have no reports that those of `before` do not have: then the fixes left nothing behind that
    /// is never used.
    pub(super) fn leaves_nothing_unused(&self, before: &Version) -> bool {
        self.said.iter().all(|one| before.said.contains(one))
    }

    /// The concrete program; none if it does not accept these settings.
    pub(super) fn elaborated(
        &self,
        settings: &Settings,
        interrupt: &Interrupt,
    ) -> Option<ir::Program> {
        elaborate::elaborate(&self.unit, self.program, settings, interrupt).0
    }

    /// How many ranks it has, and how many operations and chunks these have together; none if it does not accept
    /// these settings.
    pub(super) fn ranks_and_size(
        &self,
        settings: &Settings,
        interrupt: &Interrupt,
    ) -> Option<(usize, usize)> {
        let settings = Settings { promises: false, ..settings.clone() };
        let program = self.elaborated(&settings, interrupt)?;
        let chunks = usize::try_from(program.chunks()).ok()?;
        Some((program.ranks.len(), program.all_ops().count().saturating_add(chunks)))
    }

    /// Whether anything is promised about it.
    pub(super) fn promises_anything(&self, settings: &Settings, interrupt: &Interrupt) -> bool {
        let program = self.elaborated(settings, interrupt);
        program.is_some_and(|program| program.ranks.iter().any(ir::Rank::promises_anything))
    }
}

/// Reads a file and its imports from files that were read before; those in `texts` have a new text.
fn read(
    sources: &SourceMap,
    main: FileId,
    texts: &BTreeMap<FileId, Arc<str>>,
    name: &str,
) -> Option<Version> {
    let text = |file: FileId| {
        let there = || Some(sources.files.lookup(file)?.text.clone());
        texts.get(&file).cloned().or_else(there)
    };
    // Places in the old files must stay valid.
    let mut all = sources.clone();
    let start = all.add(sources.files.lookup(main)?.name.clone(), text(main)?);
    let mut import = |path: &str| {
        let mut files = sources.files.entries().skip_while(|(id, _)| *id != main);
        let found = files.find(|(_, file)| file.name == path).and_then(|(id, _)| text(id));
        found.ok_or_else(|| "it was not read".to_owned())
    };
    let (unit, said) = driver::load(start, &mut all, &mut import);
    if driver::has_errors(&said) {
        return None;
    }
    let (program, _) = unit.programs.entries().find(|(_, program)| program.name == name)?;
    let said = said.into_iter().map(|report| (report.code, report.message)).collect();
    Some(Version { sources: all, main: start, unit, program, said })
}
