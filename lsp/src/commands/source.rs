//! The texts that a command works on, and the program that it is about.

use crate::actor::Snapshot;
use crate::cut;
use crate::database::{Configuration, Disk as _, Text};
use crate::directive;
use crate::settings::Settings;
use crate::workspace::Workspace;
use compiler::diagnostic::{Diagnostic, Severity, nearest, render};
use compiler::driver;
use compiler::elaborate;
use compiler::interrupt::Interrupt;
use compiler::resolve::program::{ProgramId, Unit};
use compiler::source::SourceMap;
use lsp_types::Url;
use std::collections::BTreeMap;
use std::slice;
use std::sync::Arc;

/// The texts of a file and of others, at one point in time.
pub struct SourceSnapshot {
    name: String,
    texts: BTreeMap<String, Text>,
    workspace: Arc<Workspace>,
    /// The editor's settings.
    pub(super) settings: Arc<Settings>,
}

/// A program that is ready to be elaborated.
pub(super) struct LoadedProgram {
    pub(super) sources: SourceMap,
    pub(super) unit: Unit,
    pub(super) program: ProgramId,
    pub(super) elaboration: elaborate::Settings,
}

impl SourceSnapshot {
    /// The texts of a snapshot, for a command about the file `url`.
    #[must_use]
    pub fn take(snapshot: &Snapshot, url: &Url) -> SourceSnapshot {
        SourceSnapshot {
            name: snapshot.analysis(url).name().to_string(),
            texts: snapshot.database.texts(),
            workspace: snapshot.workspace.clone(),
            settings: Configuration::get(&snapshot.database).settings(&snapshot.database),
        }
    }

    fn text(&self, name: &str) -> Text {
        self.texts.get(name).cloned().unwrap_or_else(|| self.workspace.read(name))
    }

    /// The text of the file.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn own_text(&self) -> Result<String, String> {
        let text = self.text(&self.name).map_err(|why| format!("`{}`: {why}", self.name))?;
        Ok(text.to_string())
    }

    /// Loads the file and finds the program.
    pub(super) fn load(&self, wanted: Option<&str>) -> Result<LoadedProgram, String> {
        let text = self.text(&self.name).map_err(|why| format!("`{}`: {why}", self.name))?;
        let mut sources = SourceMap::default();
        let main = sources.add(&*self.name, text.clone());
        let mut read = |import: &str| {
            self.workspace.refuse_import(&self.name, import).and_then(|()| self.text(import))
        };
        let (unit, reports) = driver::load(main, &mut sources, &mut read);
        if driver::has_errors(&reports) {
            return Err(describe_errors(&sources, &reports));
        }
        let program = find_program(&unit, wanted, &self.name)?;
        let declared = &unit.programs[program];
        let (_, piece) = cut::piece(&text, declared.span.start);
        let elaboration = self.settings.elaboration(declared, &directive::directive(piece));
        Ok(LoadedProgram { sources, unit, program, elaboration })
    }
}

impl LoadedProgram {
    /// The program's name.
    pub(super) fn name(&self) -> &str {
        &self.unit.programs[self.program].name
    }

    /// Refuses to go on if there are errors among the reports, or if the time was up.
    pub(super) fn refuse_errors(
        &self,
        reports: &[Diagnostic],
        interrupt: &Interrupt,
    ) -> Result<(), String> {
        if interrupt.is_set() {
            return Err(format!("`{}`: the time was up before it was checked", self.name()));
        }
        if driver::has_errors(reports) {
            return Err(describe_errors(&self.sources, reports));
        }
        Ok(())
    }
}

fn find_program(unit: &Unit, wanted: Option<&str>, file: &str) -> Result<ProgramId, String> {
    let names: Vec<&str> = unit.programs.iter().map(|program| program.name.as_str()).collect();
    let mut fitting = unit
        .programs
        .entries()
        .filter(|(_, program)| wanted.is_none_or(|wanted| wanted == program.name))
        .map(|(id, _)| id);
    match (fitting.next(), fitting.next(), wanted) {
        (Some(program), None, _) => Ok(program),
        (Some(_), Some(_), _) => {
            Err(format!("`{file}` has several programs; name one: `{}`", names.join("`, `")))
        }
        (None, _, Some(wanted)) => {
            let near = nearest(wanted, names.iter().copied());
            let hint = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            Err(format!("`{file}` has no program `{wanted}`{hint}"))
        }
        (None, _, None) => Err(format!("`{file}` has no program")),
    }
}

/// How many errors there are, and the first of them on one line.
fn describe_errors(sources: &SourceMap, reports: &[Diagnostic]) -> String {
    let errors: Vec<&Diagnostic> =
        reports.iter().filter(|report| report.severity == Severity::Error).collect();
    let first = errors.first().map(|first| render::short(sources, slice::from_ref(*first)));
    let first = first.unwrap_or_default();
    match errors.len() {
        1 => first.trim_end().to_owned(),
        many => format!("{many} errors, the first of them: {}", first.trim_end()),
    }
}
