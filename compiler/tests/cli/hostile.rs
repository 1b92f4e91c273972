//! Malicious input and failing surroundings: each is refused quickly and in plain words, and no partial file is left
//! behind.

use crate::folder::{Folder, GOOD, ends, says};
use std::fs::{self, File};
use std::time::{Duration, Instant};

/// Quickly, even on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// A plan for one rank with these input chunks and operations.
fn plan(name: &str, chunks: &str, ops: &str) -> String {
    format!(
        "{{\"name\": {name}, \"collective\": \"allgather\", \"protocol\": \"Simple\", \"inplace\": false, \"gpus\": \
         [{{\"id\": 0, \"input_chunks\": {chunks}, \"output_chunks\": 1, \"scratch_chunks\": 0, \"channels\": [], \
         \"remote_buffers\": [], \"threadblocks\": [{{\"id\": 0, \"channels\": [], \"ops\": [{ops}]}}]}}]}}"
    )
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = Folder::with("a.ccl", GOOD);
    // A sparse file of a terabyte: reading it would be noticed.
    File::create(folder.path("huge.ccl")).unwrap().set_len(1 << 40).unwrap();
    File::create(folder.path("huge.json")).unwrap().set_len(1 << 40).unwrap();
    let started = Instant::now();
    for command in ["check huge.ccl", "build huge.ccl", "fmt huge.ccl"] {
        let run = ends(folder.cclc(command), 3);
        says(
            &run.stderr,
            &["it has 1024GiB, and at most 16MiB may be read", "`--max-input BYTES`"],
        );
    }
    for command in
        ["verify huge.json", "list huge.json", "decompile huge.json", "manifest huge.json"]
    {
        let run = ends(folder.cclc(command), 3);
        says(&run.stderr, &["it has 1024GiB, and at most 1GiB may be read", "`--max-input BYTES`"]);
    }
    assert!(started.elapsed() < SOON);
}

#[test]
fn imports_count_and_so_does_standard_input() {
    let folder = Folder::with("a.ccl", "use \"b.ccl\"::b;\nlet a = b;\n");
    folder.write("b.ccl", &format!("let b = 1;\n{}", "\n".repeat(1000)));
    ends(folder.cclc("check a.ccl --max-input 2KiB"), 0);
    let run = ends(folder.cclc("check a.ccl --max-input 1KiB"), 1);
    says(
        &run.stderr,
        &["`b.ccl` cannot be read: it has 1011 bytes, and at most 997 bytes may be read"],
    );
    let run = ends(folder.cclc_with("check - --max-input 100", &" ".repeat(5000)), 3);
    says(&run.stderr, &["`-`: it has 101 bytes, and at most 100 bytes may be read"]);
    let run = ends(folder.cclc("check a.ccl --max-input much"), 2);
    says(&run.stderr, &["a size, such as `64MiB`"]);
}

#[test]
fn a_million_levels_are_a_report() {
    let folder = Folder::with("round.ccl", &format!("let x = {};\n", "(".repeat(1_000_000)));
    folder.write("square.ccl", &format!("let x = {}\n", "[".repeat(1_000_000)));
    folder.write("signs.ccl", &format!("let x = {}1;\n", "-".repeat(1_000_000)));
    let (open, close) = ("if true { ".repeat(1_000_000), "}".repeat(1_000_000));
    folder.write("bodies.ccl", &format!("proc p() {{\n{open}{close}\n}}\n"));
    folder.write("open.ccl", &format!("proc p() {{\n{open}\n"));
    let started = Instant::now();
    for name in ["round", "square", "signs", "bodies", "open"] {
        let run = ends(folder.cclc(&format!("check {name}.ccl")), 1);
        says(&run.stderr, &["error[E0109]: this is nested more than 256 levels deep"]);
        assert!(run.stderr.len() < 8000, "{name}: {} bytes are said", run.stderr.len());
    }
    assert!(started.elapsed() < 4 * SOON, "{:?}", started.elapsed());
}

/// On a single line: work that looks through the line for each report would add up.
#[test]
fn a_hundred_thousand_mistakes_are_said_in_a_thousand_reports() {
    let folder = Folder::with("a.ccl", &"}".repeat(100_000));
    folder.write("b.ccl", &"let a = ".repeat(50_000));
    let started = Instant::now();
    for (name, errors) in [("a", 100_000), ("b", 50_000)] {
        let run = ends(folder.cclc(&format!("check {name}.ccl")), 1);
        says(&run.stderr, &[&format!("cclc: {errors} errors; 1000 of them are shown")]);
        assert_eq!(run.stderr.matches("error[E").count(), 1000, "{name}");
    }
    assert!(started.elapsed() < 4 * SOON, "{:?}", started.elapsed());
}

/// Each word on a line may look at the words after it, but not at all of them.
#[test]
fn a_line_of_a_hundred_thousand_words_is_read_soon() {
    let folder = Folder::with("a.ccl", &format!("let a = [{};", " for".repeat(100_000)));
    folder.write("b.ccl", &format!("let a = {};", "if 1 ".repeat(100_000)));
    let started = Instant::now();
    for name in ["a", "b"] {
        ends(folder.cclc(&format!("check {name}.ccl")), 1);
    }
    assert!(started.elapsed() < 2 * SOON, "{:?}", started.elapsed());
}

/// A loop that fails in every round is abandoned after the thousandth, on each rank.
#[test]
fn a_mistake_in_twenty_million_rounds_is_said_soon() {
    let program = "use std::collectives::allgather;
        program a(ranks: int = 4) {
            collective allgather(ranks);
            block main { for i in 0..20000000 { copy input[i] -> output[0]; } }
        }";
    let folder = Folder::with("a.ccl", program);
    let started = Instant::now();
    let run = ends(folder.cclc("check a.ccl"), 1);
    says(&run.stderr, &["error[E0401]: `input[1]` reaches past the end", "i = 1, on every rank"]);
    says(
        &run.stderr,
        &["after the 1000th time, the rest of the rank was skipped", "cclc: 1 error\n"],
    );
    assert!(started.elapsed() < SOON / 4, "{:?}", started.elapsed());
}

#[test]
fn deep_json_is_a_report() {
    let pipelines = "{\"name\": \"pipeline\", \"ops\": [".repeat(100_000);
    let folder = Folder::with("pipelines.json", &plan("\"a\"", "1", &pipelines));
    folder.write("lists.json", &"[".repeat(1_000_000));
    folder.write("unknown.json", &"{\"x\": ".repeat(1_000_000));
    for command in ["verify", "list", "decompile", "manifest"] {
        let run = ends(folder.cclc(&format!("{command} pipelines.json")), 1);
        if command != "manifest" {
            says(&run.stderr, &["error[E0902]: this JSON is nested more than 128 levels deep"]);
        }
        for name in ["lists", "unknown"] {
            let run = ends(folder.cclc(&format!("{command} {name}.json")), 1);
            assert!(run.stderr.len() < 2000, "{name}: {} bytes are said", run.stderr.len());
        }
    }
}

#[test]
fn numbers_that_no_buffer_has_are_a_report() {
    let folder = Folder::with("a.json", &plan("\"a\"", "9223372036854775808", ""));
    let run = ends(folder.cclc("verify a.json"), 1);
    says(
        &run.stderr,
        &["error[E0902]", "9223372036854775808", "expected a whole number below 2^63"],
    );
    folder.write("a.json", &plan("\"a\"", "9223372036854775807", ""));
    for command in ["verify", "decompile"] {
        let run = ends(folder.cclc(&format!("{command} a.json")), 1);
        says(&run.stderr, &["`input_chunks` is 9223372036854775807, not a number of chunks"]);
    }
    // The largest number that can be written; no memory is reserved for it.
    folder.write("a.json", &plan("\"a\"", "4294967295", ""));
    ends(folder.cclc("verify a.json"), 0);
}

#[cfg(unix)]
#[test]
fn links_that_lead_back_end() {
    let folder = Folder::with("a.ccl", "use \"here/a.ccl\"::a;\nlet a = 1;\n");
    std::os::unix::fs::symlink(".", folder.path("here")).unwrap();
    let run = ends(folder.cclc("check a.ccl"), 1);
    says(&run.stderr, &["error[E0207]"]);
    assert!(run.stderr.len() < 2000, "{}", run.stderr);
    // A link that leads to itself is not a file.
    std::os::unix::fs::symlink("b.ccl", folder.path("b.ccl")).unwrap();
    ends(folder.cclc("check b.ccl"), 3);
}

#[test]
fn nothing_that_is_shown_moves_the_cursor() {
    let folder =
        Folder::with("a.json", &plan("\"\\u001b[2J\\u202e\"", "1", "{\"name\": \"\\u001b[2J\"}"));
    folder.write(
        "a.ccl",
        "use \"\u{1b}[31m.ccl\"::a;\nuse \"a\tb.ccl\"::b;\nlet \u{1b}[2Jx = \"\u{202e}\u{7}\"; // \u{1b}]0;title\u{7}\n",
    );
    for arguments in [
        &["verify", "a.json"][..],
        &["decompile", "a.json"],
        &["check", "a.ccl"],
        &["check", "a.ccl", "--message-format", "short"],
        &["check", "a.ccl", "--message-format", "github"],
        &["check", "a.ccl", "--message-format", "json"],
        &["check", "a.ccl", "--message-format", "sarif"],
        &["check", "\u{1b}[2J.ccl"],
        &["build", "a.ccl", "-o", "\u{1b}[2J/a.json"],
        &["fmt", "\u{1b}[2J"],
        &["run", "\u{1b}[2J.json"],
        &["new", "\u{1b}[2J"],
        &["explain", "\u{1b}[2J"],
        &["check", "a.ccl", "--program", "\u{1b}[2J"],
        &["check", "a.ccl", "-D", "\u{1b}[2J=1"],
        &["\u{1b}[2J"],
    ] {
        let run = crate::cclc::run(folder.command().args(arguments), "");
        assert_ne!(run.status, Some(0), "{arguments:?}");
        // Output for machines keeps every character, except for those that its format escapes.
        let machines = arguments.iter().any(|word| matches!(*word, "json" | "sarif"));
        let moves = |c: char| (c.is_control() && c != '\n') || (c == '\u{202e}' && !machines);
        assert!(!run.stderr.contains(moves), "{arguments:?}: {:?}", run.stderr);
    }
}

/// Runs a shell command in the folder, with `cclc` as `"$CCLC"`; returns its status and output.
#[cfg(unix)]
fn shell(folder: &Folder, line: &str) -> crate::cclc::Run {
    let mut command = std::process::Command::new("sh");
    command.current_dir(folder.path("")).env("CCLC", env!("CARGO_BIN_EXE_cclc"));
    crate::cclc::run(command.args(["-c", line]), "")
}

#[cfg(unix)]
#[test]
fn a_limit_of_file_sizes_leaves_the_old_file() {
    let folder = Folder::with("a.ccl", GOOD);
    folder.write("a.json", "old");
    // The limit is in blocks of 512 bytes; the plan is larger than one block.
    let run = ends(shell(&folder, "ulimit -f 1; exec \"$CCLC\" build a.ccl -o a.json"), 3);
    says(&run.stderr, &["cannot write `a.json`", "too large"]);
    assert_eq!(
        (folder.read("a.json").as_str(), folder.names()),
        ("old", names(&["a.ccl", "a.json"]))
    );
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_said() {
    let folder = Folder::with("a.ccl", GOOD);
    // Nobody can write there, not even root.
    let run = ends(folder.cclc("build a.ccl -o /proc/self/a.json"), 3);
    says(&run.stderr, &["cannot write `/proc/self/a.json`"]);
    let run = ends(folder.cclc("new /proc/self/project"), 3);
    says(&run.stderr, &["cannot create `/proc/self/project`"]);
    let run = ends(folder.cclc("man /proc/self/man"), 3);
    says(&run.stderr, &["cannot write to `/proc/self/man`"]);
}

/// A process that is killed leaves either the old file or the new one; its temporary file is hidden and does no harm.
#[cfg(unix)]
#[test]
fn a_kill_leaves_a_whole_file() {
    let ring = crate::files::manifest("../stdlib/ccl/algorithms/allgather_ring.ccl");
    let folder = Folder::with("a.ccl", &fs::read_to_string(ring).unwrap());
    ends(folder.cclc("build a.ccl -D ranks=64 -o new.json --checks none"), 0);
    let (old, new) = ("old".to_owned(), folder.read("new.json"));
    let mut seen = [0, 0];
    for delay in 0..40_u64 {
        folder.write("a.json", &old);
        let mut command = folder.command();
        command.args(["build", "a.ccl", "-D", "ranks=64", "-o", "a.json", "--checks", "none"]);
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay * 3));
        child.kill().unwrap();
        child.wait().unwrap();
        let there = folder.read("a.json");
        assert!(there == old || there == new, "half a file: {} bytes", there.len());
        seen[usize::from(there == new)] += 1;
    }
    assert!(seen[0] > 0, "no kill came before the end: {seen:?}");
    ends(folder.cclc("build a.ccl -D ranks=64 -o a.json --checks none"), 0);
    assert_eq!(folder.read("a.json"), new);
}

/// The temporary files of a killed process with the same process id do no harm either.
#[cfg(unix)]
#[test]
fn what_was_left_is_in_nobodys_way() {
    let folder = Folder::with("a.ccl", GOOD);
    let leave = "for i in 0 1 2; do echo half >.a.json.$$.$i.tmp; done; exec \"$CCLC\" build a.ccl -o a.json";
    ends(shell(&folder, leave), 0);
    says(&folder.read("a.json"), &["\"allgather\""]);
    let left: Vec<String> =
        folder.names().into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(left.len(), 3);
    assert!(left.iter().all(|name| fs::read_to_string(folder.path(name)).unwrap() == "half\n"));
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
