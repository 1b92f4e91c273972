//! The findings are the same whether one rank is followed for all ranks symmetric to it or each rank is followed
//! itself, and whether several chunks are checked as one or each is checked itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

mod lot;

use compiler::check::{self, Ranks};
use compiler::elaborate::{self, Settings};
use compiler::interrupt::Interrupt;
use compiler::ir::grain::{Grain, count_parts, find_coarsest_grain};
use compiler::ir::{Action, BlockId, Op, Program, count_ops};
use compiler::optimize::{self, Stage};
use compiler::resolve::program::{Expr, ProgramId, Unit};
use compiler::source::{FileId, SourceMap};
use compiler::table::Id as _;
use compiler::{driver, resolve, syntax};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folders of the programs.
const FOLDERS: [&str; 5] =
    ["stdlib/ccl/algorithms", "examples", "examples/algorithms", "examples/mscclpp", "benches"];

/// Programs with more operations are left to other tests.
const MOST: usize = 800;

/// Programs whose lists are split by the passes at twelve ranks.
const CUT: [&str; 2] = ["allpairs_allreduce_packets", "allreduce_packets"];

#[test]
fn reports_are_the_same_with_few_ranks_and_with_all() {
    let (mut folded, mut guilty) = (0, 0);
    for (name, program) in programs() {
        for mutant in std::iter::once(program.clone()).chain(mutants(&program)) {
            if check::followed(&mutant) == mutant.ranks.len() {
                continue;
            }
            let found = |ranks| check::check_following(&mutant, ranks, &Interrupt::default());
            let (few, all) = (found(Ranks::Few), found(Ranks::All));
            assert_eq!(few, all, "{name}");
            folded += 1;
            guilty += usize::from(!all.is_empty());
        }
    }
    assert!(folded > 200 && guilty > 50, "{folded} were folded, {guilty} of them wrong");
}

#[test]
fn the_ranks_of_the_library_s_programs_stand_for_each_other() {
    let mut known = BTreeMap::new();
    for (name, program) in programs() {
        let few = check::followed(&program);
        let least = known.entry(name).or_insert(few);
        *least = few.min(*least);
    }
    for (name, few) in [
        ("allgather_ring", 1),
        ("allreduce_ring", 1),
        ("allreduce_packets", 1),
        ("allreduce_nodes", 1),
        ("alltoall_allpairs", 1),
        ("allreduce_nvls", 1),
        ("two_level_allreduce", 1),
        ("ring_allgather_legal", 1),
        ("hierarchical_allreduce", 1),
        ("allgather_recursive_doubling", 1),
        ("allreduce_halving_doubling", 1),
        ("broadcast_chain", 4),
    ] {
        assert_eq!(known.get(name), Some(&few), "{name}");
    }
}

/// At twelve ranks, the passes split the lists of these programs, on each rank at another place.
#[test]
fn the_ranks_of_programs_whose_lists_are_cut_stand_for_each_other() {
    let mut cut = 0;
    for (name, program) in programs() {
        if program.ranks.len() == 12 && CUT.contains(&&*name) {
            assert_eq!(check::followed(&program), 1, "{name}");
            cut += 1;
        }
    }
    assert!(cut > 2, "{cut} programs with cut lists");
}

/// With more nodes than rings, a ring handles two chunks one after the other; only their order distinguishes these
/// operations.
#[test]
fn ranks_where_only_their_order_tells_operations_apart_stand_for_each_other() {
    let unit = load(&root().join("examples/hierarchical_allreduce.ccl"));
    let id = unit.programs.ids().next().unwrap();
    let program = elaborated(&unit, id, (132, 4)).unwrap();
    assert_eq!(check::followed(&program), 1);
}

/// On every rank, the chunks of an operation are in another order than on rank 0: their numbers are XORed with the
/// rank's number.
#[test]
fn ranks_whose_chunks_lie_in_another_order_stand_for_each_other() {
    let (mut right, mut wrong) = (0, 0);
    for name in [
        "stdlib/ccl/algorithms/allgather_recursive_doubling",
        "examples/allreduce_halving_doubling",
    ] {
        let unit = load(&root().join(format!("{name}.ccl")));
        let id = unit.programs.ids().next().unwrap();
        for ranks in [4, 8, 16] {
            let program = elaborated(&unit, id, (ranks, ranks)).unwrap();
            for program in [program.clone(), optimize::optimize(program, Stage::Sync)] {
                assert_eq!(check::followed(&program), 1, "{name} of {ranks}");
                let first = &program.ranks.iter().next().unwrap().blocks;
                let spots = first
                    .entries()
                    .flat_map(|(id, block)| (0..block.ops.len()).map(move |at| (id, at)));
                let mutants = spots.flat_map(|(block, at)| wronged(&program, block, at));
                for mutant in std::iter::once(program.clone()).chain(mutants) {
                    let found =
                        |ranks| check::check_following(&mutant, ranks, &Interrupt::default());
                    let (few, all) = (found(Ranks::Few), found(Ranks::All));
                    assert_eq!(few, all, "{name} of {ranks}");
                    right += u32::from(all.is_empty());
                    wrong += u32::from(!all.is_empty());
                }
            }
        }
    }
    assert!(right > 12 && wrong > 100, "{right} right, {wrong} wrong");
}

/// With more than 256 ranks, lists have more members than a byte can count.
#[test]
fn ranks_with_long_lists_stand_for_each_other() {
    let unit = load(&root().join("benches/allpairs_allreduce_packets.ccl"));
    let id = unit.programs.ids().next().unwrap();
    let program = elaborated(&unit, id, (258, 258)).unwrap();
    assert_eq!(check::followed(&program), 1);
    assert_eq!(check::followed(&optimize::optimize(program, Stage::Sync)), 1);
}

/// Blocks that hand off different things are otherwise alike, and so are those that receive them: telling them apart
/// takes one more round.
#[test]
fn ranks_with_blocks_that_differ_only_in_what_they_hand_on_stand_for_each_other() {
    let unit = load(&root().join("compiler/tests/language/allgather_nodes_packets.ccl"));
    let id = unit.programs.ids().next().unwrap();
    let program = elaborated(&unit, id, (32, 8)).unwrap();
    assert_eq!(check::followed(&program), 1);
    assert!(check::check(&program, &Interrupt::default()).is_empty());
}

/// With more peers than receiving blocks, each rank distributes its peers over the blocks, counting from itself.
#[test]
fn ranks_that_share_out_their_peers_stand_for_each_other() {
    let unit = load(&root().join("stdlib/ccl/algorithms/allgather_nodes_packets.ccl"));
    let id = unit.programs.ids().next().unwrap();
    let program = elaborated(&unit, id, (40, 8)).unwrap();
    assert_eq!(check::followed(&program), 1);
    assert_eq!(check::followed(&optimize::optimize(program, Stage::Sync)), 1);
}

#[test]
fn reports_are_the_same_where_two_chunks_are_one() {
    let (mut coarse, mut guilty) = (0, 0);
    for (name, program) in programs().into_iter().filter(|(_, program)| program.ranks.len() <= 4) {
        for mutant in std::iter::once(program.clone()).chain(mutants(&program)) {
            let twice = doubled(&mutant);
            if coarse_of(&mutant).is_some() || coarse_of(&twice).is_none() {
                continue;
            }
            let found = |program| {
                let found = check::check(program, &Interrupt::default());
                found.iter().map(|report| report.code).collect::<Vec<_>>()
            };
            let (fine, whole) = (found(&mutant), found(&twice));
            assert_eq!(fine, whole, "{name}");
            coarse += 1;
            guilty += usize::from(!fine.is_empty());
        }
    }
    assert!(coarse > 200 && guilty > 50, "{coarse} were coarse, {guilty} of them wrong");
}

fn coarse_of(program: &Program) -> Option<Grain> {
    find_coarsest_grain(program, count_parts(program))
}

/// The same program with two chunks in place of each.
fn doubled(program: &Program) -> Program {
    let mut program = program.clone();
    for rank in program.ranks.iter_mut() {
        rank.input_chunks *= 2;
        rank.output_chunks *= 2;
        rank.scratch_chunks *= 2;
        rank.alias.iter_mut().for_each(|alias| alias.offset *= 2);
        let promises = rank.promises.iter().flat_map(|promise| {
            [0, 1].map(|at| {
                let mut promise = promise.clone();
                promise.chunk = promise.chunk * 2 + at;
                for term in &mut promise.terms {
                    term.chunk = term.chunk * 2 + at;
                    term.chunk_step *= 2;
                }
                promise
            })
        });
        rank.promises = promises.collect();
        for block in rank.blocks.iter_mut() {
            for op in &mut block.ops {
                if let Action::Transfer(transfer) = &mut op.action {
                    for operand in transfer.sources.iter_mut().chain(&mut transfer.destinations) {
                        operand.index *= 2;
                        operand.size *= 2;
                    }
                }
            }
        }
    }
    program
}

/// The programs of the library, the examples and the benchmarks, as written and after the passes.
fn programs() -> Vec<(String, Program)> {
    let mut programs = Vec::new();
    for path in paths() {
        let unit = load(&path);
        for id in unit.programs.ids() {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let sizes = [(4, 2), (8, 4), (12, 4)].into_iter();
            for size in sizes.take(if CUT.contains(&&*name) { 3 } else { 2 }) {
                let program = elaborated(&unit, id, size);
                let Some(program) = program.filter(|program| count(program) < MOST) else {
                    continue;
                };
                programs.push((name.clone(), program.clone()));
                programs.push((name.clone(), optimize::optimize(program, Stage::Sync)));
            }
        }
    }
    programs
}

fn load(path: &Path) -> Unit {
    loaded(&path.display().to_string(), fs::read_to_string(path).unwrap())
}

fn loaded(name: &str, text: String) -> Unit {
    let mut sources = SourceMap::default();
    let main = sources.add(name.to_owned(), text);
    let mut read =
        |path: &str| fs::read_to_string(path).map(Arc::from).map_err(|error| error.to_string());
    driver::load(main, &mut sources, &mut read).0
}

/// A program for these numbers of ranks and of ranks in a node, as far as it has parameters for them.
fn elaborated(unit: &Unit, id: ProgramId, (ranks, width): (u32, u32)) -> Option<Program> {
    let has = |name: &str| unit.programs[id].parameters.iter().any(|p| p.name.as_str() == name);
    let wanted = [("ranks", ranks), ("ranks_per_node", width)].into_iter();
    let parameters = wanted
        .filter(|(name, _)| has(name))
        .map(|(name, value)| (name.to_owned(), number(value)))
        .collect();
    let settings = Settings { parameters, ..Settings::default() };
    elaborate::elaborate(unit, id, &settings, &Interrupt::default()).0
}

fn number(value: u32) -> Expr {
    let (expr, _) = syntax::parse_expression(FileId(0), &value.to_string());
    resolve::argument(&expr.unwrap()).0.unwrap()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn paths() -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for folder in FOLDERS {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
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
    blocks.map(|block| count_ops(&block.ops)).sum()
}

/// The program with the same mistake on all ranks: an operation removed, or a signal or wait relaxed.
fn mutants(program: &Program) -> Vec<Program> {
    let mut mutants = Vec::new();
    let Some(first) = program.ranks.iter().next() else { return mutants };
    let spots = first
        .blocks
        .entries()
        .flat_map(|(id, block)| (0..block.ops.len()).map(move |at| (id, at)).take(4));
    // With many ranks, following every one of them takes time.
    let most = if program.ranks.len() > 8 { 1 } else { 8 };
    for (block, at) in spots.take(most) {
        mutants.extend(wronged(program, block, at));
    }
    mutants
}

/// The program without one operation, and with one signal or wait relaxed, on every rank.
fn wronged(program: &Program, block: BlockId, at: usize) -> [Program; 2] {
    let without = changed(program, block, |ops| {
        if at < ops.len() {
            ops.remove(at);
        }
    });
    let relaxed = changed(program, block, |ops| {
        let action = ops.get_mut(at).map(|op| &mut op.action);
        if let Some(Action::Signal(signal) | Action::Wait(signal)) = action {
            signal.relaxed = true;
        }
    });
    [without, relaxed]
}

fn changed(program: &Program, block: BlockId, change: impl Fn(&mut Vec<Op>)) -> Program {
    let mut program = program.clone();
    for rank in program.ranks.iter_mut() {
        if let Some(block) = rank.blocks.iter_mut().nth(block.index()) {
            change(&mut block.ops);
        }
    }
    program
}
