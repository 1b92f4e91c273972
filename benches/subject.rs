//! The programs that the benchmarks of the checks run on, for several numbers of ranks, before and after the passes.
//!
//! On the command line, programs are given by their paths, or by parts of the paths of those in [`PROGRAMS`]; numbers
//! are numbers of ranks.

use compiler::check;
use compiler::diagnostic::Severity;
use compiler::driver;
use compiler::elaborate::{self, Settings};
use compiler::interrupt::Interrupt;
use compiler::ir::{Program, count_ops};
use compiler::optimize::{self, Stage};
use compiler::resolve::program::{ProgramId, Unit};
use compiler::source::{FileId, SourceMap};
use compiler::{resolve, syntax};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// For each program: its file, its title, and the largest number of ranks that it is measured for.
const PROGRAMS: &[(&str, &str, u32)] = &[
    ("benches/ring_allgather.ccl", "ring AllGather", 1024),
    ("stdlib/ccl/algorithms/allgather_ring.ccl", "ring AllGather, ten steps a block", 1024),
    ("stdlib/ccl/algorithms/allreduce_nodes.ccl", "two-level AllReduce", 1024),
    ("examples/hierarchical_allreduce.ccl", "two-level AllReduce, rings", 1024),
    ("benches/two_level_allreduce.ccl", "two-level AllReduce, LL, groups of 4", 1024),
    ("benches/allpairs_allgather_packets.ccl", "all-pairs AllGather, LL", 1024),
    ("benches/allpairs_allreduce_packets.ccl", "all-pairs AllReduce, LL", 1024),
];

/// The number of ranks in a node.
const WIDTH: u32 = 8;

/// A program for a number of ranks.
pub(crate) struct Subject {
    /// Its title in tables.
    pub(crate) title: String,
    /// The number of ranks.
    pub(crate) ranks: u32,
    /// The program's file, and those that it imports.
    pub(crate) unit: Unit,
    /// The program of the file.
    pub(crate) program: ProgramId,
    /// Its parameters.
    pub(crate) settings: Settings,
}

/// A program in the two forms that are checked: before and after the passes.
pub(crate) struct Both {
    /// As its author wrote it.
    pub(crate) written: Program,
    /// After the passes.
    pub(crate) passed: Program,
}

/// The subjects that the command line names, or all known programs if it names none.
pub(crate) fn subjects() -> Vec<Subject> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let numbers: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let names: Vec<&String> = words.iter().filter(|word| word.parse::<u32>().is_err()).collect();
    let all = if numbers.is_empty() { vec![64, 128, 256, 512, 1024] } else { numbers };
    let chosen = PROGRAMS.iter().copied().filter(|(path, ..)| {
        names.is_empty() || names.iter().any(|name| path.contains(name.as_str()))
    });
    let is_known = |name: &str| PROGRAMS.iter().any(|(path, ..)| path.contains(name));
    let others = names.iter().filter(|name| !is_known(name));
    let others = others.map(|name| (name.as_str(), name.as_str(), u32::MAX));
    let mut subjects = Vec::new();
    for (path, title, most) in chosen.chain(others) {
        let ranks = all.iter().filter(|ranks| **ranks <= most);
        subjects.extend(ranks.map(|ranks| Subject::new(path, title, *ranks)));
    }
    subjects
}

impl Subject {
    fn new(path: &str, title: &str, ranks: u32) -> Subject {
        let (unit, program) = load(path);
        let settings = settings(&unit, program, ranks);
        Subject { title: title.to_owned(), ranks, unit, program, settings }
    }

    /// The program in both forms.
    pub(crate) fn both(&self) -> Both {
        let never = Interrupt::default();
        let written = elaborate::elaborate(&self.unit, self.program, &self.settings, &never).0;
        let written = written.expect("a program that can be elaborated");
        let passed = optimize::optimize(written.clone(), Stage::Sync);
        Both { written, passed }
    }
}

impl Both {
    /// Runs both checks; they must find no error. They may say that some sizes are not checked.
    pub(crate) fn check(&self) {
        let mut known = check::Known::default();
        for program in [&self.written, &self.passed] {
            let found = check::check_again(program, &mut known, &Interrupt::default());
            let error = found.iter().find(|report| report.severity == Severity::Error);
            assert!(error.is_none(), "{error:?}");
        }
    }

    /// The number of operations after the passes.
    pub(crate) fn operations(&self) -> u64 {
        let blocks = self.passed.ranks.iter().flat_map(|rank| &rank.blocks);
        blocks.map(|block| count_ops(&block.ops) as u64).sum()
    }
}

fn load(path: &str) -> (Unit, ProgramId) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut sources = SourceMap::default();
    let main = sources.add(path.display().to_string(), text);
    let mut read =
        |path: &str| fs::read_to_string(path).map(Arc::from).map_err(|error| error.to_string());
    let (unit, _) = driver::load(main, &mut sources, &mut read);
    let program = unit.programs.ids().next().expect("a file with a program");
    (unit, program)
}

fn settings(unit: &Unit, program: ProgramId, ranks: u32) -> Settings {
    let number = |value: u32| {
        let (expr, _) = syntax::parse_expression(FileId(0), &value.to_string());
        expr.and_then(|expr| resolve::argument(&expr).0).expect("a number is a value")
    };
    let parameters = [("ranks", ranks), ("ranks_per_node", WIDTH)]
        .into_iter()
        .filter(|(name, _)| unit.programs[program].parameters.iter().any(|p| p.name == *name))
        .map(|(name, value)| (name.to_owned(), number(value)))
        .collect();
    Settings { parameters, ..Settings::default() }
}
