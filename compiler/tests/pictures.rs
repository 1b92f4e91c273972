//! The pictures that `cclc dump --format svg` draws: an arrow leads to every wait from what it waits for, time runs
//! down, and the findings of the checks are marked. And those of machines that `cclc topology show --picture` draws.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/files.rs"]
mod files;

use cclc::Run;
use files::{ccl_files, manifest};
use std::path::{Path, PathBuf};

/// Verbs that wait for something from elsewhere.
const WAITS: [&str; 5] =
    ["wait", "acquire", "unpack_packets", "read_put_packets", "reduce_packets"];

fn picture(file: &Path, more: &[&str]) -> Run {
    let mut arguments =
        vec!["dump".to_owned(), file.display().to_string(), "--format=svg".to_owned()];
    arguments.extend(more.iter().map(|word| (*word).to_owned()));
    cclc::cclc(&arguments, "")
}

fn library() -> Vec<PathBuf> {
    let files = ccl_files(&manifest("../stdlib/ccl/algorithms"));
    assert!(files.len() > 10);
    files
}

/// The picture of a library program for four ranks, on two nodes if it has a parameter for nodes.
fn drawn(file: &Path) -> String {
    let nodes = std::fs::read_to_string(file).unwrap().contains("ranks_per_node: int");
    let more =
        if nodes { &["-D", "ranks=4", "-D", "ranks_per_node=2"][..] } else { &["-D", "ranks=4"] };
    let run = picture(file, more);
    assert_eq!(run.status, Some(0), "{}: {}", file.display(), run.stderr);
    run.stdout
}

/// The part of a text between two others.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    text.split_once(from).unwrap().1.split_once(to).unwrap().0
}

#[test]
fn every_wait_is_given_what_it_waits_for() {
    for file in library() {
        let svg = drawn(&file);
        let told = between(&svg, "<desc>", "</desc>");
        let mut waits = 0;
        for line in told.lines().filter(|line| !line.starts_with("From ")) {
            let (column, steps) = line.split_once(": ").unwrap();
            for step in steps.trim_end_matches('.').split("; ") {
                let (number, what) = step.split_once(". ").unwrap();
                if WAITS.iter().any(|verb| what.starts_with(verb)) {
                    waits += 1;
                    let given = format!(" to {column}, {number}: ");
                    assert!(
                        told.contains(&given),
                        "{}: nothing gives {column}: {step}",
                        file.display()
                    );
                }
            }
        }
        assert!(waits > 0, "{}: nothing waits", file.display());
    }
}

#[test]
fn time_runs_down() {
    for file in library() {
        let svg = drawn(&file);
        assert!(!svg.contains("stuck\""), "{}", file.display());
        let arrows = svg.lines().filter(|line| line.contains("marker-end"));
        let mut count = 0;
        for arrow in arrows {
            let numbers: Vec<i64> = between(arrow, "d=\"M", "\"")
                .split([' ', 'C'])
                .map(|number| number.parse().unwrap())
                .collect();
            let [_, from, .., to] = numbers.as_slice() else { panic!("{arrow}") };
            assert!(from < to, "{}: {arrow}", file.display());
            count += 1;
        }
        assert!(count > 0, "{}", file.display());
    }
}

/// Writes the first program on a code's page to a file.
fn mistake(code: &str, folder: &Path) -> PathBuf {
    let page = std::fs::read_to_string(manifest(&format!("explain/{code}.md"))).unwrap();
    let file = folder.join("mistake.ccl");
    std::fs::write(&file, between(&page, "```ccl\n", "```")).unwrap();
    file
}

#[test]
fn both_sides_of_a_race_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    for code in ["E0501", "E0503", "E0510", "E0512", "E0515"] {
        let svg = picture(&mistake(code, folder.path()), &[]).stdout;
        assert_eq!(svg.matches(" mark\"").count(), 2, "{code}");
        assert_eq!(
            svg.matches("<path class=\"race\"").count(),
            2,
            "{code}: a line, and what it means"
        );
    }
}

#[test]
fn what_is_never_run_is_drawn_so() {
    let folder = tempfile::tempdir().unwrap();
    let svg = picture(&mistake("E0601", folder.path()), &[]).stdout;
    assert!(svg.contains("stuck\""), "{svg}");
}

/// The picture of a program for three ranks over ports, whose blocks do this after an exchange of signals.
fn over_ports(body: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ports.ccl");
    let text = format!(
        "use std::collectives::unchecked;\nprogram ports(ranks: int = 3) {{\n\
         collective unchecked(ranks, inputs = ranks, outputs = ranks);\n\
         channel wire[p in peers] = port(p);\n\
         block main {{ signal wire[*]; wait wire[*]; {body} }}\n}}\n"
    );
    std::fs::write(&file, text).unwrap();
    let run = picture(&file, &[]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    run.stdout
}

#[test]
fn a_proxy_does_what_goes_over_its_channel() {
    for put in [
        "put_with_signal input[rank] -> (p in peers: p.output[rank]) via wire[*];",
        "put_with_signal input[1], input[0] -> (p in peers.rev(): p.output[rank]) via wire[*];",
        "pipeline unit = 1KiB, chunks = 1 { copy input[0] -> output[rank]; \
         for p in peers { put_with_signal input[rank] -> p.output[rank] via wire[p]; } }",
    ] {
        let svg = over_ports(&format!("{put} wait wire[*];"));
        let told = between(&svg, "<desc>", "</desc>");
        let read =
            if put.contains("input[1]") { ["input[0]", "input[1]"] } else { ["input[0]"; 2] };
        for (to, read) in [(1, read[0]), (2, read[1])] {
            let line = told
                .lines()
                .find(|line| line.starts_with(&format!("rank 0, proxy of wire[{to}]: ")));
            let does = line.unwrap().replace("every 1KiB: ", "");
            let expected = format!("1. signals; 2. reads {read} writes output[0] of {to} signals.");
            assert!(does.ends_with(&expected), "{put}: {does}");
        }
    }
}

#[test]
fn pipelines_that_wait_for_each_other_are_run() {
    let example = picture(&manifest("../examples/mscclpp/single_node_allreduce_pipeline.ccl"), &[]);
    let windows = over_ports(
        "pipeline unit = 1KiB, chunks = 1 { \
         for p in peers { put_with_signal input[rank] -> p.output[rank] via wire[p]; } wait wire[*]; \
         signal wire[*]; wait wire[*]; } signal wire[*]; wait wire[*];",
    );
    for svg in [&example.stdout, &windows] {
        assert!(svg.contains("\"window\""), "{svg}");
        assert!(!svg.contains("stuck\""), "{svg}");
    }
    let told = between(&windows, "<desc>", "</desc>");
    for (proxy, block) in [(1, 2), (2, 5), (3, 7), (4, 9)] {
        let arrow = format!(
            "From rank 1, proxy of wire[0], {proxy} to rank 0, main, {block}: orders memory."
        );
        assert!(told.contains(&arrow), "{arrow}\n{told}");
    }
}

#[test]
fn releases_of_several_blocks_are_taken_as_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rounds.ccl");
    let text = "use std::collectives::unchecked;\nprogram rounds(ranks: int = 1) {\n\
        collective unchecked(ranks, inputs = 2, outputs = 2);\nsemaphore done;\nsemaphore go[w in 0..2];\n\
        block work[w in 0..2] { release done; acquire go[w]; release done; }\n\
        block main { acquire done; acquire done; release go[*]; acquire done; acquire done; }\n}\n";
    std::fs::write(&file, text).unwrap();
    let run = picture(&file, &[]);
    assert!(run.stdout.contains("\"memory\"") && !run.stdout.contains("stuck\""), "{}", run.stdout);
    for (work, release, acquire) in [(0, 1, 1), (1, 1, 2), (0, 3, 4), (1, 3, 5)] {
        let arrow = format!("From rank 0, work[{work}], {release} to rank 0, main, {acquire}: ");
        assert!(run.stdout.contains(&arrow), "{arrow}\n{}", run.stdout);
    }
}

#[test]
fn an_arrow_in_a_column_stays_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("alone.ccl");
    let text = "use std::collectives::unchecked;\nprogram alone(ranks: int = 2) {\n\
        collective unchecked(ranks, inputs = 1, outputs = 1);\n\
        semaphore s;\nblock main { release s; acquire s; }\n}\n";
    std::fs::write(&file, text).unwrap();
    let svg = picture(&file, &[]).stdout;
    let arrow = between(&svg, "<path class=\"memory\" d=\"M", "\"");
    let numbers: Vec<i64> = arrow.split([' ', 'C']).map(|number| number.parse().unwrap()).collect();
    let [from, _, out, _, back, _, to, _] = numbers.as_slice() else { panic!("{arrow}") };
    assert!(from == to && out == back && out > from, "{arrow}");
}

#[test]
fn what_nobody_could_read_is_not_drawn() {
    let run =
        picture(&manifest("../stdlib/ccl/algorithms/allgather_allpairs.ccl"), &["-D", "ranks=64"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("use fewer ranks"), "{}", run.stderr);
}

/// A rectangle, or the one around a circle, with what is written in it.
struct DrawnBox {
    class: String,
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    text: String,
}

impl DrawnBox {
    fn overlaps(&self, other: &DrawnBox) -> bool {
        if self.class == "rank" && other.class == "rank" {
            let (x, y) = (self.left - other.left, self.top - other.top);
            return x.hypot(y) < self.width;
        }
        self.left < other.left + other.width
            && other.left < self.left + self.width
            && self.top < other.top + other.height
            && other.top < self.top + self.height
    }

    fn contains(&self, other: &DrawnBox) -> bool {
        self.left <= other.left
            && other.left + other.width <= self.left + self.width
            && self.top <= other.top
            && other.top + other.height <= self.top + self.height
    }
}

/// A number of an element of SVG.
fn attribute(line: &str, name: &str) -> f64 {
    between(line, &format!(" {name}=\""), "\"").parse().unwrap()
}

/// How wide a text in a monospace font of 11 pixels is.
fn text_width(text: &str) -> f64 {
    let plain = text.replace("&gt;", ">").replace("&lt;", "<").replace("&quot;", "\"");
    plain.chars().count() as f64 * 6.62
}

/// The boxes of a machine's picture. Each is followed by its text.
fn drawn_boxes(svg: &str) -> Vec<DrawnBox> {
    let lines: Vec<&str> = svg.lines().collect();
    let mut boxes = Vec::new();
    for (line, next) in lines.iter().zip(lines.iter().skip(1)) {
        let class = ["node", "switch", "rank"]
            .into_iter()
            .find(|class| line.contains(&format!("class=\"{class}\"")));
        let Some(class) = class else { continue };
        let [left, top, width, height] = if class == "rank" {
            let radius = attribute(line, "r");
            let [x, y] = ["cx", "cy"].map(|name| attribute(line, name) - radius);
            [x, y, 2.0 * radius, 2.0 * radius]
        } else {
            ["x", "y", "width", "height"].map(|name| attribute(line, name))
        };
        let text = between(next, ">", "</text>").to_owned();
        let middle = attribute(next, "x");
        assert!((middle - left - width / 2.0).abs() < 1.6, "{line}\n{next}");
        let baseline = attribute(next, "y");
        assert!(top + 8.0 < baseline && baseline < top + height, "{line}\n{next}");
        boxes.push(DrawnBox { class: class.to_owned(), left, top, width, height, text });
    }
    boxes
}

/// The picture of a machine, drawn behind its listing.
fn drawn_machine(machine: &str) -> String {
    let run = cclc::cclc(&["topology", "show", machine, "--picture=-"], "");
    assert_eq!(run.status, Some(0), "{machine}: {}", run.stderr);
    run.stdout.split_once("<svg ").unwrap().1.to_owned()
}

/// Whether every text is inside its box or the picture, and no two boxes overlap.
fn check_machine(machine: &str) {
    let svg = drawn_machine(machine);
    let [width, height] = ["width", "height"].map(|name| attribute(&format!(" {svg}"), name));
    let picture = DrawnBox {
        class: "picture".to_owned(),
        left: 0.0,
        top: 0.0,
        width,
        height,
        text: String::new(),
    };
    let title = svg.lines().find(|line| line.starts_with("<text class=\"name\"")).unwrap();
    let half = text_width(between(title, "\">", "</text>")) / 2.0;
    let middle = attribute(title, "x");
    assert!(half <= middle && middle + half <= width, "{machine}: {title} in {width}");
    let boxes = drawn_boxes(&svg);
    assert!(boxes.len() > 1, "{machine}");
    for (index, one) in boxes.iter().enumerate() {
        let name = &one.text;
        assert!(text_width(name) <= one.width, "{machine}: {name} in {}", one.width);
        assert!(picture.contains(one), "{machine}: {name} is cut");
        assert!(one.top > attribute(title, "y"), "{machine}: {name} is on the title");
        for other in boxes.iter().skip(index + 1) {
            let is_inside = one.class == "node" && one.contains(other);
            let other_name = &other.text;
            assert!(is_inside || !one.overlaps(other), "{machine}: {name} is on {other_name}");
        }
    }
}

#[test]
fn boxes_of_machines_lie_beside_each_other_and_titles_fit() {
    for machine in [
        "ring(2)",
        "ring(8)",
        "line(3)",
        "star(5)",
        "full(6)",
        "hub(1)",
        "hub(3)",
        "hypercube(3)",
        "torus(2,3)",
        "dgx1",
        "dgx2",
        "dgx2(2)",
        "dgx2(5)",
        "dgx_a100(2)",
        "dgx_h100(2)",
        "dgx_b200(6)",
        "nvl72",
        "nvl72(2)",
        "mi250(2)",
        "mi300x(2)",
        "ndv2(2)",
        "rail_optimized(2)",
        "fat_tree(8)",
    ] {
        check_machine(machine);
    }
}

#[test]
fn switches_with_long_names_lie_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.ccl");
    let text = "topology long(boxes: int = 2) {\n    ranks boxes * 2;\n    ranks_per_node 2;\n    \
                switch a_card_with_a_long_name[b in 0..boxes, c in 0..3] {\n        \
                ports (r in 2 * b ..+ 2: r), bandwidth = 1;\n    }\n    \
                switch root_of_everything_else[n in 0..3] {\n        \
                ports (r in 0..2 * boxes: r), bandwidth = 1;\n    }\n    \
                switch i { ports (0), bandwidth = 1; ports (2 * boxes - 1), bandwidth = 1; }\n}\n";
    std::fs::write(&file, text).unwrap();
    check_machine(&file.display().to_string());
    check_machine(&format!("{}::long(boxes = 1)", file.display()));
}
