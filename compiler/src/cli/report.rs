//! Collects reports and prints them to standard error in the requested form.

use super::Status;
use super::args::{Limits, MessageFormat, Reporting, When};
use super::levels::Levels;
use super::{files, limits, progress};
use compiler::diagnostic::log::without_commands;
use compiler::diagnostic::render::{self, Colors};
use compiler::diagnostic::{Code, Diagnostic, Severity, github, json, sarif};
use compiler::driver::Shared;
use compiler::interrupt::Interrupt;
use compiler::repair;
use compiler::source::{Place, SourceMap};
use std::cmp::Reverse;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

impl Reporting {
    /// Whether a progress line may be drawn: only if people read the reports, and on a terminal.
    pub(crate) fn shows_progress(&self) -> bool {
        self.message_format == MessageFormat::Human && progress::is_wanted()
    }
}

/// The most reports that are shown to people: nobody reads more.
const MOST_SHOWN: usize = 1000;

/// The result of a phase, and its reports.
pub(crate) type Shown<T> = (Option<T>, Vec<Diagnostic>);

/// The files of a run, and its reports.
pub(crate) struct Reporter {
    /// Every file that was read.
    pub(crate) sources: SourceMap,
    /// The limits of the run.
    pub(crate) limits: Limits,
    /// Set when the run's time is up.
    pub(crate) interrupt: Interrupt,
    diagnostics: Vec<Diagnostic>,
    levels: Levels,
    format: MessageFormat,
    colors: Colors,
    quiet: bool,
    shows_progress: bool,
    unreadable: bool,
    /// Whether it is reported that the time is up.
    stopped: bool,
}

impl Reporter {
    /// A reporter without reports.
    pub(crate) fn new(reporting: &Reporting, levels: Levels, limits: Limits) -> Reporter {
        Reporter {
            sources: SourceMap::default(),
            limits,
            interrupt: limits::interrupt(limits.time_limit),
            diagnostics: Vec::new(),
            levels,
            format: reporting.message_format,
            colors: colors(reporting.color, &surroundings()),
            quiet: reporting.quiet,
            shows_progress: reporting.shows_progress(),
            unreadable: false,
            stopped: false,
        }
    }

    /// What `--allow` accepts of plans.
    pub(crate) fn shared(&self) -> Shared {
        if self.levels.shared { Shared::All } else { Shared::Nothing }
    }

    /// Keeps reports for [`Reporter::finish`], in the order of their places; returns whether one of them is an error.
    pub(crate) fn add(&mut self, diagnostics: Vec<Diagnostic>) -> bool {
        let shown = self.shown(diagnostics);
        self.keep(shown)
    }

    /// The same for reports that are not already kept.
    pub(crate) fn add_new(&mut self, diagnostics: Vec<Diagnostic>) -> bool {
        let mut shown = self.shown(diagnostics);
        shown.retain(|report| !self.diagnostics.contains(report));
        self.keep(shown)
    }

    fn shown(&self, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        repair::repair(&self.sources, &mut diagnostics);
        diagnostics.into_iter().filter_map(|report| self.levels.apply(report)).collect()
    }

    fn keep(&mut self, mut shown: Vec<Diagnostic>) -> bool {
        shown.sort_by_key(|diagnostic| diagnostic.primary.as_ref().map(|label| order(label.place)));
        let bad = shown.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        self.diagnostics.extend(shown);
        bad
    }

    /// Reports a file that could not be read: if the time is up, for that reason.
    pub(crate) fn unreadable(&mut self, path: &Path, why: &str) {
        if self.interrupt.is_set() {
            let what = format!("while `{}` was read", files::shown(path));
            self.report_the_stop(
                &what,
                "give it more time with `--time-limit`, if it is still written",
            );
            return;
        }
        self.unreadable = true;
        let message = format!("cannot read `{}`: {why}", files::shown(path));
        self.diagnostics.push(Diagnostic::without_place(Code::E0901, message));
    }

    /// Whether the time was up before everything was done, which is then reported.
    pub(crate) fn is_stopped(&mut self) -> bool {
        let stopped = self.interrupt.is_set();
        if stopped {
            let way_out = "give it more time with `--time-limit`, or try fewer ranks";
            self.report_the_stop("without a result", way_out);
        }
        stopped
    }

    /// Reports once that the time is up.
    fn report_the_stop(&mut self, what: &str, way_out: &str) {
        if std::mem::replace(&mut self.stopped, true) {
            return;
        }
        let seconds = self.limits.time_limit.unwrap_or_default().as_secs_f64();
        let message = format!("stopped after {seconds} s, {what}");
        self.diagnostics.push(Diagnostic::without_place(Code::E0903, message).help(way_out));
    }

    /// Reports as text, for messages about the command line.
    pub(crate) fn drawn(&self, diagnostics: &[Diagnostic]) -> String {
        render::human(&self.sources, diagnostics, self.colors).trim_end().to_owned()
    }

    /// Prints something that is not a report, if people are reading.
    pub(crate) fn remark(&self, text: &str) {
        if !self.quiet && !self.is_for_machines() {
            say(text);
        }
    }

    /// Whether a progress line may be drawn.
    pub(crate) fn shows_progress(&self) -> bool {
        self.shows_progress
    }

    /// Whether anybody reads what is said of programs that are right.
    pub(crate) fn shows_summaries(&self) -> bool {
        self.format == MessageFormat::Human && !self.quiet
    }

    /// Whether the output is for machines.
    pub(crate) fn is_for_machines(&self) -> bool {
        matches!(self.format, MessageFormat::Json | MessageFormat::Sarif)
    }

    /// The reports so far.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Takes out the reports so far.
    pub(crate) fn taken(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.diagnostics)
    }

    /// Puts back reports that were taken out, with what was added to them.
    pub(crate) fn put_back(&mut self, diagnostics: Vec<Diagnostic>) {
        self.diagnostics.extend(diagnostics);
    }

    /// Forgets all files and reports.
    pub(crate) fn start_again(&mut self) {
        self.sources = SourceMap::default();
        self.diagnostics.clear();
        (self.unreadable, self.stopped) = (false, false);
    }

    /// Prints all reports and returns how the run went.
    pub(crate) fn finish(&mut self) -> Status {
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        if diagnostics.len() > MOST_SHOWN {
            // Warnings are the first that are left out.
            diagnostics.sort_by_key(|diagnostic| Reverse(diagnostic.severity));
        }
        let shown = diagnostics.get(..MOST_SHOWN).unwrap_or(&diagnostics);
        let text = match self.format {
            MessageFormat::Human => {
                render::human(&self.sources, shown, self.colors) + &tally(&diagnostics)
            }
            MessageFormat::Short => render::short(&self.sources, &diagnostics),
            MessageFormat::Github => github::lines(&self.sources, &diagnostics),
            MessageFormat::Json => json::lines(&self.sources, &diagnostics),
            MessageFormat::Sarif => sarif::log(&self.sources, &diagnostics),
        };
        print(&text);
        if self.unreadable {
            Status::Files
        } else if count(&diagnostics, Severity::Error) > 0 {
            Status::Errors
        } else {
            Status::Clean
        }
    }
}

/// Writes a line to standard error, without anything that would move a terminal's cursor, or be a command to the service
/// that runs a job. If standard error is closed, nobody can be told.
pub(crate) fn say(text: &str) {
    print(&format!("{}\n", without_commands(&render::printable(text))));
}

fn print(text: &str) {
    progress::clear();
    // Whoever closed standard error still sees the exit status.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The facts about the environment that decide on colors.
struct Surroundings {
    terminal: bool,
    no_color: bool,
    dumb: bool,
}

fn surroundings() -> Surroundings {
    Surroundings {
        terminal: io::stderr().is_terminal(),
        no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
        dumb: std::env::var_os("TERM").is_some_and(|term| term == "dumb"),
    }
}

fn colors(when: When, around: &Surroundings) -> Colors {
    match when {
        When::Always => Colors::On,
        When::Auto if around.terminal && !around.no_color && !around.dumb => Colors::On,
        When::Auto | When::Never => Colors::Off,
    }
}

fn order(place: Place) -> (u32, u32, u32, u32) {
    match place {
        Place::Source(span) => (span.file.0, span.start, 0, 0),
        Place::Plan(place) => (
            place.file.0,
            place.rank.map_or(0, |r| r + 1),
            place.block.map_or(0, |b| b + 1),
            place.op.map_or(0, |o| o + 1),
        ),
    }
}

/// "2 errors, 1 warning"; empty if there are none.
fn tally(diagnostics: &[Diagnostic]) -> String {
    let counts =
        [("error", Severity::Error), ("warning", Severity::Warning), ("note", Severity::Note)];
    let parts: Vec<String> = counts
        .iter()
        .map(|(word, severity)| (word, count(diagnostics, *severity)))
        .filter(|(_, n)| *n > 0)
        .map(|(word, n)| format!("{n} {word}{}", if n == 1 { "" } else { "s" }))
        .collect();
    match diagnostics.len() {
        0 => String::new(),
        1..=MOST_SHOWN => format!("cclc: {}\n", parts.join(", ")),
        _ => format!("cclc: {}; {MOST_SHOWN} of them are shown\n", parts.join(", ")),
    }
}

fn count(diagnostics: &[Diagnostic], severity: Severity) -> usize {
    diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_follow_the_terminal_and_no_color() {
        let around = |terminal, no_color, dumb| Surroundings { terminal, no_color, dumb };
        assert_eq!(colors(When::Auto, &around(true, false, false)), Colors::On);
        assert_eq!(colors(When::Auto, &around(false, false, false)), Colors::Off);
        assert_eq!(colors(When::Auto, &around(true, true, false)), Colors::Off);
        assert_eq!(colors(When::Auto, &around(true, false, true)), Colors::Off);
        assert_eq!(colors(When::Always, &around(false, true, true)), Colors::On);
        assert_eq!(colors(When::Never, &around(true, false, false)), Colors::Off);
    }
}
