//! The work of the fuzz targets, and the properties that must hold of the results.
//!
//! In: text, or messages. Out: nothing; a violated property panics, and the fuzzer keeps the input.

pub mod hostile;
mod server;

pub use server::converse;

use compiler::diagnostic::render::{self, Colors};
use compiler::diagnostic::{Diagnostic, Severity, github, json, sarif};
use compiler::driver::{self, Known, Proof, Request};
use compiler::elaborate::{self, Settings};
use compiler::interrupt::Interrupt;
use compiler::plan::listing::{self, Form};
use compiler::resolve::program::Unit;
use compiler::source::{FileId, Place, SourceMap};
use compiler::syntax::{self, token};
use compiler::target::{CUDA, Capacity, PLAN};
use compiler::{ir, plan};

/// Enough operations for every construct, and few enough to be quick.
const MAX_OPERATIONS: u64 = 4_000;

/// Larger plans are only read: the limits of the checks for large plans are out of reach for a fuzzer.
const MAX_CHECKED: usize = 400;

/// Kernels are written for a GPU with this many multiprocessors.
const CAPACITY: Capacity = Capacity { sms: 132, worst: Severity::Error };

/// Splits a text into tokens. They must be in order without overlapping, and each must be the text of its span.
pub fn cut(text: &str) {
    let cut = token::tokens(FileId(0), text);
    for tokens in [&cut.tokens, &cut.comments] {
        let mut end = 0;
        for token in tokens {
            let (start, stop) = (token.span.start as usize, token.span.end as usize);
            assert!(end <= start && start < stop, "{token:?} overlaps what stands before it");
            assert_eq!(text.get(start..stop), Some(token.text));
            end = stop;
        }
    }
}

/// Parses a text. Every text has a tree, its reports can be written in every form, and formatting it a second time
/// changes nothing.
pub fn parse(text: &str) {
    let mut sources = SourceMap::default();
    let file = sources.add("fuzz.ccl", text);
    let (_, reports) = syntax::parse(file, text);
    show(&sources, &reports);
    if let Ok(laid_out) = syntax::format(text) {
        assert_eq!(syntax::format(&laid_out).as_ref(), Ok(&laid_out), "laid out twice");
    }
}

/// Elaborates a text's programs. Each can be elaborated or is refused; an elaborated program can be printed, and the
/// printed text is a program.
pub fn elaborate(text: &str) {
    let Some((sources, unit)) = load(text) else { return };
    for program in unit.programs.ids() {
        let (program, reports) =
            elaborate::elaborate(&unit, program, &settings(), &Interrupt::default());
        show(&sources, &reports);
        let Some(program) = program.filter(|_| !driver::has_errors(&reports)) else { continue };
        let printed = ir::print::print(&program).text;
        assert!(load(&printed).is_some(), "what is printed has errors:\n{printed}");
    }
}

/// Compiles a text's programs to plans and to kernels; each succeeds or is refused.
pub fn compile(text: &str) {
    let Some((sources, unit)) = load(text) else { return };
    for program in unit.programs.ids() {
        let request = Request {
            unit: &unit,
            program,
            settings: &settings(),
            target: &PLAN,
            proof: Proof::Reported,
            interrupt: &Interrupt::default(),
        };
        let (lowered, reports) = driver::lower_program(&request);
        show(&sources, &reports);
        let sound = !driver::has_errors(&reports);
        let mut written = Vec::new();
        let Some(Ok(outcome)) = lowered.map(|it| driver::write_plan(it, CAPACITY, &mut written))
        else {
            continue;
        };
        show(&sources, &outcome.diagnostics);
        if sound && !driver::has_errors(&outcome.diagnostics) {
            let text = String::from_utf8(written).expect("a plan is text");
            assert!(plan::parse(FileId(0), &text).is_ok(), "what is written is no plan:\n{text}");
        }
        let request = Request { target: &CUDA, proof: Proof::Skipped, ..request };
        let (kernels, _) = driver::lower_program(&request);
        if let Some(kernels) = kernels {
            let _ =
                driver::write_kernels(&kernels, CAPACITY, "fuzz", &sources, &Interrupt::default());
        }
    }
}

/// Reads a text as a plan, which can be checked, listed and written as a program, or is refused.
pub fn read_plan(text: &str) {
    let mut sources = SourceMap::default();
    let file = sources.add("fuzz.json", text);
    if let Ok(plan) = plan::parse(file, text) {
        let settings = listing::Settings { rank: None, chunk_bytes: 4096, form: Form::Normal };
        let _ = listing::listing(&plan, &settings, &mut String::new());
    }
    let (program, reports) = driver::read_plan(file, text);
    show(&sources, &reports);
    if program.is_none_or(|program| operations(&program) > MAX_CHECKED) {
        return;
    }
    let stop = Interrupt::default();
    show(&sources, &driver::verify(file, text, &Known::default(), CAPACITY, &stop));
    show(&sources, &driver::decompile(file, text, true, &stop).1);
}

fn operations(program: &ir::Program) -> usize {
    let blocks = program.ranks.iter().flat_map(|rank| rank.blocks.iter());
    blocks.map(|block| ir::count_ops(&block.ops)).sum()
}

/// The programs of a text, if it has no errors.
fn load(text: &str) -> Option<(SourceMap, Unit)> {
    let mut sources = SourceMap::default();
    let main = sources.add("fuzz.ccl", text);
    let mut read = |_: &str| Err("there are no files here".to_owned());
    let (unit, reports) = driver::load(main, &mut sources, &mut read);
    show(&sources, &reports);
    (!driver::has_errors(&reports)).then_some((sources, unit))
}

fn settings() -> Settings {
    Settings { max_operations: MAX_OPERATIONS, ..Settings::default() }
}

/// Writes reports in every form. Their places must lie in their files, and nothing in them may move a terminal's
/// cursor.
fn show(sources: &SourceMap, reports: &[Diagnostic]) {
    for label in reports.iter().flat_map(|report| report.primary.iter().chain(&report.secondary)) {
        if let Place::Source(span) = label.place {
            let text = &sources.files[span.file].text;
            let (start, end) = (span.start as usize, span.end as usize);
            assert!(text.get(start..end).is_some(), "{span:?} is no part of its file");
        }
    }
    for text in [render::human(sources, reports, Colors::Off), render::short(sources, reports)] {
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
    let _ = (json::lines(sources, reports), sarif::log(sources, reports));
    let _ = github::lines(sources, reports);
}
