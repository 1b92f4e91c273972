//! Input that never comes, and programs that would be elaborated forever: each ends in time, in little memory, with a
//! report that says what to do.

use crate::cclc::{self, Run};
use crate::folder::{Folder, GOOD, ends, says};
use std::process::Command;
use std::time::{Duration, Instant};

/// Soon, even on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// Runs a shell command in the folder, with `cclc` as `"$CCLC"`.
fn shell(folder: &Folder, line: &str) -> Run {
    let mut command = Command::new("sh");
    command.current_dir(folder.path("")).env("CCLC", env!("CARGO_BIN_EXE_cclc"));
    cclc::run(command.args(["-c", line]), "")
}

#[test]
fn what_never_comes_is_awaited_until_the_time_is_up() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(shell(&folder, "mkfifo pipe.ccl pipe.json pipe"), 0);
    let started = Instant::now();
    for (command, what) in [
        ("check pipe.ccl", "while `pipe.ccl` was read"),
        ("build pipe.ccl", "while `pipe.ccl` was read"),
        ("fmt pipe.ccl", "while `pipe.ccl` was read"),
        ("run pipe.ccl", "while `pipe.ccl` was read"),
        ("run pipe.json", "while `pipe.json` was read"),
        ("verify pipe.json", "while `pipe.json` was read"),
        ("list pipe.json", "while `pipe.json` was read"),
        ("decompile pipe.json", "while `pipe.json` was read"),
        ("manifest pipe.json", "while `pipe.json` was read"),
        ("diff pipe.json pipe.json", "while `pipe.json` was read"),
        // Standard input is a pipe that somebody could still write to.
        ("check - <>pipe", "while `-` was read"),
        ("verify - <>pipe", "while `-` was read"),
    ] {
        let line = format!("exec \"$CCLC\" --time-limit 0.3 --color never {command}");
        let run = ends(shell(&folder, &line), 1);
        says(&run.stderr, &[&format!("error[E0903]: stopped after 0.3 s, {what}")]);
        says(&run.stderr, &["give it more time with `--time-limit`", "cclc: 1 error\n"]);
    }
    assert!(started.elapsed() < 2 * SOON, "{:?}", started.elapsed());
}

#[test]
fn a_pipe_that_delivers_is_read() {
    let folder = Folder::with("a.ccl", GOOD);
    let line =
        "mkfifo pipe.ccl; cat a.ccl >pipe.ccl & exec \"$CCLC\" check pipe.ccl --time-limit 60";
    ends(shell(&folder, line), 0);
}

/// Declarations, a part of a program's head, and of a block.
const ENDLESS: &[(&str, &str, &str, &str)] = &[
    ("", "", "for i in 0..1000000000000000000 { }", "1000000000000000000 more values"),
    ("", "for i in 0..1000000000000000000 { }", "", "1000000000000000000 more values"),
    ("", "", "let a = [i in 0..1000000000000000000: i];", "1000000000000000000 more values"),
    (
        "",
        "",
        "let a = {i in 0..1000000000000000000 if false: i};",
        "1000000000000000000 more values",
    ),
    ("let a = [i in 0..1000000000000000000: i];", "", "for i in a { }", "1000000000000000000 more"),
    ("", "", "let a = sum(i in 0..1000000000000000000: 1);", "1000000000000000000 more values"),
    ("", "", "copy input[0] -> (i in 0..1000000000000000000: output[0]);", "more values"),
    ("", "channel c[i in 0..1000000000000000000] = memory(1 - rank);", "", "more values"),
    ("", "semaphore s[1000000000];", "", "too many steps"),
    ("", "semaphore s[4];", "release s[0..1000000000000000000];", "more than 1048576 members"),
    ("", "", "let a = (0..1000000000000000000) + [1];", "more than 1048576 members"),
    (
        "",
        "",
        "let a = (0..1000000000000000000)[0..1000000000000000000];",
        "more than 1048576 members",
    ),
    ("", "", "let a = twice(60, [1]);", "more than 1048576 members"),
    ("", "", "let a = twice_each(60, [1]);", "more than 1048576 members"),
    ("", "", "let a = rows(60, [[1]]);", "the lists of this program need more than"),
    ("", "", "let a = truths(60, [true]);", "the lists of this program need more than"),
    ("", "", "let a = [i in 0..1000: [j in 0..1000000: i + j]];", "the lists of this program need"),
];

const FUNCTIONS: &str = "
fn twice(n: int, list: int[]) -> int[] = if n == 0 { list } else { twice(n - 1, list + list) };
fn twice_each(n: int, list: int[]) -> int[] =
    if n == 0 { list } else { twice_each(n - 1, [i in 0..2, x in list: x]) };
fn rows(n: int, list: int[][]) -> int[][] = if n == 0 { list } else { rows(n - 1, list + list) };
fn truths(n: int, list: bool[]) -> bool[] = if n == 0 { list } else { truths(n - 1, list + list) };
";

/// All of these fit into 100 MiB next to what `cclc` takes anyway, most of which is the stack that it reserves.
#[test]
fn endless_loops_and_lists_are_refused_in_little_memory() {
    for (declarations, head, body, said) in ENDLESS {
        let text = format!(
            "use std::collectives::unchecked; {FUNCTIONS} {declarations}
             program p(ranks: int = 2) {{
                 collective unchecked(ranks); {head}
                 block main {{ {body} copy input[0] -> output[0]; }}
             }}"
        );
        let folder = Folder::with("a.ccl", &text);
        let started = Instant::now();
        let run = ends(shell(&folder, "ulimit -v 512000; exec \"$CCLC\" check a.ccl"), 1);
        says(&run.stderr, &["error[E0306]", said]);
        assert!(started.elapsed() < SOON, "{head}{body}: {:?}", started.elapsed());
    }
}

/// Ranges that nothing goes through are numbers, whatever their size.
#[test]
fn ranges_may_be_as_long_as_numbers_count() {
    let text = "use std::collectives::unchecked;
        program p(ranks: int = 2) {
            collective unchecked(ranks);
            let all = 0..1000000000000000000;
            require max(all) == 999999999999999999 && min(all.rev()) == 0 && all.len() > 5;
            require all == (0..1000000000000000000) && all != (1..1000000000000000001);
            require all.contains(77) && all.step(3).len() > 5 && all[5] == 5;
            block main { copy input[0] -> output[0]; }
        }";
    let folder = Folder::with("a.ccl", text);
    ends(folder.cclc("check a.ccl"), 0);
}
