//! Kernels run: the CUDA source of programs is compiled for the CPU, with ThreadSanitizer or AddressSanitizer, and run
//! on all ranks with real data for several launches.
//!
//! `kernels/check.cpp` describes a run. Correct programs must give the right results without a sanitizer's report. For
//! every program with a mistake, `cclc` must refuse it, and a run of its kernels, built without the proof, must show
//! the mistake. Needs g++; without it these tests fail. `--include-ignored` runs the smaller ones of similar kernels, too.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its files fails")]

#[path = "kernels/build.rs"]
mod build;
#[path = "support/files.rs"]
mod files;
#[path = "kernels/mutants.rs"]
mod mutants;
#[path = "kernels/promises.rs"]
mod promises;

use build::{Run, Sanitizer, Subject};
use compiler::driver::Proof;
use files::{ccl_files, manifest, stem};
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The usual run: floats, sums.
const PLAIN: Run = Run { threads: 1, chunk_bytes: 96, launches: 4, type_: 0, op: 0, packet: 0 };

/// How many seconds a thread may wait for one thing; sanitizers and other processes are slow.
const PATIENCE: &str = "60";

/// Programs with ports, and the numbers of ranks for which they are run as kernels for NVSHMEM.
const NETWORKED: &[(&str, i64)] = &[
    ("../examples/allgather_push_1d.ccl", 3),
    ("../examples/allgather_push_2d.ccl", 4),
    ("../examples/allgather_push_2d.ccl", 6),
    ("../examples/alltoall_three_step.ccl", 4),
    ("../examples/algorithms/allreduce_tree_nodes.ccl", 4),
    ("../examples/algorithms/alltoall_direct.ccl", 4),
    ("../examples/algorithms/alltoallv_nodes.ccl", 4),
    ("../examples/algorithms/halo_exchange.ccl", 8),
    ("../examples/algorithms/moe_combine.ccl", 4),
    ("../stdlib/ccl/algorithms/allgather_nodes.ccl", 4),
    ("../stdlib/ccl/algorithms/allgather_nodes_packets.ccl", 4),
    ("../stdlib/ccl/algorithms/allreduce_nodes.ccl", 4),
    ("../stdlib/ccl/algorithms/sendrecv_port.ccl", 3),
    ("tests/kernels/forwarded.ccl", 2),
    ("tests/kernels/handover.ccl", 2),
];

/// Programs of the library with several peers in and beyond each node, with lists of more than eight peers, or with more
/// ranks than once had room in the arguments of a kernel.
const CROWDED: &[(&str, i64)] = &[
    ("allgather_nodes_packets", 9),
    ("allgather_allpairs", 11),
    ("allreduce_allpairs", 10),
    ("allreduce_packets", 11),
    ("allreduce_packets_one_phase", 11),
    ("reducescatter_packets", 11),
    ("broadcast_tree", 130),
];

/// Programs whose steps become loops, and the numbers of ranks: four nodes of three, rings over several blocks.
const LOOPING: &[(&str, i64)] = &[
    ("../stdlib/ccl/algorithms/allgather_nodes.ccl", 12),
    ("../stdlib/ccl/algorithms/allgather_nodes.ccl", 66),
    ("../stdlib/ccl/algorithms/allgather_ring.ccl", 23),
    ("../stdlib/ccl/algorithms/allreduce_nodes.ccl", 12),
    ("../stdlib/ccl/algorithms/allreduce_ring.ccl", 13),
    ("../stdlib/ccl/algorithms/broadcast_chain.ccl", 4),
    ("../stdlib/ccl/algorithms/reducescatter_ring.ccl", 13),
];

/// Other programs whose numbers become formulas, with their numbers of ranks and of ranks in a node: pairs of peers,
/// several blocks for each peer, trees, exchanges over doubling distances and in pairs, rings inside nodes, domains
/// inside nodes, a rank for each pair of nodes; parallel channels; and roles by the node, the position in it, or the
/// height in a tree.
const FORMULAIC: &[(&str, i64, i64)] = &[
    ("../stdlib/ccl/algorithms/allgather_nodes_packets.ccl", 12, 3),
    ("../stdlib/ccl/algorithms/allgather_recursive_doubling.ccl", 8, 3),
    ("../stdlib/ccl/algorithms/allreduce_packets_one_phase.ccl", 4, 3),
    ("../stdlib/ccl/algorithms/broadcast_tree.ccl", 9, 3),
    ("../examples/allgather_push_3d.ccl", 12, 6),
    ("../examples/alltoall_three_step.ccl", 8, 2),
    ("../examples/alltoall_three_step.ccl", 9, 3),
    ("../examples/alltoall_three_step.ccl", 12, 4),
    ("../examples/hierarchical_allreduce.ccl", 9, 3),
    ("../examples/algorithms/allgather_pat.ccl", 7, 7),
    ("../examples/algorithms/reducescatter_pat.ccl", 7, 7),
    ("../examples/algorithms/allreduce_tree_nodes.ccl", 6, 2),
    ("../examples/algorithms/allreduce_rabenseifner.ccl", 6, 6),
    ("../examples/mscclpp/default_algos_allreduce_multi_nodes.ccl", 6, 3),
    ("../examples/mscclpp/default_algos_reducescatter_multi_nodes.ccl", 6, 2),
    ("../examples/mscclpp/multi_node_allgather_pkt.ccl", 9, 3),
    ("../examples/mscclpp/multi_node_allgather_tbg.ccl", 6, 3),
    ("../examples/mscclpp/single_node_allreduce_pkt.ccl", 4, 4),
    ("../examples/mscclpp/single_node_alltoall.ccl", 4, 4),
    ("../examples/systems/allgather_low_latency.ccl", 12, 4),
    ("../examples/systems/allreduce_binomial_tree.ccl", 11, 11),
    ("../examples/systems/alltonext.ccl", 9, 3),
];

/// Programs some of whose numbers follow no formula and are in tables, with their numbers of ranks and of ranks in a node.
const TABULAR: &[(&str, i64, i64)] = &[
    ("../examples/allgather_uneven_nodes.ccl", 6, 6),
    ("../examples/algorithms/allreduce_bucket.ccl", 8, 8),
    ("../examples/algorithms/allreduce_double_tree.ccl", 7, 7),
    ("../examples/algorithms/allreduce_rabenseifner.ccl", 7, 7),
    ("../examples/algorithms/allreduce_swing.ccl", 16, 16),
    ("../examples/algorithms/allreduce_tree_nodes.ccl", 15, 3),
    ("../examples/algorithms/alltoallv_nodes.ccl", 8, 4),
    ("../examples/algorithms/broadcast_spanning_trees.ccl", 8, 8),
    ("../examples/algorithms/halo_exchange.ccl", 8, 8),
    ("../examples/algorithms/moe_combine.ccl", 8, 8),
];

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for file in ccl_files(&manifest("../stdlib/ccl/algorithms")) {
        for ranks in [2, 4] {
            let subject = subject(&file, None, &[("ranks", ranks), ("ranks_per_node", ranks / 2)]);
            let name = format!("library/{}/{ranks}", stem(&file));
            trials.push(Trial::test(name, move || right(&subject)));
        }
    }
    for file in ccl_files(&manifest("tests/language"))
        .into_iter()
        .chain(ccl_files(&manifest("tests/kernels")))
    {
        for program in programs(&fs::read_to_string(&file).unwrap()) {
            for ranks in [2, 4] {
                let subject =
                    subject(&file, Some(&program), &[("ranks", ranks), ("ranks_per_node", 2)]);
                let name = format!("{}/{program}/{ranks}", stem(&file));
                trials.push(Trial::test(name, move || right(&subject)));
            }
        }
    }
    for (name, ranks) in CROWDED {
        let subject = subject(&algorithm(name), None, &[("ranks", *ranks), ("ranks_per_node", 3)]);
        trials.push(Trial::test(format!("library/{name}/{ranks}"), move || right(&subject)));
    }
    for (file, ranks) in LOOPING {
        let subject = subject(&manifest(file), None, &[("ranks", *ranks), ("ranks_per_node", 3)]);
        let name = format!("loops/{}/{ranks}", stem(Path::new(file)));
        trials.push(Trial::test(name, move || in_loops(&subject)));
    }
    for (file, ranks, ranks_per_node) in FORMULAIC {
        let settings = [("ranks", *ranks), ("ranks_per_node", *ranks_per_node)];
        for program in programs(&fs::read_to_string(manifest(file)).unwrap()) {
            let subject = subject(&manifest(file), Some(&program), &settings);
            let name = format!("formulas/{program}/{ranks}");
            trials.push(Trial::test(name, move || by_formulas(&subject)));
        }
    }
    for (file, ranks, ranks_per_node) in TABULAR {
        let settings = [("ranks", *ranks), ("ranks_per_node", *ranks_per_node)];
        let subject = subject(&manifest(file), None, &settings);
        let name = format!("tables/{}/{ranks}", stem(Path::new(file)));
        trials.push(Trial::test(name, move || by_tables(&subject)));
    }
    trials.push(Trial::test("formulas/library", || no_tables("../stdlib/ccl/algorithms", 50)));
    for (name, least) in [
        ("examples", 15),
        ("examples/algorithms", 6),
        ("examples/mscclpp", 50),
        ("examples/systems", 5),
    ] {
        let folder = format!("../{name}");
        trials.push(Trial::test(format!("formulas/{name}"), move || no_tables(&folder, least)));
    }
    for (file, ranks) in NETWORKED {
        let mut subject =
            subject(&manifest(file), None, &[("ranks", *ranks), ("ranks_per_node", ranks / 2)]);
        subject.nvshmem = true;
        trials.push(Trial::test(format!("nvshmem/{}/{ranks}", stem(Path::new(file))), move || {
            over_network(&subject)
        }));
    }
    trials.extend(of_types_and_sizes());
    for name in ["allgather_allpairs", "allgather_ring", "allreduce_allpairs", "allreduce_packets"]
    {
        trials.push(Trial::test(format!("readable/{name}"), || readable(name)));
    }
    trials.extend(of_misuse());
    trials.extend(of_native_algorithms());
    trials.extend(of_restarts());
    trials.extend(of_single_properties());
    trials.push(Trial::test("elements", || alone("elements.cpp")));
    let clang = Trial::test("clang", || with_clang(&algorithm("allreduce_packets")));
    trials.push(clang.with_ignored_flag(!build::has_clang()));
    for mutant in mutants::MUTANTS {
        trials.push(Trial::test(format!("mutants/{}", mutant.name), || wrong(mutant)));
    }
    libtest_mimic::run(&arguments, leave_out_smaller(trials)).exit();
}

/// Leaves those on two ranks out that also run on four, as compilers take a second or more for each of them:
/// `cargo test --test kernels -- --include-ignored` runs them, too.
fn leave_out_smaller(trials: Vec<Trial>) -> Vec<Trial> {
    let names: BTreeSet<String> = trials.iter().map(|trial| trial.name().to_owned()).collect();
    let is_left_out = |trial: &Trial| {
        let stem = trial.name().strip_suffix("/2");
        stem.is_some_and(|stem| names.contains(&format!("{stem}/4")))
    };
    let mark = |trial: Trial| {
        if is_left_out(&trial) { trial.with_ignored_flag(true) } else { trial }
    };
    trials.into_iter().map(mark).collect()
}

/// Programs with packets that are launched across the restart of launch numbers, and their numbers of ranks: from peer to
/// peer, between ranks some of which share no channel, through switches only, and with answers within one operation.
const RESTARTING: &[(&str, i64)] = &[
    ("../stdlib/ccl/algorithms/allreduce_packets_one_phase.ccl", 2),
    ("../stdlib/ccl/algorithms/allreduce_packets.ccl", 3),
    ("../stdlib/ccl/algorithms/allgather_nodes_packets.ccl", 4),
    ("../examples/mscclpp/single_node_allgather_nvls_zero_copy_pkt.ccl", 4),
    ("tests/kernels/replies.ccl", 4),
];

/// What happens when the numbers of launches restart.
fn of_restarts() -> impl Iterator<Item = Trial> {
    let of = |file: &str, ranks: i64, nvshmem: bool| {
        let settings = [("ranks", ranks), ("ranks_per_node", ranks / 2)];
        Subject { nvshmem, ..subject(&manifest(file), None, &settings) }
    };
    let rows = RESTARTING.iter().map(|(file, ranks)| (*file, *ranks, false));
    let over_ports = ("../stdlib/ccl/algorithms/allgather_nodes_packets.ccl", 4, true);
    let values = rows.chain([over_ports]).map(move |(file, ranks, nvshmem)| {
        let network = if nvshmem { "nvshmem/" } else { "" };
        let name = format!("restart/{network}{}/{ranks}", stem(Path::new(file)));
        Trial::test(name, move || restarts(&of(file, ranks, nvshmem)))
    });
    let (first, ranks) = ("../stdlib/ccl/algorithms/allreduce_packets_one_phase.ccl", 2);
    let waits = Trial::test("restart/waits", move || waits(&of(first, ranks, false)));
    values.chain([waits])
}

/// What single programs show.
fn of_single_properties() -> [Trial; 4] {
    [
        Trial::test("order/two_blocks", || ordered("two_blocks", TWO_BLOCKS)),
        Trial::test("order/turns", || ordered("turns", TURNS)),
        Trial::test("switch_ops", on_integers),
        Trial::test("libraries", in_libraries),
    ]
}

/// What programs refuse.
fn of_misuse() -> impl Iterator<Item = Trial> {
    let tests = [
        ("allreduce_packets", "misuse.c"),
        ("allreduce_nvls", "misuse_switch.c"),
        ("pairs", "misuse_groups.c"),
        ("broadcast_tree", "misuse_rows.c"),
        ("allgather_allpairs", "misuse_inner.c"),
        ("allreduce_packets_one_phase", "misuse_peers.c"),
    ];
    tests.into_iter().map(|(name, test)| {
        Trial::test(format!("misuse/{name}"), || misuse(&algorithm(name), test))
    })
}

/// What kernels do as native algorithms of MSCCL++.
fn of_native_algorithms() -> impl Iterator<Item = Trial> {
    let own = |name: &str| build::kernels(&format!("native/{name}.ccl"));
    let tests = [
        (algorithm("allreduce_allpairs"), "buffers.cpp"),
        (algorithm("allreduce_packets"), "packets.cpp"),
        (own("scatter"), "scatter.cpp"),
        (own("largest"), "largest.cpp"),
    ];
    tests.into_iter().map(|(program, file)| {
        let subject = subject(&program, None, &[("ranks", 3)]);
        Trial::test(format!("native/{file}"), move || native(&subject, file))
    })
}

/// Types, operations, and chunks of unusual sizes.
fn of_types_and_sizes() -> Vec<Trial> {
    let mut trials = Vec::new();
    for name in ["allreduce_allpairs", "allreduce_packets", "allreduce_nvls"] {
        let subject = subject(&algorithm(name), None, &[("ranks", 3)]);
        trials.push(Trial::test(format!("types/{name}"), move || types(&subject)));
    }
    for name in ["allgather_allpairs", "allgather_ring", "reducescatter_ring", "alltoall_packets"] {
        let subject = subject(&algorithm(name), None, &[("ranks", 3)]);
        trials.push(Trial::test(format!("bounds/{name}"), move || bounds(&subject)));
    }
    for name in ["cut", "groups"] {
        let subject = subject(&algorithm(name), None, &[("ranks", 2)]);
        trials.push(Trial::test(format!("shares/{name}"), move || shares(&subject)));
    }
    trials
}

/// No race, no wrong value, no deadlock.
fn right(subject: &Subject) -> Result<(), Failed> {
    let built = build::build(subject, Proof::Needed)?;
    let check = build::compile(&built, Sanitizer::Thread, "1", "1")?;
    for packet in packets(&built) {
        clean(&check, Run { threads: 2, packet, ..PLAIN })?;
    }
    clean(&check, PLAIN)
}

/// Launches are right before and after their numbers restart.
fn restarts(subject: &Subject) -> Result<(), Failed> {
    let built = build::build(subject, Proof::Needed)?;
    if !built.packets {
        return Err(Failed::from("there are no packets"));
    }
    let check = build::compile_before_restart(&built, "check.cpp", "1")?;
    for packet in packets(&built) {
        clean(&check, Run { threads: 2, launches: 8, packet, ..PLAIN })?;
    }
    Ok(())
}

/// A rank waits for packets after the restart, too, whatever its scratch held before.
fn waits(subject: &Subject) -> Result<(), Failed> {
    let built = build::build(subject, Proof::Needed)?;
    succeeds(&build::compile_before_restart(&built, "restart.cpp", "8")?)
}

/// The program's steps become a loop, and numbers are formulas of the step.
fn in_loops(subject: &Subject) -> Result<(), Failed> {
    if !build::source(subject, "program")?.contains("for (uint32_t step = 0;") {
        return Err(Failed::from("nothing is done in a loop"));
    }
    by_formulas(subject)
}

/// There is no table of numbers, and the formulas used instead are right.
fn by_formulas(subject: &Subject) -> Result<(), Failed> {
    if build::source(subject, "program")?.contains("CCL_TABLE") {
        return Err(Failed::from("numbers are in a table"));
    }
    let built = build::build(subject, Proof::Needed)?;
    let check = build::compile(&built, Sanitizer::Thread, "1", "1")?;
    clean(&check, Run { launches: 2, ..PLAIN })
}

/// There is a table of numbers, and what it says is right.
fn by_tables(subject: &Subject) -> Result<(), Failed> {
    if !build::source(subject, "program")?.contains("CCL_TABLE") {
        return Err(Failed::from("there is a formula for every number"));
    }
    let built = build::build(subject, Proof::Needed)?;
    let check = build::compile(&built, Sanitizer::Thread, "1", "1")?;
    clean(&check, Run { launches: 2, ..PLAIN })
}

/// No program of a folder has a table, for few ranks or many, except for those in `TABULAR`; at least `least` programs are
/// looked at.
fn no_tables(name: &str, least: usize) -> Result<(), Failed> {
    let mut seen = 0;
    let is_tabular = |file: &Path| TABULAR.iter().any(|(known, _, _)| manifest(known) == file);
    for file in ccl_files(&manifest(name)).into_iter().filter(|file| !is_tabular(file)) {
        for program in programs(&fs::read_to_string(&file)?) {
            for (ranks, ranks_per_node) in [(6, 6), (16, 8), (40, 8)] {
                let settings = [("ranks", ranks), ("ranks_per_node", ranks_per_node)];
                let subject = subject(&file, Some(&program), &settings);
                // If a `require` of the program refuses this number of ranks, there is no source.
                let Ok(source) = build::source(&subject, "program") else { continue };
                seen += 1;
                if source.contains("CCL_TABLE") {
                    return Err(Failed::from(format!("{program} has a table for {ranks} ranks")));
                }
            }
        }
    }
    if seen < least { Err(Failed::from(format!("only {seen} were looked at"))) } else { Ok(()) }
}

/// Transfers over ports go through the network.
fn over_network(subject: &Subject) -> Result<(), Failed> {
    if !build::source(subject, "program")?.contains("b.port_") {
        return Err(Failed::from("nothing goes over a port"));
    }
    right(subject)
}

/// Every type, every operation, and chunks that are not a multiple of 16 bytes.
fn types(subject: &Subject) -> Result<(), Failed> {
    let built = build::build(subject, Proof::Needed)?;
    let check = build::compile(&built, Sanitizer::Address, "63", "7")?;
    let switch = subject.file.contains("nvls");
    let chunk_bytes = if switch { 48 } else { 104 };
    for type_ in 0..6 {
        for op in 0..3 {
            // The switch does not support bytes, and for floats only sums.
            if switch && (type_ == 5 || (type_ == 0 && op > 0)) {
                continue;
            }
            for packet in packets(&built) {
                clean(&check, Run { threads: 2, chunk_bytes, type_, op, packet, ..PLAIN })?;
            }
        }
    }
    // Elements of one or two bytes that do not begin at a multiple of 4.
    for type_ in if switch || built.packets { [].as_slice() } else { &[1, 2, 5] } {
        clean(&check, Run { threads: 2, chunk_bytes: 102, type_: *type_, ..PLAIN })?;
    }
    Ok(())
}

/// Puts over a network, which keeps no order by itself: what the blocks of a program of `order.ccl` do at ports, in order.
const TWO_BLOCKS: &[&str] = &["order", "put", "order", "put", "flush"];
const TURNS: &[&str] = &[
    "signal", "wait", "order", "signal", "put", "order", "signal", "flush", "signal", "wait",
    "wait", "wait",
];

/// Puts and signals come behind earlier puts of the same block, of earlier turns and of other blocks.
fn ordered(program: &str, wanted: &[&str]) -> Result<(), Failed> {
    let file = build::kernels("order/order.ccl");
    let mut subject = subject(&file, Some(program), &[("ranks", 2)]);
    subject.nvshmem = true;
    let source = build::source(&subject, "program")?;
    let calls = source.lines().filter_map(|line| line.trim_start().strip_prefix("b.port_"));
    let calls: Vec<&str> = calls.filter_map(|call| call.split('(').next()).collect();
    if calls == wanted {
        Ok(())
    } else {
        Err(Failed::from(format!("not {wanted:?}, but {calls:?}")))
    }
}

/// A switch that does not combine floats as the program does: it does with integers, and floats are refused.
fn on_integers() -> Result<(), Failed> {
    let subject = subject(&build::kernels("integers/switch_ops.ccl"), None, &[("ranks", 3)]);
    if !build::source(&subject, "program")?.contains("b.load_reduce<K, ccl::Max>(") {
        return Err(Failed::from("the switch does not take the maximum"));
    }
    let built = build::build(&subject, Proof::Needed)?;
    let check = build::compile(&built, Sanitizer::Address, "9", "7")?;
    clean(&check, Run { threads: 2, type_: 3, ..PLAIN })?;
    match clean(&check, Run { threads: 2, type_: 0, ..PLAIN }) {
        Ok(()) => Err(Failed::from("floats are accepted")),
        Err(_) => Ok(()),
    }
}

/// Two builds of a program, loaded into one process: the numbers of each, here those of rank 2, are its own.
fn in_libraries() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut command =
        std::process::Command::new(build::compile_loader(folder.path(), "libraries.c")?);
    let mut kept = Vec::new();
    for (growth, chunks) in [(1, "5"), (3, "13")] {
        let file = build::kernels("libraries/parts.ccl");
        let subject = subject(&file, None, &[("ranks", 3), ("growth", growth)]);
        let built = build::build(&subject, Proof::Needed)?;
        command.arg(build::compile_library(&built)?).arg(chunks);
        kept.push(built);
    }
    ended_well(&mut command)
}

/// No memory outside the buffers is touched, whatever the size.
fn bounds(subject: &Subject) -> Result<(), Failed> {
    let built = build::build(subject, Proof::Needed)?;
    let check = build::compile(&built, Sanitizer::Address, "32", "1")?;
    let sizes: &[u32] =
        if built.packets { &[8, 40, 16_384] } else { &[1, 15, 16, 33, 100, 16_384] };
    for chunk_bytes in sizes {
        clean(&check, Run { threads: 3, chunk_bytes: *chunk_bytes, type_: 5, ..PLAIN })?;
    }
    Ok(())
}

/// The blocks of a group share an operation as the checks assume, also if a chunk is no whole number of units.
fn shares(subject: &Subject) -> Result<(), Failed> {
    let built = build::build(subject, Proof::Needed)?;
    let check = build::compile(&built, Sanitizer::Thread, "1", "1")?;
    for chunk_bytes in [8, 40, 104] {
        clean(&check, Run { threads: 2, chunk_bytes, ..PLAIN })?;
    }
    Ok(())
}

/// The kernels in `docs/kernels` are those that are generated, and no role has more than two and a half times as many
/// lines as when written by hand.
fn readable(name: &str) -> Result<(), Failed> {
    let mut subject = subject(&algorithm(name), None, &[]);
    subject.file = format!("stdlib/ccl/algorithms/{name}.ccl");
    let made = build::source(&subject, name)?;
    let shown = manifest("../docs/kernels").join(format!("{name}.cu"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&shown, &made)?;
    }
    if fs::read_to_string(&shown)? != made {
        return Err(Failed::from(format!("{} is not what is made", shown.display())));
    }
    let by_hand = fs::read_to_string(manifest("../docs/kernels/by_hand.cu"))?;
    let prefix = format!("void {name}_");
    let roles: Vec<&str> =
        by_hand.lines().filter_map(|line| line.split_once(&prefix)?.1.split('(').next()).collect();
    for role in &roles {
        let hand = length(&by_hand, &format!("{prefix}{role}("));
        let made = length(&made, &format!("void block_{role}("));
        if made == 0 || 2 * made > 5 * hand {
            return Err(Failed::from(format!("`{role}` has {made} lines, {hand} by hand")));
        }
    }
    if roles.is_empty() { Err(Failed::from("nothing is written by hand")) } else { Ok(()) }
}

/// The number of lines of a function.
fn length(text: &str, opening: &str) -> usize {
    let body = text.lines().skip_while(|line| !line.contains(opening));
    body.take_while(|line| *line != "}").count()
}

/// Wrong arguments are refused before anything is launched; the header can be used from C.
fn misuse(file: &Path, test: &str) -> Result<(), Failed> {
    let mut subject = subject(file, None, &[("ranks", 4)]);
    if test == "misuse.c" {
        subject.text = subject
            .text
            .replace("double_scratch = true;", "double_scratch = true; message_size = ..=1GiB;");
    }
    let built = build::build(&subject, Proof::Needed)?;
    succeeds(&build::compile_c(&built, test)?)
}

/// An executable ends well; if not, what it says is the failure.
fn succeeds(executable: &Path) -> Result<(), Failed> {
    ended_well(&mut std::process::Command::new(executable))
}

fn ended_well(command: &mut std::process::Command) -> Result<(), Failed> {
    let output = command.env("TSAN_OPTIONS", build::AT_ONCE).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(Failed::from(said)) }
}

/// A C++ file that launches a native algorithm finds nothing wrong.
fn native(subject: &Subject, file: &str) -> Result<(), Failed> {
    let (_folder, made) = build::compile_native(subject, file)?;
    succeeds(&made)
}

/// A C++ file that needs no program finds nothing wrong.
fn alone(file: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    succeeds(&build::compile_alone(folder.path(), file)?)
}

/// The kernels also compile with a compiler other than g++.
fn with_clang(file: &Path) -> Result<(), Failed> {
    let built = build::build(&subject(file, None, &[("ranks", 4)]), Proof::Needed)?;
    build::compile_with_clang(&built).map_err(Failed::from)
}

fn packets(built: &build::Built) -> std::ops::Range<u32> {
    if built.packets { 0..2 } else { 0..1 }
}

fn clean(check: &Path, run: Run) -> Result<(), Failed> {
    let output = build::run(check, run, PATIENCE);
    if output.status.code() == Some(0) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failed::from(format!("{run:?} ended with {:?}\n{said}", output.status)))
}

/// The checks refuse it, and a run shows that it is wrong.
fn wrong(mutant: &mutants::Mutant) -> Result<(), Failed> {
    let mut subject = subject(&algorithm(mutant.file), None, mutant.parameters);
    if !subject.text.contains(mutant.from) {
        return Err(Failed::from(format!("`{}` is not in the program", mutant.from)));
    }
    subject.text = subject.text.replace(mutant.from, mutant.to);
    match build::build(&subject, Proof::Needed) {
        Ok(_) => return Err(Failed::from("the checks find nothing")),
        Err(report) if !mutant.codes.iter().any(|code| report.contains(code)) => {
            return Err(Failed::from(format!("not {:?}, but\n{report}", mutant.codes)));
        }
        Err(_) => {}
    }
    let built = build::build(&subject, Proof::Reported)?;
    let check = build::compile(&built, Sanitizer::Thread, "1", "1")?;
    for threads in [2, 1, 2, 2] {
        let output = build::run(&check, Run { threads, ..PLAIN }, "5");
        match output.status.code() {
            Some(2 | 3 | 66) => return Ok(()),
            Some(0) => {}
            _ => return Err(Failed::from(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }
    Err(Failed::from("no run shows the mistake"))
}

fn subject(file: &Path, program: Option<&str>, parameters: &[(&str, i64)]) -> Subject {
    Subject {
        file: file.display().to_string(),
        text: any_size(&fs::read_to_string(file).unwrap()),
        program: program.map(str::to_owned),
        parameters: parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        nvshmem: false,
    }
}

/// The text without limits on message sizes: the messages here are short.
fn any_size(text: &str) -> String {
    let mut parts = text.split("message_size = ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(';').map_or("", |(_, rest)| rest))
}

/// The names of a text's programs.
fn programs(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.strip_prefix("program "));
    names.map(|rest| rest.split('(').next().unwrap_or_default().to_owned()).collect()
}

fn algorithm(name: &str) -> PathBuf {
    let file = format!("{name}.ccl");
    let own = build::kernels(&file);
    if own.exists() { own } else { manifest("../stdlib/ccl/algorithms").join(file) }
}
