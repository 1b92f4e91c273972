//! What the fuzz targets do with what they are given, and what must hold of what comes of it.
//!
//! In: text, or messages. Nothing comes out: what is wrong panics, and the fuzzer keeps the input.

mod server;

pub use server::converse;

use compiler::diagnostic::render::{self, Colors};
use compiler::diagnostic::{Diagnostic, Severity, github, json, sarif};
use compiler::driver::{self, Known, Proof, Target};
use compiler::elaborate::{self, Settings};
use compiler::interrupt::Interrupt;
use compiler::plan::listing::{self, Form};
use compiler::plan::manifest::Manifest;
use compiler::plan::map::Map;
use compiler::resolve::program::Unit;
use compiler::source::{FileId, Place, SourceMap};
use compiler::syntax::{self, token};
use compiler::{ir, plan};

/// Enough for every construct, few enough to be quick.
const MAX_OPERATIONS: u64 = 4_000;

/// Plans with more operations than this are left alone after they were read: checks of large ones have bounds of their
/// own, which are too far away for a fuzzer.
const MAX_CHECKED: usize = 400;

/// Kernels of every program are written for a GPU of so many multiprocessors.
const TARGET: Target = Target { sms: 132, worst: Severity::Error };

/// Tokens lie in the text, in order, and each is the text of its span.
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

/// A text has a tree; its reports can be shown in every form; laid out, it is the same text for ever after.
pub fn parse(text: &str) {
    let mut sources = SourceMap::default();
    let file = sources.add("fuzz.ccl", text);
    let (_, reports) = syntax::parse(file, text);
    show(&sources, &reports);
    if let Ok(laid_out) = syntax::format(text) {
        assert_eq!(syntax::format(&laid_out).as_ref(), Ok(&laid_out), "laid out twice");
    }
}

/// A program can be elaborated or is refused; what is elaborated can be printed, and what is printed is a program.
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

/// A program goes the whole way, to a plan and to kernels, or is refused.
pub fn compile(text: &str) {
    let Some((sources, unit)) = load(text) else { return };
    for program in unit.programs.ids() {
        let (lowered, reports) =
            driver::lower(&unit, program, &settings(), Proof::Reported, &Interrupt::default());
        show(&sources, &reports);
        let sound = !driver::has_errors(&reports);
        let mut written = Vec::new();
        let Some(Ok(outcome)) = lowered.map(|it| driver::write_plan(it, TARGET, &mut written))
        else {
            continue;
        };
        show(&sources, &outcome.diagnostics);
        if sound && !driver::has_errors(&outcome.diagnostics) {
            let text = String::from_utf8(written).expect("a plan is text");
            assert!(plan::parse(FileId(0), &text).is_ok(), "what is written is no plan:\n{text}");
        }
        let (kernels, _) = driver::lower_to_kernels(
            &unit,
            program,
            &settings(),
            Proof::Skipped,
            &Interrupt::default(),
        );
        if let Some(kernels) = kernels {
            let _ = driver::write_cuda(&kernels, TARGET, "fuzz", &sources);
        }
    }
}

/// A text is a plan, which can be checked, listed and written as a program, or it is refused. So are manifests and
/// maps.
pub fn read_plan(text: &str) {
    if let Ok(manifest) = Manifest::read(text) {
        let mut written = Vec::new();
        assert!(manifest.write(&mut written).is_ok());
    }
    let _ = Map::read(text);
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
    show(&sources, &driver::verify(file, text, &Known::default(), TARGET, &stop));
    show(&sources, &driver::decompile(file, text, true, &stop).1);
}

fn operations(program: &ir::Program) -> usize {
    let blocks = program.ranks.iter().flat_map(|rank| rank.blocks.iter());
    blocks.map(|block| ir::count_ops(&block.ops)).sum()
}

/// The programs of a text without errors.
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

/// Reports point into their files, and can be written in every form; nothing in them moves a terminal's cursor.
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
