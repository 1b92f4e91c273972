//! Fixes: making one removes the finding, in every case that has one; and `cclc check --fix`.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its files fails")]

#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/files.rs"]
mod files;

use cclc::{Run, run};
use files::{ccl_files, entries, manifest};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for path in entries(from) {
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

fn cclc(folder: &TempDir, verb: &str, arguments: &[String]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cclc"));
    run(command.current_dir(folder.path()).arg(verb).args(arguments), "")
}

fn check(folder: &TempDir, arguments: &[String]) -> Run {
    cclc(folder, "check", arguments)
}

/// The reports of a case's file.
fn reports(folder: &TempDir, arguments: &[String]) -> Vec<Value> {
    let said = check(folder, arguments).stderr;
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How often each code is reported with each message.
fn counted(reports: &[Value]) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for report in reports {
        *counts.entry((report["code"].to_string(), report["message"].to_string())).or_insert(0) +=
            1;
    }
    counts
}

/// The text after a fix's edits are made.
fn fixed(text: &str, fix: &Value) -> String {
    let mut edits: Vec<(usize, usize, &str)> = Vec::new();
    for edit in fix["edits"].as_array().unwrap() {
        let offset = |name: &str| edit[name].as_u64().unwrap() as usize;
        edits.push((offset("start"), offset("end"), edit["text"].as_str().unwrap()));
    }
    edits.sort_unstable();
    let mut text = text.to_owned();
    for (start, end, new) in edits.into_iter().rev() {
        text.replace_range(start..end, new);
    }
    text
}

#[test]
fn making_a_fix_makes_the_finding_go_away() {
    let folder = tempfile::tempdir().unwrap();
    copy(&manifest("tests/cases"), &folder.path().join("tests/cases"));
    let (mut wrong, mut codes) = (Vec::new(), BTreeMap::new());
    for phase in entries(&folder.path().join("tests/cases")) {
        for path in entries(&phase).into_iter().filter(|path| path.is_file()) {
            let text = fs::read_to_string(&path).unwrap();
            let header = text.lines().next().unwrap_or_default();
            let Some(header) = header.strip_prefix("//@ check") else { continue };
            let name = path.strip_prefix(folder.path()).unwrap().display().to_string();
            let mut arguments = cclc::header_arguments(&cclc::words(header));
            arguments.extend([name.clone(), "--message-format=json".to_owned()]);
            let before = reports(&folder, &arguments);
            for report in before.iter().filter(|report| !report["fix"].is_null()) {
                let key = (report["code"].to_string(), report["message"].to_string());
                fs::write(&path, fixed(&text, &report["fix"])).unwrap();
                let after = counted(&reports(&folder, &arguments));
                fs::write(&path, &text).unwrap();
                let (old, new) = (counted(&before)[&key], after.get(&key).copied().unwrap_or(0));
                // A fix for a deadlock or an imbalance must leave no other error.
                let code = report["code"].as_str().unwrap_or_default();
                let whole = code.starts_with("E06") && before.len() == 1;
                let rest = after.keys().any(|(code, _)| code.starts_with("\"E"));
                if new >= old || whole && rest {
                    wrong.push(format!("{name}: {key:?}: {}", report["fix"]["title"]));
                }
                *codes.entry(report["code"].to_string()).or_insert(0) += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let wanted =
        ["E0501", "E0503", "E0510", "E0512", "E0515", "E0601", "E0602", "E0603", "E0605", "E0606"];
    let missing = wanted.iter().filter(|code| !codes.contains_key(&format!("\"{code}\"")));
    assert_eq!(missing.count(), 0, "{codes:?}");
    assert!(codes.values().sum::<u32>() > 40, "{codes:?}");
}

/// `fixes/<name>.ccl` is a program with one mistake, `<name>.fixed` the same program after the fix; BLESS=1 writes it.
#[test]
fn programs_are_mended() {
    let bless = std::env::var_os("BLESS").is_some();
    let programs = manifest("tests/fixes");
    let mut wrong = Vec::new();
    for path in ccl_files(&programs) {
        let folder = tempfile::tempdir().unwrap();
        let copied = folder.path().join(path.file_name().unwrap());
        fs::copy(&path, &copied).unwrap();
        let name = copied.file_name().unwrap().to_str().unwrap().to_owned();
        // What plans with packets or groups are told is no mistake.
        let words = "--fix --allow N0802 --allow N0803 --allow N0804";
        let words: Vec<String> =
            words.split(' ').chain([name.as_str()]).map(str::to_owned).collect();
        let run = check(&folder, &words);
        let (text, fixed) = (fs::read_to_string(&copied).unwrap(), path.with_extension("fixed"));
        if bless {
            fs::write(&fixed, &text).unwrap();
        }
        let mut lines: Vec<&str> = run.stderr.lines().collect();
        // What is said of the program that is right now is no fix.
        lines.retain(|line| !line.contains(": proved for "));
        let fixes = lines.iter().filter(|line| line.contains(": fixed E")).count();
        let same = fs::read_to_string(&fixed).is_ok_and(|wanted| wanted == text);
        if run.status != Some(0) || fixes == 0 || fixes != lines.len() || !same {
            wrong.push(format!("{name}:\n{}{text}", run.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(entries(&programs).len() > 40);
}

/// `unsure/<name>.ccl` is a program with a mistake that has no certain fix: the edit that helps here fails with other
/// numbers of ranks, or leaves another mistake.
#[test]
fn what_is_not_sure_is_left_to_people() {
    let mut wrong = Vec::new();
    let programs = entries(&manifest("tests/unsure"));
    assert!(!programs.is_empty());
    for path in programs {
        let folder = tempfile::tempdir().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let header = text.lines().next().and_then(|line| line.strip_prefix("//@ check")).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let copied = folder.path().join(&name);
        fs::copy(&path, &copied).unwrap();
        let mut arguments = cclc::header_arguments(&cclc::words(header));
        arguments.push(name.clone());
        let built = cclc(&folder, "build", &arguments);
        arguments.push("--fix".to_owned());
        let run = check(&folder, &arguments);
        let claimed = [&built, &run].iter().any(|run| run.stderr.contains("(fix available)"));
        let statuses = (built.status, run.status);
        if statuses != (Some(1), Some(1)) || claimed || fs::read_to_string(&copied).unwrap() != text
        {
            wrong.push(format!("{name}:\n{}{}", built.stderr, run.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// No handshake, neither at the start nor at the end.
const BROKEN: &str = "\
use std::collectives::allgather;

program p(ranks: int = 2) {
    collective allgather(ranks, in_place = true);
    channel mem[p in peers] = memory(p);
    block main {
        put output[rank] -> (p in peers: p.output[rank]) via mem[*];
    }
}
";

#[test]
fn fixes_are_made_until_there_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ccl");
    fs::write(&path, BROKEN).unwrap();
    let run = check(&folder, &["--fix".to_owned(), "a.ccl".to_owned()]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(
        run.stderr,
        "a.ccl:7:9: fixed E0510: signal and wait over its channels before it; `relaxed` is enough\n\
         a.ccl:9:69: fixed E0512: signal and wait over its channels after it\n\
         `p`: proved for 2 ranks: 1 block, at most 7 of 64 operations in a block, sends its input once, \
         the least that the promise forces\n"
    );
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        BROKEN.replace(
            "        put output[rank] -> (p in peers: p.output[rank]) via mem[*];\n",
            "        signal mem[*] relaxed;\n        wait mem[*] relaxed;\n        \
             put output[rank] -> (p in peers: p.output[rank]) via mem[*];\n        \
             signal mem[*];\n        wait mem[*];\n"
        )
    );
    assert_eq!(entries(folder.path()).len(), 1);
    // A file without findings is not written.
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    let run = check(&folder, &["--fix", "-q", "a.ccl"].map(str::to_owned));
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
}

#[test]
fn guesses_and_standard_input_are_left_to_people() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ccl");
    let misspelt = BROKEN.replace("put output", "put outptu");
    fs::write(&path, &misspelt).unwrap();
    let run = check(&folder, &["--fix".to_owned(), "a.ccl".to_owned()]);
    assert_eq!(run.status, Some(1));
    assert!(run.stderr.contains("= help: write `output`\n"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), misspelt);
    let mut command = Command::new(env!("CARGO_BIN_EXE_cclc"));
    let run = cclc::run(command.current_dir(folder.path()).args(["check", "--fix", "-"]), BROKEN);
    assert_eq!(run.status, Some(1));
    assert!(!run.stderr.contains("fixed"), "{}", run.stderr);
}

/// Cases whose mistakes can only be mended by hand: a fix would change or lose something.
const BY_HAND: [&str; 4] = [
    "syntax/comments_of_other_languages_before_code",
    "syntax/initial_values_over_several_lines",
    "syntax/options_behind_a_mistake",
    "syntax/words_that_choose",
];

#[test]
fn what_only_its_author_can_mend_is_left_alone() {
    for name in BY_HAND {
        let path = manifest("tests/cases").join(name).with_extension("ccl");
        let folder = tempfile::tempdir().unwrap();
        let copied = folder.path().join(path.file_name().unwrap());
        fs::copy(&path, &copied).unwrap();
        let file = copied.file_name().unwrap().to_str().unwrap().to_owned();
        let run = check(&folder, &["--fix".to_owned(), file]);
        let (before, after) = (fs::read_to_string(&path), fs::read_to_string(&copied));
        assert_eq!(before.unwrap(), after.unwrap(), "{name}");
        assert_eq!(run.status, Some(1), "{name}: {}", run.stderr);
    }
}
