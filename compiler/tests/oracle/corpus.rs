//! The programs that are run: the library's algorithms, the examples, the programs in the language's pages, and cases
//! in which blocks take turns; at small numbers of ranks, as elaborated and after all passes.

use compiler::driver;
use compiler::elaborate::{self, Settings};
use compiler::interrupt::Interrupt;
use compiler::ir::Program;
use compiler::optimize::{self, Stage};
use compiler::resolve;
use compiler::resolve::program::{OptionSetting, Unit};
use compiler::source::{FileId, SourceMap};
use compiler::syntax;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folders of the programs.
const FOLDERS: [&str; 8] = [
    "../stdlib/ccl/algorithms",
    "../examples",
    "../examples/algorithms",
    "../examples/systems",
    "../examples/mscclpp",
    "../examples/mscclpp/unit_tests",
    "tests/language",
    "tests/cases/turns",
];

/// The folder of MSCCL++'s programs that go wrong, unchanged.
const DEFECTIVE: &str = "../examples/mscclpp/defective";

/// Smaller values for parameters whose defaults make programs larger than necessary here.
const SMALLER: [(&str, &str); 2] = [("elements", "7"), ("tile", "3")];

/// A program of the corpus.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) program: Program,
}

impl Entry {
    /// Whether this program is in a sample of every `stride`-th program. This depends on its name alone, so that
    /// programs added to the corpus do not displace others.
    pub(crate) fn is_sampled(&self, stride: usize, seed: usize) -> bool {
        let sum = self
            .name
            .bytes()
            .fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        sum.is_multiple_of(stride)
    }
}

/// The form of each program to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As elaborated: joins are implied.
    Written,
    /// After all passes, with this number of instances.
    Passed(u32),
    /// A plan that MSCCL++'s own tools made, with any number of ranks.
    Plan,
}

/// All programs of the corpus for these numbers of ranks, in one form.
pub(crate) fn corpus(ranks: &[u32], form: Form) -> Vec<Entry> {
    if form == Form::Plan {
        return goldens();
    }
    of_folders(&FOLDERS, ranks, form)
}

/// MSCCL++'s programs that go wrong, for these numbers of ranks.
pub(crate) fn defective(ranks: &[u32]) -> Vec<Entry> {
    of_folders(&[DEFECTIVE], ranks, Form::Written)
}

fn of_folders(folders: &[&str], ranks: &[u32], form: Form) -> Vec<Entry> {
    let mut entries = Vec::new();
    for path in folders.iter().flat_map(|folder| files(folder, "ccl")) {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let Some(unit) = load(&path) else { continue };
        for ranks in ranks {
            entries.extend(programs(&unit, &name, *ranks, form));
        }
    }
    entries
}

fn goldens() -> Vec<Entry> {
    let plans = plans().into_iter();
    plans.filter_map(|(name, program)| Some(Entry { name, program: program? })).collect()
}

/// The plans that MSCCL++'s own tools made, or those in the folder that `ORACLE_PLANS` names; without a program if the
/// compiler refuses the plan.
pub(crate) fn plans() -> Vec<(String, Option<Program>)> {
    let folder = std::env::var("ORACLE_PLANS").unwrap_or_else(|_| "tests/goldens".to_owned());
    let plans = files(&folder, "json").into_iter().filter_map(|path| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a plan");
        let (program, reports) = driver::read_plan(FileId(0), &text);
        Some((name, program.filter(|_| !driver::has_errors(&reports))))
    });
    plans.collect()
}

/// The programs of a unit with a number of ranks: on one node and on two, in place and out of place, as far as they
/// have parameters for that.
fn programs(unit: &Unit, file: &str, ranks: u32, form: Form) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for id in unit.programs.ids() {
        let has = |name: &str| unit.programs[id].parameters.iter().any(|p| p.name == name);
        let nodes: &[Option<u32>] = if has("ranks_per_node") && ranks.is_multiple_of(2) {
            &[Some(1), Some(2)]
        } else {
            &[None]
        };
        let places: &[Option<bool>] =
            if has("in_place") { &[Some(true), Some(false)] } else { &[None] };
        for (nodes, place) in nodes.iter().flat_map(|n| places.iter().map(move |p| (*n, *p))) {
            let mut parameters = vec![("ranks".to_owned(), ranks.to_string())];
            if !has("ranks") {
                parameters.clear();
            }
            parameters
                .extend(nodes.map(|n| ("ranks_per_node".to_owned(), (ranks / n).to_string())));
            for (name, small) in SMALLER.iter().filter(|(name, _)| has(name)) {
                parameters.push(((*name).to_owned(), (*small).to_owned()));
            }
            parameters.extend(place.map(|place| ("in_place".to_owned(), place.to_string())));
            let told: Vec<String> = parameters.iter().map(|(k, v)| format!("{k}={v}")).collect();
            let name = format!("{file}/{} {}", unit.programs[id].name, told.join(" "));
            if let Some(program) = make(unit, id, &parameters, form) {
                entries.push(Entry { name, program });
            }
        }
    }
    entries
}

/// The programs of a case, as elaborated, with the parameters and options in its first line; none if they cannot be
/// elaborated.
pub(crate) fn case(path: &Path) -> Vec<Entry> {
    let text = fs::read_to_string(path).expect("a case");
    let Some(unit) = unit(&path.display().to_string(), &text) else { return Vec::new() };
    let words = text.lines().next().unwrap_or_default().split_whitespace().skip(2);
    let parameters: Vec<(String, String)> = words
        .filter_map(|word| word.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
    let programs = unit.programs.ids().filter_map(|id| make(&unit, id, &parameters, Form::Written));
    programs.map(|program| Entry { name: name.clone(), program }).collect()
}

fn make(
    unit: &Unit,
    id: resolve::program::ProgramId,
    parameters: &[(String, String)],
    form: Form,
) -> Option<Program> {
    let value = |text: &str| {
        let (expr, _) = syntax::parse_expression(FileId(0), text);
        expr.and_then(|expr| resolve::argument(&expr).0)
    };
    let instances = match form {
        Form::Written | Form::Plan => 1,
        Form::Passed(instances) => instances,
    };
    let settings = Settings {
        parameters: parameters
            .iter()
            .filter_map(|(name, text)| Some((name.clone(), value(text)?)))
            .collect(),
        options: option(&format!("instances={instances}")).into_iter().collect(),
        max_operations: 100_000,
        ..Settings::default()
    };
    let (program, _) = elaborate::elaborate(unit, id, &settings, &Interrupt::default());
    let program = program?;
    if form == Form::Written {
        return Some(program);
    }
    optimize::replicate::replicable(&program).ok()?;
    Some(optimize::optimize(program, Stage::Replicate))
}

fn option(text: &str) -> Option<OptionSetting> {
    let (setting, _) = syntax::parse_option(FileId(0), text);
    setting.and_then(|setting| resolve::option(&setting).0)
}

/// The programs of a file, if it has no errors.
fn load(path: &Path) -> Option<Unit> {
    let text = fs::read_to_string(path).expect("a file of the corpus");
    unit(&path.display().to_string(), &text)
}

/// The programs of a text, if it has no errors.
pub(crate) fn unit(name: &str, text: &str) -> Option<Unit> {
    let mut sources = SourceMap::default();
    let main = sources.add(name, text);
    let mut read =
        |path: &str| fs::read_to_string(path).map(Arc::from).map_err(|error| error.to_string());
    let (unit, reports) = driver::load(main, &mut sources, &mut read);
    (!driver::has_errors(&reports)).then_some(unit)
}

/// The programs of a text with the defaults of their parameters, in one form.
pub(crate) fn text(text: &str, form: Form) -> Vec<Program> {
    let unit = unit("text.ccl", text).unwrap_or_else(|| panic!("a text with errors: {text}"));
    unit.programs.ids().filter_map(|id| make(&unit, id, &[], form)).collect()
}

/// The files in a folder of this crate, sorted.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder of the corpus")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|end| end == extension))
        .collect();
    files.sort();
    files
}
