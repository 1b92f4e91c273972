//! Schedules that are found for a machine, and their programs.

use super::{Folder, GOOD, ends, says};
use serde_json::Value;

fn synthesize(folder: &Folder, line: &str, status: i32) -> Value {
    let run = ends(folder.cclc(&format!("synth {line} --json")), status);
    serde_json::from_str(&run.stdout).unwrap()
}

fn empty() -> Folder {
    Folder::with("a.ccl", GOOD)
}

fn list_sizes(found: &Value) -> Vec<[u64; 3]> {
    let points = found["points"].as_array().unwrap();
    let size = |point: &Value, name: &str| point[name].as_u64().unwrap();
    points.iter().map(|point| ["steps", "rounds", "chunks"].map(|name| size(point, name))).collect()
}

/// Frontiers of the literature (Cai et al., PPoPP 2021).
#[test]
fn frontiers_of_the_literature_are_found() {
    let rows: [(&str, &str, &[[u64; 3]]); 8] = [
        ("allgather", "dgx1", &[[2, 3, 2], [3, 7, 6]]),
        ("reducescatter", "dgx1", &[[2, 3, 2], [3, 7, 6]]),
        ("alltoall", "dgx1", &[[2, 8, 3]]),
        ("scatter", "dgx1", &[[2, 7, 6]]),
        ("allgather", "ring(ranks=5)", &[[2, 2, 1]]),
        ("allgather", "ring(ranks=6)", &[[3, 5, 2]]),
        ("allgather", "hypercube(dimensions=3)", &[[3, 7, 3]]),
        ("allgather", "full(ranks=8)", &[[1, 1, 1]]),
    ];
    let folder = empty();
    for (collective, machine, expected) in rows {
        let found = synthesize(&folder, &format!("{collective} --topology {machine}"), 0);
        assert_eq!(list_sizes(&found), expected, "{collective} on {machine}");
        assert_eq!(found["complete"], true, "{collective} on {machine}");
        assert!(
            found["points"].as_array().unwrap().iter().all(|point| point["status"] == "optimal")
        );
    }
}

/// Every program is formatted, passes the checks without a report, and gives the right result.
#[test]
fn programs_are_right() {
    let folder = empty();
    let rows = [
        ("allgather", "dgx1"),
        ("reducescatter", "dgx1"),
        ("allreduce", "dgx1"),
        ("alltoall", "dgx1"),
        ("broadcast", "ring(ranks=4)"),
        ("reduce(root=2)", "ring(ranks=4)"),
        ("scatter(root=1)", "line(ranks=4)"),
        ("gather(root=3)", "line(ranks=4)"),
        ("alltoall", "ring(ranks=5)"),
        ("allreduce", "full(ranks=4)"),
        ("allgather", "dgx_h100(boxes=2)"),
        ("reducescatter", "rail_optimized(boxes=2,rails=2)"),
        ("allgather", "hypercube(dimensions=4)"),
        ("reducescatter", "torus(rows=3,columns=4)"),
        ("allreduce", "ring(ranks=6)"),
        ("allreduce", "dgx_h100(boxes=2)"),
        ("allgather", "full(ranks=20)"),
        ("reducescatter", "full(ranks=20)"),
        ("allreduce", "mi300x"),
        ("alltoall", "dgx_a100(boxes=2)"),
        ("alltoall", "mi300x(boxes=2)"),
    ];
    let mut count = 0;
    for (index, (collective, machine)) in rows.into_iter().enumerate() {
        let run = folder.cclc(&format!(
            "synth {collective} --topology {machine} --max-chunks 6 -o p{index} --json"
        ));
        assert!(matches!(run.status, Some(0 | 3)), "{collective} on {machine}: {}", run.stderr);
        let found: Value = serde_json::from_str(&run.stdout).unwrap();
        for point in found["points"].as_array().unwrap() {
            let program = point["program"].as_str();
            let program = program.unwrap_or_else(|| panic!("{collective} on {machine}: {point}"));
            for program in [Some(program), point["packets"].as_str()].into_iter().flatten() {
                ends(folder.cclc(&format!("fmt --check {program}")), 0);
                ends(folder.cclc(&format!("check {program} --deny warnings")), 0);
                ends(folder.cclc(&format!("run {program} --schedules 4")), 0);
            }
            count += 1;
        }
    }
    assert!(count >= rows.len(), "{count}");
}

/// How many lines of code a program has, and how many of them are not those of a table.
fn count_lines(program: &str) -> [usize; 2] {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let code: Vec<&str> = program.lines().filter(is_code).collect();
    let mut is_table = false;
    let mut tables = 0;
    for line in &code {
        is_table |= line.starts_with("let ") && line.ends_with('[');
        tables += usize::from(is_table);
        is_table &= !line.starts_with(']');
    }
    [code.len(), code.len() - tables]
}

/// Where all ranks can do the same, a program is rules for one, however many ranks there are.
#[test]
fn symmetric_machines_have_short_programs() {
    let folder = empty();
    let rows = [
        (
            "allgather",
            "hypercube(dimensions=7)",
            "--goal latency",
            "fn at(r: int, x: int) -> int = r ^ x;",
        ),
        ("allgather", "ring(ranks=128)", "--goal latency", "(r + x) % 128;"),
        (
            "allgather",
            "torus(rows=8,columns=16)",
            "--goal latency",
            "(r / 16 + x / 16) % 8 * 16 + (r + x) % 16;",
        ),
        ("allgather", "full(ranks=128)", "--goal latency", "[w in ways: [0]]"),
        ("allgather", "dgx_h100(boxes=16)", "--goal bandwidth", "block hand[n in 0..nodes]"),
        ("reducescatter", "dgx_h100(boxes=8)", "--goal bandwidth", "block rail[q in rail_peers]"),
        ("allreduce", "hypercube(dimensions=7)", "--goal latency", "for t in (0..7).rev() {"),
        ("allreduce", "torus(rows=8,columns=16)", "--goal latency", "for t in (0..12).rev() {"),
        ("allreduce", "ring(ranks=128)", "--goal latency", "for t in (0..64).rev() {"),
        ("allreduce", "full(ranks=128)", "--steps 2", "x in sends[0][w]"),
        ("allreduce", "dgx_h100(boxes=16)", "--goal bandwidth", "block piece[n in 0..nodes]"),
        ("allgather", "torus(rows=8,columns=16)", "--goal bandwidth", "block lane["),
        ("reducescatter", "torus(rows=8,columns=16)", "--goal bandwidth", "block lane["),
        ("reducescatter", "hypercube(dimensions=7)", "--goal bandwidth", "block lane["),
    ];
    for (collective, machine, goal, rule) in rows {
        let line = format!("{collective} --topology {machine} {goal} -o one.ccl");
        // Two steps of an AllReduce are not proved to be the best.
        synthesize(&folder, &line, if goal == "--steps 2" { 3 } else { 0 });
        let program = folder.read("one.ccl");
        assert!(program.contains(rule), "{machine}: {program}");
        let [all, rules] = count_lines(&program);
        assert!(rules <= 40 && all <= 70, "{collective} on {machine}: {rules} of {all} lines");
        ends(folder.cclc("fmt --check one.ccl"), 0);
        ends(folder.cclc("check one.ccl --deny warnings"), 0);
    }
}

/// Trees whose symmetries are known have a thread block for each way and distance, and not for each tree.
#[test]
fn trees_of_symmetric_machines_are_lanes() {
    let folder = empty();
    let rows = [
        ("allgather", "hypercube(dimensions=4)"),
        ("reducescatter", "hypercube(dimensions=4)"),
        ("allgather", "torus(rows=3,columns=4)"),
        ("reducescatter", "ring(ranks=5)"),
        ("allgather", "full(ranks=20)"),
        ("reducescatter", "full(ranks=20)"),
        ("allgather", "dgx_h100(boxes=3)"),
        ("reducescatter", "dgx_h100(boxes=2)"),
        ("reducescatter", "dgx_h100(boxes=5)"),
    ];
    for (collective, machine) in rows {
        let line = format!("{collective} --topology {machine} --goal bandwidth -o one.ccl");
        let found = synthesize(&folder, &line, 0);
        assert_eq!(found["tree_program"], "one.ccl", "{collective} on {machine}: {found}");
        let program = folder.read("one.ccl");
        let has_blocks = ["block lane[", "block rail["].iter().any(|own| program.contains(own));
        assert!(has_blocks, "{collective} on {machine}: {program}");
        ends(folder.cclc("fmt --check one.ccl"), 0);
        ends(folder.cclc("check one.ccl --deny warnings"), 0);
        ends(folder.cclc("run one.ccl --schedules 2"), 0);
    }
}

/// What an independent user found: times at a size are those of the buffer, and one hop is enough for an exchange.
#[test]
fn allreduces_are_measured_by_the_buffer() {
    let folder = empty();
    // (1, 8, 1) takes 1 + 100 * 8 / 8, and (2, 2, 1) 2 + 100 * 2 / 8.
    let line = "allreduce --topology mi300x --alpha 1 --beta 1 --goal size:100";
    let found = synthesize(&folder, line, 0);
    assert_eq!(list_sizes(&found), [[1, 8, 1], [2, 2, 1]]);
    let times = found["sizes"][0]["times"].as_array().unwrap();
    assert_eq!((&times[0], &times[1]), (&"101".into(), &"27".into()));
    let found =
        synthesize(&folder, "allreduce --topology full(ranks=4) --relay none --goal latency", 0);
    assert_eq!(list_sizes(&found), [[1, 4, 1]]);
    // Where nothing is known to be best, nothing is complete.
    let found = synthesize(&folder, "allreduce --topology dgx_h100(boxes=16) --goal latency", 3);
    assert_eq!(found["complete"], false);
}

/// A switch that adds gets the part of its reader, too, which trees leave out; and channels choose no way.
#[test]
fn programs_slower_than_their_trees_say_so() {
    let folder = empty();
    std::fs::write(
        folder.path("ways.ccl"),
        "topology ways {
    ranks 2;
    switch hub { abilities = [memory]; }
    link 0 <-> hub, bandwidth = 50GBps, abilities = [memory];
    link 1 <-> hub, bandwidth = 50GBps, abilities = [memory];
    link 0 <-> 1, bandwidth = 25GBps, abilities = [memory];
}
",
    )
    .unwrap();
    for (question, ratio) in
        [("allreduce --topology dgx_h100", "9/8"), ("allgather --topology ways.ccl", "3")]
    {
        let found = synthesize(&folder, &format!("{question} --goal bandwidth -o trees.ccl"), 0);
        let remark = found["tree_remark"].as_str().unwrap_or_default();
        assert!(remark.starts_with(&format!("it takes {ratio} times as long")), "{found}");
        let text = std::fs::read_to_string(folder.path("trees.ccl")).unwrap();
        assert!(!text.contains("No schedule is faster"), "{text}");
    }
}

/// What would take all memory, and what would lose a file.
#[test]
fn numbers_and_files_that_cannot_be_are_refused() {
    let folder = empty();
    for line in [
        "--steps 1..=4294967295",
        "--point 4000000000,4000000000,1",
        "--point 2,2,4000",
        "--goal least-steps --prove both.ccl -o both.ccl",
    ] {
        let run = folder.cclc(&format!("synth allgather --topology ring(ranks=4) {line}"));
        assert_eq!(run.status, Some(2), "{line}: {}", run.stderr);
    }
}

/// A table of moves, which is changed by hand more easily than rules.
#[test]
fn tables_are_written_where_they_are_wanted() {
    let folder = empty();
    for goal in ["latency", "bandwidth"] {
        for (template, has_rules) in [("auto", true), ("table", false)] {
            let line = format!(
                "allgather --topology torus(rows=3,columns=3) --goal {goal} --steps ..=2 --template {template} -o out.ccl"
            );
            synthesize(&folder, &line, 0);
            let text = std::fs::read_to_string(folder.path("out.ccl")).unwrap();
            assert_eq!(text.contains("let ways = "), has_rules, "{text}");
            ends(folder.cclc("check out.ccl --deny warnings"), 0);
            ends(folder.cclc("run out.ccl --schedules 2"), 0);
        }
    }
}

/// Packets are for one or two steps over memory, and only where there is a folder for several programs.
#[test]
fn short_messages_have_packets() {
    let folder = empty();
    let find = |line: &str| {
        let found = synthesize(&folder, line, 0);
        let points = found["points"].as_array().unwrap().clone();
        points.iter().map(|point| point["packets"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let dgx1 = find("allgather --topology dgx1 --goal latency -o d");
    assert_eq!(dgx1, [Some("d/allgather_dgx1_2_3_2_packets.ccl".to_owned()), None]);
    let program = folder.read("d/allgather_dgx1_2_3_2_packets.ccl");
    assert!(program.contains("protocol = LL") && program.contains("read_put_packets"), "{program}");
    assert_eq!(find("allgather --topology full(ranks=4) --goal latency -o one.ccl"), [None]);
    // The exchange of all summands in one step has none.
    let sums = find("allreduce --topology full(ranks=4) -o f");
    assert_eq!(sums, [None, Some("f/allreduce_full_ranks_4_2_2_1_packets.ccl".to_owned())]);
}

/// The program of an AllToAll on boxes does not grow with them: it has formulas instead of a table.
#[test]
fn boxes_have_programs_of_formulas() {
    let folder = empty();
    for (boxes, rounds) in [(2, 8), (16, 120)] {
        let line = format!("alltoall --topology dgx_h100(boxes={boxes}) -o boxes.ccl");
        let found = synthesize(&folder, &line, 0);
        assert_eq!(list_sizes(&found), [[2, rounds, 1]]);
        let text = folder.read("boxes.ccl");
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        assert!(text.lines().filter(is_code).count() <= 40, "{text}");
        ends(folder.cclc("check boxes.ccl --deny warnings"), 0);
    }
}

/// Where some pieces cross the network first and others last, a table of places says which ones, and not one of moves.
#[test]
fn boxes_with_slow_links_have_programs_of_formulas() {
    let folder = empty();
    synthesize(&folder, "alltoall --topology mi300x(boxes=2) --goal latency -o boxes.ccl", 3);
    let text = folder.read("boxes.ccl");
    assert!(text.contains("fn is_late(") && text.lines().count() <= 70, "{text}");
    ends(folder.cclc("fmt --check boxes.ccl"), 0);
    ends(folder.cclc("check boxes.ccl --deny warnings"), 0);
    ends(folder.cclc("run boxes.ccl --schedules 8"), 0);
}

#[test]
fn trees_have_programs() {
    let folder = empty();
    for machine in ["dgx1", "dgx_h100(boxes=2)"] {
        let line = format!("allgather --topology {machine} --goal bandwidth -o trees.ccl");
        let found = synthesize(&folder, &line, 0);
        assert_eq!(found["tree_program"], "trees.ccl");
        ends(folder.cclc("fmt --check trees.ccl"), 0);
        ends(folder.cclc("check trees.ccl --deny warnings"), 0);
        ends(folder.cclc("run trees.ccl --schedules 4"), 0);
    }
    let found = synthesize(&folder, "allgather --topology dgx_h100(boxes=4) --goal bandwidth", 0);
    assert_eq!(
        (&found["rho"], &found["k"], &found["depth"]),
        (&"31/10".into(), &10.into(), &2.into())
    );
    let trees = found["trees"].as_array().unwrap();
    assert!(trees.iter().all(|tree| tree["edges"].as_array().unwrap().len() == 31));
}

/// One schedule: found, impossible by the bounds, or not found.
#[test]
fn points_are_judged() {
    let folder = empty();
    let rows = [
        ("allgather", "1,1,1", "too few steps", 4),
        ("allgather", "2,2,1", "found", 0),
        ("allgather", "2,3,2", "found", 0),
        ("allgather", "2,4,3", "below bound", 4),
        ("allgather", "3,7,6", "found", 0),
        ("alltoall", "2,8,3", "found", 0),
        ("broadcast", "3,3,7", "found", 0),
    ];
    for (collective, point, verdict, status) in rows {
        let line = format!("{collective} --topology dgx1 --point {point}");
        let found = synthesize(&folder, &line, status);
        assert_eq!(found["verdict"], verdict, "{line}");
        let expected: Vec<u64> = point.split(',').map(|part| part.parse().unwrap()).collect();
        if verdict == "found" {
            assert_eq!(list_sizes(&found), [expected.as_slice()], "{line}");
        }
    }
    let line = "allgather --topology dgx1 --point 2,3,2 --engine greedy";
    let found = synthesize(&folder, line, 3);
    assert_eq!(found["verdict"], "not found");
    ends(folder.cclc("synth allgather --topology dgx1 --point 2,3,2 -o point.ccl"), 0);
    ends(folder.cclc("check point.ccl --deny warnings"), 0);
    for wrong in ["2,3", "0,1,1", "2,3,x", "2,3,4294967296"] {
        ends(folder.cclc(&format!("synth allgather --topology dgx1 --point {wrong}")), 2);
    }
}

/// The worked example of the literature: 17 and 14 2/3 at size 10, 2.15 and 3.12 at size 0.1.
#[test]
fn what_is_fastest_depends_on_the_size() {
    let folder = empty();
    let times = |line: &str| {
        let found = synthesize(&folder, &format!("allgather --topology dgx1 {line}"), 0);
        let rows = found["sizes"].as_array().unwrap().clone();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        rows.iter()
            .map(|row| {
                let times: Vec<String> =
                    row["times"].as_array().unwrap().iter().map(text).collect();
                (times, row["best"].as_u64().unwrap())
            })
            .collect::<Vec<_>>()
    };
    let rows = times("--goal size:10 --alpha 1 --beta 1 --engine sat");
    assert_eq!(rows, [(vec!["17".to_owned(), "14.667".to_owned()], 1)]);
    let rows = times("--goal size:0.1 --alpha 1 --engine sat");
    assert_eq!(rows, [(vec!["2.150".to_owned(), "3.117".to_owned()], 0)]);
    // Steps of 700 ns; 3/2 and 7/6 rounds of 40 ps for each byte of a chunk.
    let rows = times("--goal sizes:8KiB..16KiB --engine sat");
    let expected =
        [["1.5 us", "2.1 us"], ["1.5 us", "2.2 us"]].map(|row| row.map(str::to_owned).to_vec());
    assert_eq!(rows.iter().map(|(times, _)| times.clone()).collect::<Vec<_>>(), expected);
    let found = synthesize(
        &folder,
        "allgather --topology dgx1 --goal size:64MiB --engine sat -o one.ccl",
        0,
    );
    assert_eq!(found["points"][1]["program"], "one.ccl");
    assert_eq!(found["points"][0]["program"], Value::Null);
    for wrong in ["size:0", "size:x", "sizes:2MiB..1MiB", "sizes:1..4611686018427387904", "fast"] {
        ends(folder.cclc(&format!("synth allgather --topology dgx1 --goal {wrong}")), 2);
    }
    let line = "synth allgather --topology dgx1 --goal bandwidth --prove p.txt";
    says(&ends(folder.cclc(line), 2).stderr, &["cclc bound --prove"]);
    let run = ends(folder.cclc("synth allgather --topology dgx1 --alpha 2"), 2);
    says(&run.stderr, &["goal with a size"]);
}

/// What a constraint leaves out is said.
#[test]
fn trees_with_long_ways_are_left_out() {
    let folder = empty();
    let rows = [
        ("allgather --topology dgx1", 3),
        ("reduce --topology line(ranks=4)", 3),
        ("allreduce --topology line(ranks=4)", 4),
    ];
    // Those of the DGX-1 have ways of three hops; those of a line from one end to the other; over a root in its middle.
    for (line, enough) in rows {
        for (hops, status) in [(enough - 1, 3), (enough, 0)] {
            let line = format!("synth {line} --goal bandwidth --max-hops {hops}");
            let run = ends(folder.cclc(&line), status);
            let said = format!("some of their ways take {enough} hops");
            assert_eq!(run.stdout.contains(&said), status == 3, "{line}: {}", run.stdout);
        }
    }
}

/// Collectives that only their declarations describe.
#[test]
fn declared_collectives_have_programs() {
    let folder = empty();
    let halo = "collective halo(ranks: int, chunks: int = 1) {
    input[2 * chunks];
    output[2 * chunks];
    ensures for c in 0..chunks { output[c] == ((rank + 1) % ranks).input[c] }
    ensures for c in 0..chunks {
        output[chunks + c] == ((rank + ranks - 1) % ranks).input[chunks + c]
    }
}
collective shared(ranks: int, chunks: int = 1) {
    input[chunks];
    output[chunks];
    ensures for c in 0..chunks if rank < 2 {
        output[c] == reduce(r in 0..ranks: r.input[c])
    }
}
";
    folder.write("own.ccl", halo);
    let rows = [
        ("scan", "ring(ranks=4)"),
        ("exscan", "full(ranks=4)"),
        ("sendrecv(stride=2)", "ring(ranks=5)"),
        ("own.ccl::halo", "ring(ranks=4)"),
        ("own.ccl::shared", "line(ranks=4)"),
        ("own.ccl::shared(chunks=2)", "full(ranks=3)"),
    ];
    for (index, (collective, machine)) in rows.into_iter().enumerate() {
        let line = format!("{collective} --topology {machine} --max-chunks 3 --steps ..=4");
        run_points(&folder, &format!("synth {line} -o d{index} --json"), 4);
    }
}

/// Synthesizes programs: there is one for each point, which is formatted, proved, and right in so many schedules.
fn run_points(folder: &Folder, line: &str, schedules: u32) {
    let run = folder.cclc(line);
    assert!(matches!(run.status, Some(0 | 3)), "{line}: {}", run.stderr);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    let points = found.get("points").and_then(Value::as_array).unwrap();
    assert!(!points.is_empty(), "{line}: {found}");
    for point in points {
        let program = point.get("program").and_then(Value::as_str);
        let program = program.unwrap_or_else(|| panic!("{line}: {point}"));
        ends(folder.cclc(&format!("fmt --check {program}")), 0);
        ends(folder.cclc(&format!("check {program} --deny warnings")), 0);
        ends(folder.cclc(&format!("run {program} --schedules {schedules}")), 0);
    }
}

/// Ranks send what they add to, or get something twice: over ports, and where nobody waits for who has it from the step
/// before.
#[test]
fn nobody_overwrites_what_is_still_read() {
    let folder = empty();
    let own = "collective shared(ranks: int, chunks: int = 1) {
    input[chunks];
    output[chunks];
    ensures for c in 0..chunks if rank < 2 {
        output[c] == reduce(r in 0..ranks: r.input[c])
    }
}
collective stripes(ranks: int, chunks: int = 1) {
    let own = [r in 0..ranks if r % 2 == rank % 2: r];
    input[chunks];
    output[chunks];
    ensures for c in 0..chunks { output[c] == reduce(r in own: r.input[c]) }
}
collective halves(ranks: int, chunks: int = 1) {
    let first = rank / (ranks / 2) * (ranks / 2);
    input[chunks];
    output[chunks];
    ensures for c in 0..chunks { output[c] == reduce(r in first ..+ ranks / 2: r.input[c]) }
}
collective both(ranks: int, chunks: int = 1) {
    input[chunks];
    output[2 * chunks];
    ensures for c in 0..chunks { output[c] == reduce(r in 0..=rank: r.input[c]) }
    ensures for c in 0..chunks { output[chunks + c] == reduce(r in 0..ranks: r.input[c]) }
}
";
    folder.write("own.ccl", own);
    let rails = "rail_optimized(boxes=4,rails=2,spines=1)";
    let rows = [
        ("allreduce", "dgx_h100(boxes=4) --on 0,8,16,24 --steps 1"),
        ("allreduce", "fat_tree(boxes=2,boxes_per_leaf=1) --on 0,8 --steps 1"),
        ("allreduce", &format!("{rails} --steps 1")),
        ("scan", &format!("{rails} --point 2,7,3")),
        ("scan", "dgx_h100(boxes=2) --on 0,1,8,9 --point 2,5,4"),
        ("own.ccl::shared", "dgx1 --point 3,3,4"),
        ("own.ccl::stripes", "dgx1 --point 3,3,4"),
        ("own.ccl::both", "dgx1 --point 3,4,3"),
        ("own.ccl::both", "full(ranks=4) --point 2,5,4"),
        ("own.ccl::halves", &format!("{rails} --point 3,3,4")),
    ];
    for (index, (collective, machine)) in rows.into_iter().enumerate() {
        let line = format!("synth {collective} --topology {machine} -o r{index} --json");
        run_points(&folder, &line, 8);
    }
}

/// Two chunks for each neighbor take twice as long as one.
#[test]
fn rounds_are_those_of_all_chunks() {
    let folder = empty();
    let text = "collective twice(ranks: int) {
    input[2];
    output[2];
    ensures for c in 0..2 { output[c] == ((rank + 1) % ranks).input[c] }
}
";
    folder.write("twice.ccl", text);
    let found = synthesize(&folder, "twice.ccl --topology ring(ranks=4) --steps 1 -o t", 0);
    assert_eq!(list_sizes(&found), [[1, 2, 1]]);
    assert_eq!(found["points"][0]["rounds_per_chunk"], "2");
    let program = found["points"][0]["program"].as_str().unwrap();
    ends(folder.cclc(&format!("check {program} --deny warnings")), 0);
    ends(folder.cclc(&format!("run {program} --schedules 4")), 0);
}

/// What is known when the time is up is said.
#[test]
fn searches_end_in_time() {
    let folder = empty();
    let line = "synth allgather --topology ndv2(boxes=2) --budget 100000000 --time-limit 0.5";
    let run = ends(folder.cclc(line), 3);
    says(&run.stdout, &["ended by `--time-limit`", "rounds/chunk"]);
}

/// NVSwitches that add up and copy, a line, whose ends need not be roots, and machines whose ranks all are.
#[test]
fn trees_of_an_allreduce_reach_its_bound() {
    let folder = empty();
    let rows = [
        ("dgx_h100(boxes=1)", "1"),
        ("nvl72", "1"),
        ("line(ranks=4)", "1"),
        ("dgx1", "7/24"),
        ("dgx_a100(boxes=2)", "15/104"),
        ("rail_optimized(boxes=2,rails=2)", "1/4"),
        ("dgx_h100(boxes=16)", "15/64"),
    ];
    for (machine, rho) in rows {
        let line = format!("allreduce --topology {machine} --goal bandwidth -o trees.ccl");
        let found = synthesize(&folder, &line, 0);
        assert_eq!(found["rho"], rho, "{machine}");
        assert_eq!(found["bound"], rho, "{machine}");
        assert_eq!(found["tree_program"], "trees.ccl", "{machine}: {}", found["tree_failure"]);
        ends(folder.cclc("fmt --check trees.ccl"), 0);
        ends(folder.cclc("check trees.ccl --deny warnings"), 0);
        let ranks = found["sums"].as_array().unwrap().len();
        if ranks <= 64 {
            ends(folder.cclc("run trees.ccl --schedules 2"), 0);
        }
    }
    // Plans have no operation for sums of a switch that one rank keeps.
    let line = "allreduce --topology dgx_h100(boxes=2) --goal bandwidth -o none.ccl";
    let found = synthesize(&folder, line, 3);
    assert_eq!(found["rho"], "1/8");
    assert!(found["tree_failure"].as_str().unwrap().contains("a switch add"), "{found}");
}

#[test]
fn what_is_not_settled_is_said() {
    let folder = empty();
    let run = ends(folder.cclc("synth broadcast --topology dgx1 --steps ..=4"), 3);
    says(&run.stdout, &["the frontier is infinite", "above the least"]);
    let run = ends(folder.cclc("synth allgather --topology dgx1 --max-chunks 1 --goal latency"), 3);
    says(&run.stdout, &["in 2 steps: bound 3/2, the best found takes 2"]);
}

/// Bounds for fewer steps are not bounds for more: no point is below its bound.
#[test]
fn no_point_is_below_its_bound() {
    let folder = empty();
    for machine in ["torus(rows=4,columns=4)", "dgx1", "line(ranks=5)"] {
        let run = folder.cclc(&format!("synth allreduce --topology {machine} --max-chunks 6"));
        assert!(matches!(run.status, Some(0 | 3)), "{}", run.stderr);
        assert!(!run.stdout.contains("at most -"), "{}", run.stdout);
    }
    let run = folder.cclc("synth allreduce --topology dgx1");
    says(&run.stdout, &["5      16       6           1/3"]);
}

/// Times are in the rounds of the table, whatever divides the bandwidths.
#[test]
fn rounds_are_those_of_the_machine() {
    let found =
        synthesize(&empty(), "allgather --topology ring(ranks=6,bandwidth=3) --goal latency", 0);
    assert_eq!(list_sizes(&found), [[3, 5, 2]]);
    assert_eq!(found["points"][0]["rounds_per_chunk"], "5/2");
    assert_eq!(found["round"], "a link of bandwidth 3");
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = empty();
    let run = ends(folder.cclc("synth allgather"), 2);
    says(&run.stderr, &["needs a machine"]);
    let run = ends(folder.cclc("synth allgather(chunks=2) --topology dgx1"), 2);
    says(&run.stderr, &["leave `chunks` out"]);
    let run = ends(folder.cclc("synth allgather --topology dgx1 -o one.ccl"), 2);
    says(&run.stderr, &["there are 3 programs"]);
    assert!(!std::path::Path::new(&folder.path("one.ccl")).exists());
    folder.write("m.ccl", "topology m { ranks 3; link 0 <-> 1, bandwidth = 1; }");
    let run = ends(folder.cclc("synth allgather --topology m.ccl"), 4);
    says(&run.stderr, &["E1106", "no path leads"]);
    folder.write(
        "one_way.ccl",
        "topology o { ranks 3; link r in 0..3: r -> (r + 1) % 3, bandwidth = 1; }",
    );
    // What has no way back in memory goes over ports, which other ranks may be behind.
    ends(folder.cclc("synth allgather --topology one_way.ccl -o out"), 0);
    folder.write("no_way.ccl", "topology o { ranks 2; link 0 -> 1, bandwidth = 1; }");
    let run = ends(folder.cclc("synth broadcast --topology no_way.ccl -o out"), 3);
    says(&run.stdout, &["nothing leads back from rank 1 to rank 0"]);
    let run = ends(folder.cclc("synth allgather --topology dgx1 -o m.txt"), 0);
    assert!(run.stdout.contains("m.txt/allgather_dgx1_trees.ccl"), "{}", run.stdout);
    folder.write("file", "x");
    let run = ends(folder.cclc("synth allgather --topology dgx1 -o file"), 2);
    says(&run.stderr, &["programs go into a folder"]);
    let run = ends(folder.cclc("synth allgather --topology dgx1 --steps ..=1 --goal latency"), 3);
    says(&run.stdout, &["at least 2 steps are needed"]);
    let run = ends(folder.cclc("synth allgather --topology dgx1 --max-hops 1"), 4);
    says(&run.stderr, &["--max-hops 1"]);
    let found = synthesize(&folder, "allgather --topology dgx1 --max-hops 2 --goal latency", 3);
    assert_eq!(list_sizes(&found).first(), Some(&[2, 3, 2]));
}

/// A link that carries nothing still joins its ranks for signals.
#[test]
fn a_sketch_is_kept() {
    let folder = empty();
    let line = "allgather --topology ring(ranks=4) --forbid 0->1 --goal latency -o out";
    let found = synthesize(&folder, line, 0);
    for point in found["points"].as_array().unwrap() {
        let moves = point["moves"].as_array().unwrap();
        assert!(!moves.iter().any(|own| own[1] == 0 && own[2] == 1));
        let program = folder.read(point["program"].as_str().unwrap());
        assert!(program.contains("topology ring(ranks = 4"), "{program}");
    }
}
