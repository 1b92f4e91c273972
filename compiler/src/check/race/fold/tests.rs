//! What is found where ranks are followed for each other is what is found where each is followed for itself.

use super::Fold;
use crate::check::race::follow;
use crate::driver;
use crate::elaborate::{self, Settings};
use crate::interrupt::Interrupt;
use crate::ir::run::{self, Outcome};
use crate::ir::{Action, BlockId, Program};
use crate::optimize::{self, Stage};
use crate::resolve::{self, program::Expr};
use crate::source::{FileId, SourceMap};
use crate::syntax;
use crate::table::Id;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// More operations than this are left to other tests.
const MOST: usize = 800;

#[test]
fn verdicts_are_the_same_with_and_without_it() {
    let (mut folded, mut guilty) = (0, 0);
    for (name, program) in programs() {
        for mutant in std::iter::once(program.clone()).chain(mutants(&program)) {
            let Some((few, all)) = verdicts(&mutant) else { continue };
            assert_eq!(few, all, "{name}");
            folded += 1;
            guilty += usize::from(all == Some(true));
        }
    }
    assert!(folded > 200 && guilty > 50, "{folded} were folded, {guilty} of them with conflicts");
}

#[test]
fn the_programs_of_the_library_are_folded() {
    let mut known = BTreeMap::new();
    for (name, program) in programs() {
        let fold = Fold::of(&program, run::parts(&program));
        let followed = fold.map(|fold| fold.followed(&program).count());
        known.entry(name).or_insert_with(Vec::new).push(followed);
    }
    for (name, few) in [
        ("allgather_ring", 1),
        ("allreduce_ring", 1),
        ("allreduce_packets", 1),
        ("allreduce_nodes", 1),
        ("alltoall_allpairs", 1),
        ("allreduce_nvls", 1),
        ("two_level_allreduce", 4),
        ("ring_allgather_legal", 1),
        ("hierarchical_allreduce", 1),
    ] {
        let found = known.get(name).unwrap_or_else(|| panic!("{name} is gone"));
        let most = found.iter().flatten().max();
        assert_eq!(most, Some(&few), "{name}: {found:?}");
    }
    assert_eq!(known.get("broadcast_chain").and_then(|found| found.first()), Some(&None));
}

/// Whether conflicts are found with as few ranks as there may be, and with all; none if none can be left out.
fn verdicts(program: &Program) -> Option<(Option<bool>, Option<bool>)> {
    let Outcome::Finished(left) = run::run(program, 1_000_000) else { return None };
    let parts = run::parts(program);
    let fold = Fold::of(program, parts)?;
    let found = |fold: &Fold| {
        let found = follow(program, (fold, parts), &left, &Interrupt::default());
        found.map(|conflicts| !conflicts.is_empty())
    };
    Some((found(&fold), found(&Fold::none())))
}

/// The programs of the library, the examples and the benches, as written and after the passes.
fn programs() -> Vec<(String, Program)> {
    let mut programs = Vec::new();
    for path in paths() {
        let mut sources = SourceMap::default();
        let main = sources.add(path.display().to_string(), fs::read_to_string(&path).unwrap());
        let mut read =
            |path: &str| fs::read_to_string(path).map(Arc::from).map_err(|error| error.to_string());
        let (unit, _) = driver::load(main, &mut sources, &mut read);
        for (id, named) in unit.programs.entries() {
            for (ranks, width) in [(4, 2), (8, 4)] {
                let wanted = [("ranks", ranks), ("ranks_per_node", width)];
                let parameters = wanted
                    .into_iter()
                    .filter(|(name, _)| named.parameters.iter().any(|p| p.name.as_str() == *name))
                    .map(|(name, value)| (name.to_owned(), number(value)))
                    .collect();
                let settings = Settings { parameters, ..Settings::default() };
                let (program, _) =
                    elaborate::elaborate(&unit, id, &settings, &Interrupt::default());
                let Some(program) = program.filter(|program| count(program) < MOST) else {
                    continue;
                };
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                programs.push((name.clone(), program.clone()));
                programs.push((name, optimize::optimize(program, Stage::Sync)));
            }
        }
    }
    programs
}

fn number(value: u32) -> Expr {
    let (expr, _) = syntax::parse_expression(FileId(0), &value.to_string());
    resolve::argument(&expr.unwrap()).0.unwrap()
}

fn paths() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = Vec::new();
    for folder in ["stdlib/ccl/algorithms", "examples", "examples/mscclpp", "benches"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|name| name == "ccl") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths
}

fn count(program: &Program) -> usize {
    let blocks = program.ranks.iter().flat_map(|rank| &rank.blocks);
    blocks.map(|block| crate::ir::count_ops(&block.ops)).sum()
}

/// The program with a mistake that all ranks make alike: an operation left out, a signal or wait relaxed.
fn mutants(program: &Program) -> Vec<Program> {
    let mut mutants = Vec::new();
    let Some(first) = program.ranks.iter().next() else { return mutants };
    let spots = first
        .blocks
        .entries()
        .flat_map(|(id, block)| (0..block.ops.len()).map(move |at| (id, at)).take(4));
    for (block, at) in spots.take(8) {
        mutants.push(changed(program, block, |ops| {
            if at < ops.len() {
                ops.remove(at);
            }
        }));
        mutants.push(changed(program, block, |ops| {
            match ops.get_mut(at).map(|op| &mut op.action) {
                Some(Action::Signal(signal) | Action::Wait(signal)) => signal.relaxed = true,
                Some(_) | None => {}
            }
        }));
    }
    mutants
}

fn changed(program: &Program, block: BlockId, change: impl Fn(&mut Vec<crate::ir::Op>)) -> Program {
    let mut program = program.clone();
    for rank in program.ranks.iter_mut() {
        if let Some(block) = rank.blocks.iter_mut().nth(block.index()) {
            change(&mut block.ops);
        }
    }
    program
}
