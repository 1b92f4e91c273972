//! Up to which numbers of ranks the programs of the library and of the language's pages work. For every number of ranks
//! from 2 to 17 that they support, on nodes of every width, in place and out of place, they have no findings except
//! limits of the executor. A table says which program exceeds which limit, and from which number of ranks on. Programs
//! meant for many ranks have no findings with many ranks.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "support/files.rs"]
mod files;

use compiler::diagnostic::{Code, Diagnostic, Severity};
use compiler::driver::{self, Proof, Request};
use compiler::elaborate::Settings;
use compiler::interrupt::Interrupt;
use compiler::resolve::program::{ProgramId, Unit};
use compiler::source::{FileId, SourceMap};
use compiler::target::{Capacity, PLAN};
use compiler::{resolve, syntax};
use files::{ccl_files, manifest};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A program of the library or of the pages, with the node width, and whether it is in place if it can be either; the
/// number of ranks from which on it exceeds a limit; the limit's code.
type Row = (&'static str, u32, &'static str);

const LIMITS: &[Row] = &[
    ("library: allreduce_allpairs", 10, "E0803"),
    ("pages: declarations, nodes of 1", 16, "E0802"),
];

const RANKS: std::ops::RangeInclusive<u32> = 2..=17;

#[test]
fn programs_meet_limits_only_where_the_table_says() {
    // For each shape of a program, the numbers of ranks that it supports, each with the codes that are reported.
    let mut found: BTreeMap<String, BTreeMap<u32, BTreeSet<&str>>> = BTreeMap::new();
    let library =
        ccl_files(&manifest("../stdlib/ccl/algorithms")).into_iter().map(|file| ("library", file));
    let pages = ccl_files(&manifest("tests/language")).into_iter().map(|file| ("pages", file));
    for (place, file) in library.chain(pages) {
        let unit = load(&file);
        for id in unit.programs.ids() {
            for ranks in RANKS {
                for (shape, parameters) in shapes(&unit, id, ranks) {
                    if let Some(codes) = findings(&unit, id, &parameters) {
                        let shape = format!("{place}: {shape}");
                        found.entry(shape).or_default().insert(ranks, codes);
                    }
                }
            }
        }
    }
    let mut table: Vec<(String, u32, String)> = Vec::new();
    for (shape, numbers) in &found {
        let mut last = BTreeSet::new();
        for (ranks, codes) in numbers {
            assert!(codes.is_superset(&last), "{shape} meets {last:?} no more at {ranks} ranks");
            let new = codes.difference(&last);
            table.extend(new.map(|code| (shape.clone(), *ranks, (*code).to_owned())));
            last.clone_from(codes);
        }
    }
    let listed: Vec<(String, u32, String)> = LIMITS
        .iter()
        .map(|(shape, from, code)| ((*shape).to_owned(), *from, (*code).to_owned()))
        .collect();
    let text = |table: &[(String, u32, String)]| {
        table.iter().map(|row| format!("    {row:?},\n")).collect::<String>()
    };
    assert!(found.len() > 60, "only {} shapes", found.len());
    assert_eq!(text(&table), text(&listed));
}

/// Programs for many ranks: their files, and whether they have a parameter for nodes.
const FAR: &[(&str, bool)] = &[
    ("../stdlib/ccl/algorithms/allgather_nodes.ccl", true),
    ("../stdlib/ccl/algorithms/allgather_nodes_packets.ccl", true),
    ("../stdlib/ccl/algorithms/allreduce_nodes.ccl", true),
    ("../examples/allgather_push_2d.ccl", true),
    ("../examples/allgather_push_3d.ccl", true),
    ("../examples/hierarchical_allreduce.ccl", true),
    ("../examples/algorithms/allreduce_tree_nodes.ccl", true),
    ("../examples/algorithms/alltoallv_nodes.ccl", true),
    ("../examples/mscclpp/default_algos_allgather_multi_nodes.ccl", true),
    ("../examples/mscclpp/default_algos_allreduce_multi_nodes.ccl", true),
    ("../examples/mscclpp/default_algos_reducescatter_multi_nodes.ccl", true),
    ("../stdlib/ccl/algorithms/allgather_ring.ccl", false),
    ("../stdlib/ccl/algorithms/reducescatter_ring.ccl", false),
    ("../stdlib/ccl/algorithms/allreduce_ring.ccl", false),
    ("../examples/algorithms/allreduce_double_tree.ccl", false),
    ("../examples/algorithms/allreduce_rabenseifner.ccl", false),
];

/// Programs for several nodes, with two ranks in each and so many nodes that blocks are shared by several peers; or
/// with `FAR_RANKS=512`, for that many ranks, eight in a node. Programs for one node are checked for 64 ranks.
#[test]
fn programs_for_many_ranks_reach_them() {
    let (ranks, width) = match std::env::var("FAR_RANKS") {
        Ok(ranks) => (ranks, 8),
        Err(_) => ("48".to_owned(), 2),
    };
    for (file, nodes) in FAR {
        let unit = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
        let id = unit.programs.ids().next().unwrap();
        let ranks = if *nodes { ranks.as_str() } else { "64" };
        let mut parameters = vec![("ranks".to_owned(), ranks.to_owned())];
        if *nodes {
            parameters.push(("ranks_per_node".to_owned(), width.to_string()));
        }
        assert_eq!(findings(&unit, id, &parameters), Some(BTreeSet::new()), "{file}");
    }
}

/// The codes that are reported for a program, except notes; none if it does not support these parameters.
fn findings(
    unit: &Unit,
    id: ProgramId,
    parameters: &[(String, String)],
) -> Option<BTreeSet<&'static str>> {
    let value = |text: &str| {
        let (expr, _) = syntax::parse_expression(FileId(0), text);
        resolve::argument(&expr.unwrap()).0.unwrap()
    };
    let parameters = parameters.iter().map(|(name, text)| (name.clone(), value(text))).collect();
    let settings = Settings { parameters, ..Settings::default() };
    let (lowered, mut reports) = driver::lower_program(&Request {
        unit,
        program: id,
        settings: &settings,
        target: &PLAN,
        proof: Proof::Needed,
        interrupt: &Interrupt::default(),
    });
    if reports.iter().any(|report| report.code == Code::E0302) {
        return None;
    }
    if let Some(lowered) = lowered {
        let capacity = Capacity { sms: 132, worst: Severity::Error };
        reports.extend(driver::check_limits(&lowered, capacity));
    }
    let told = |report: &&Diagnostic| report.severity > Severity::Note;
    Some(reports.iter().filter(told).map(|report| report.code.id()).collect())
}

/// The parameters for a number of ranks, for nodes of every width, in place and out of place, each with a name.
fn shapes(unit: &Unit, id: ProgramId, ranks: u32) -> Vec<(String, Vec<(String, String)>)> {
    let program = &unit.programs[id];
    let has = |name: &str| program.parameters.iter().any(|p| p.name == name);
    let widths: Vec<Option<u32>> = if has("ranks_per_node") {
        (1..=ranks).filter(|width| ranks.is_multiple_of(*width)).map(Some).collect()
    } else {
        vec![None]
    };
    let places: &[Option<bool>] =
        if has("in_place") { &[Some(false), Some(true)] } else { &[None] };
    let mut shapes = Vec::new();
    for (width, place) in widths.iter().flat_map(|w| places.iter().map(move |p| (*w, *p))) {
        let mut parameters = vec![("ranks".to_owned(), ranks.to_string())];
        let mut shape = program.name.clone();
        if let Some(width) = width {
            parameters.push(("ranks_per_node".to_owned(), width.to_string()));
            shape += &match width == ranks {
                true => ", one node".to_owned(),
                false => format!(", nodes of {width}"),
            };
        }
        if let Some(place) = place {
            parameters.push(("in_place".to_owned(), place.to_string()));
            shape += if place { ", in place" } else { "" };
        }
        parameters.retain(|(name, _)| has(name));
        shapes.push((shape, parameters));
    }
    shapes
}

fn load(path: &Path) -> Unit {
    let mut sources = SourceMap::default();
    let main = sources.add(path.display().to_string(), fs::read_to_string(path).unwrap());
    let mut read =
        |path: &str| fs::read_to_string(path).map(Arc::from).map_err(|error| error.to_string());
    let (unit, reports) = driver::load(main, &mut sources, &mut read);
    assert!(!driver::has_errors(&reports), "{}: {reports:?}", path.display());
    unit
}
