//! The commands of `cclc`, one file each, and what they share: arguments, files, reports.
//!
//! Diagnostics and messages go to standard error, output to standard output or to the file that `-o` names. The exit
//! status says how it went: see [`Status`].

mod args;
mod bound;
mod build;
mod check;
mod collective;
mod cuda;
pub(crate) mod crash;
mod decompile;
mod diff;
mod dump;
mod explain;
mod files;
mod fix;
mod folders;
mod format;
mod import;
mod levels;
mod limits;
mod list;
mod load;
mod machine;
mod manifest;
mod new;
pub(crate) mod output;
mod own;
mod progress;
mod proof;
mod reference;
mod report;
mod run;
mod search_watch;
mod settings;
mod sketch;
mod summary;
mod sweep;
mod synthesis;
mod timings;
mod topology;
mod verify;
mod watch;

use args::{Args, Command};
use clap::Parser as _;
use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;

/// How a run ended; its number is the exit status. 101 is kept for bugs of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// Nothing of error severity was found.
    Clean = 0,
    /// Something of error severity was found.
    Errors = 1,
    /// The command line asks for something impossible.
    Usage = 2,
    /// A file could not be read or written; or a search ended at a budget, and what it found is not known to be the best.
    Files = 3,
    /// What is asked for is impossible on the machine.
    Impossible = 4,
}

/// Why a command could not do its work.
#[derive(Clone)]
pub(crate) enum Failure {
    /// The command line asks for something impossible; the text says what, and what is possible.
    Usage(String),
    /// A file could not be read or written; the text says which and why.
    Files(String),
}

impl Failure {
    /// The same failure with more text.
    pub(crate) fn and(self, more: &str) -> Failure {
        match self {
            Failure::Usage(text) => Failure::Usage(text + more),
            Failure::Files(text) => Failure::Files(text + more),
        }
    }
}

/// Runs the command for which `arguments` (the program's name first) ask.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> Status {
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => return clap_says(&error),
    };
    let watch = watch::start(args.timings.is_some(), args.reporting.shows_progress());
    let done = match args.reporting.levels() {
        Ok(levels) => {
            dispatch(&args, &mut report::Reporter::new(&args.reporting, levels, args.limits))
        }
        Err(failure) => Err(failure),
    };
    // An error of the run matters more than an error in writing its timings.
    let watched = watch.finish(args.timings.as_deref());
    done.and_then(|status| watched.map(|()| status)).unwrap_or_else(|failure| {
        let (text, status) = match failure {
            Failure::Usage(text) => (text, Status::Usage),
            Failure::Files(text) => (text, Status::Files),
        };
        report::say(&format!("error: {text}"));
        status
    })
}

fn dispatch(args: &Args, reporter: &mut report::Reporter) -> Result<Status, Failure> {
    match &args.command {
        Command::Check(check) => check::run(check, reporter),
        Command::Build(build) => build::run(build, reporter),
        Command::Verify(verify) => verify::run(verify, reporter),
        Command::Run(run) => run::run(run, reporter),
        Command::Manifest(manifest) => manifest::run(manifest, reporter),
        Command::List(list) => list::run(list, reporter),
        Command::Dump(dump) => dump::run(dump, reporter),
        Command::Diff(diff) => diff::run(diff, reporter),
        Command::Decompile(decompile) => decompile::run(decompile, reporter),
        Command::Fmt(fmt) => format::run(fmt, reporter),
        Command::Topology(topology) => topology::run(&topology.command, reporter),
        Command::Bound(bound) => bound::run(bound, reporter),
        Command::Synth(synth) => synthesis::run(synth, reporter),
        Command::Proof(proof) => proof::run(proof, reporter),
        Command::Explain(explain) => explain::run(explain),
        Command::New(new) => new::run(new),
        Command::Completions(completions) => args::complete(completions),
        Command::Man(man) => args::manual(man),
    }
}

/// Help and version are successes; everything else that clap has to say is a usage error.
fn clap_says(error: &clap::Error) -> Status {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(command) = command_for(Path::new(word))
    {
        report::say(&format!("error: `{word}` is no command, but {command}"));
        return Status::Usage;
    }
    if error.use_stderr() && !std::io::stderr().is_terminal() {
        // It repeats arguments, which may be names of files.
        report::say(error.render().to_string().trim_end());
    } else {
        // If nobody reads the output, nobody can be told that it failed.
        let _ = error.print();
    }
    if error.use_stderr() { Status::Usage } else { Status::Clean }
}

/// What a file or folder in the place of a command is, and the command that was probably meant.
fn command_for(path: &Path) -> Option<String> {
    let name = files::shown(path);
    if files::ends_in(path, "ccl") {
        return Some(format!(
            "a source file: `cclc check {name}` checks it, `cclc build {name}` builds its plan"
        ));
    }
    if files::ends_in(path, "json") {
        return Some(format!("a plan: `cclc verify {name}` checks it"));
    }
    path.is_dir().then(|| {
        format!("a folder: `cclc check {name}` checks its programs, `cclc verify {name}` its plans")
    })
}
