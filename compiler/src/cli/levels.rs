//! `--warn`, `--deny` and `--allow`: the severity of warnings and notes, and what is accepted in plans.

use super::Failure;
use super::args::Reporting;
use compiler::diagnostic::{Code, Diagnostic, Severity, nearest};
use std::collections::BTreeMap;

/// The word that stands for all warnings.
const WARNINGS: &str = "warnings";

/// The word that stands for all that says that something was not proved, or was proved of something that was assumed.
const UNPROVED: &str = "unproved";
const UNPROVED_CODES: &[Code] =
    &[Code::N0901, Code::N0902, Code::W0501, Code::W0502, Code::W0802, Code::W0901];

/// The word that accepts in a plan what `#[allow(shared)]` accepts in source.
const SHARED: &str = "shared";

/// What happens to a warning or note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// It is not shown.
    Allow,
    /// It is a warning.
    Warn,
    /// It is an error.
    Deny,
}

/// The levels that the command line sets; the level of a code takes precedence over that of `unproved`, and this over that
/// of `warnings`.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    codes: BTreeMap<Code, Level>,
    unproved: Option<Level>,
    warnings: Option<Level>,
    /// Whether several blocks of a plan may use one end of a channel, or one semaphore.
    pub(crate) shared: bool,
}

impl Reporting {
    /// The levels for which these arguments ask.
    pub(crate) fn levels(&self) -> Result<Levels, Failure> {
        let mut levels = Levels::default();
        for (level, flag, codes) in [
            (Level::Allow, "--allow", &self.allow),
            (Level::Warn, "--warn", &self.warn),
            (Level::Deny, "--deny", &self.deny),
        ] {
            for code in codes {
                levels.set(level, flag, code)?;
            }
        }
        Ok(levels)
    }
}

impl Levels {
    fn set(&mut self, level: Level, flag: &str, text: &str) -> Result<(), Failure> {
        let before = match text {
            SHARED if level == Level::Allow => {
                self.shared = true;
                return Ok(());
            }
            WARNINGS => self.warnings.replace(level),
            UNPROVED => self.unproved.replace(level),
            _ => self.codes.insert(lint(flag, text)?, level),
        };
        match before {
            Some(before) if before != level => Err(contradiction(text)),
            Some(_) | None => Ok(()),
        }
    }

    /// The report as it is to be shown; none if it is not.
    pub(crate) fn apply(&self, mut diagnostic: Diagnostic) -> Option<Diagnostic> {
        let is_unproved = UNPROVED_CODES.contains(&diagnostic.code);
        let unproved = if is_unproved { self.unproved } else { None };
        let is_warning = diagnostic.severity == Severity::Warning;
        let warnings = if is_warning { self.warnings } else { None };
        match self.codes.get(&diagnostic.code).copied().or(unproved).or(warnings) {
            _ if diagnostic.severity == Severity::Error => {}
            Some(Level::Allow) => return None,
            Some(Level::Warn) => diagnostic.severity = Severity::Warning,
            Some(Level::Deny) => diagnostic.severity = Severity::Error,
            None => {}
        }
        Some(diagnostic)
    }
}

fn lint(flag: &str, text: &str) -> Result<Code, Failure> {
    match Code::parse(text) {
        Some(code) if code.severity() == Severity::Error => Err(an_error(flag, code)),
        Some(code) => Ok(code),
        None => Err(unknown(flag, text)),
    }
}

fn unknown(flag: &str, text: &str) -> Failure {
    let codes = Code::ALL.iter().map(|code| code.id());
    let hint =
        nearest(&text.to_ascii_uppercase(), codes).map(|code| format!("; did you mean `{code}`?"));
    let hint = hint.unwrap_or_else(|| "; `cclc explain` lists them".to_owned());
    Failure::Usage(format!("`{flag} {text}`: there is no such code{hint}"))
}

fn an_error(flag: &str, code: Code) -> Failure {
    let (id, title) = (code.id(), code.title());
    Failure::Usage(format!(
        "`{flag} {id}`: {id} ({title}) is always an error; only warnings and notes have levels"
    ))
}

fn contradiction(text: &str) -> Failure {
    Failure::Usage(format!("`{text}` is given two different levels"))
}
