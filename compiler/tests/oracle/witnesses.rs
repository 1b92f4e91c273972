//! Witnesses replay: the schedule of a report, as its JSON has it, shows what the report says.

use crate::agreement::part;
use crate::corpus::{Entry, Form, case, corpus, files};
use crate::is_full;
use crate::mutants::{Count, mutants};
use crate::replay::replay;
use compiler::check;
use compiler::diagnostic::json;
use compiler::interrupt::Interrupt;
use compiler::ir::{Action, Block, Op, Program, Semaphore};
use compiler::source::SourceMap;
use serde_json::Value;
use std::collections::BTreeMap;

/// What no schedule shows: nothing was checked. Where counters have several users nothing is shown either ([`shares`]),
/// since which signal meets which wait is open.
const WITHOUT: [&str; 1] = ["W0501"];

/// Whether several blocks release a semaphore, or use what may be shared.
fn shares(program: &Program) -> bool {
    program.ranks.iter().any(|rank| {
        let released = |block: &Block, id| {
            let of = |op: &Op| matches!(&op.action, Action::Release(list) if list.contains(&id));
            block.ops.iter().any(of)
        };
        let several = |(id, semaphore): (_, &Semaphore)| {
            let blocks = rank.blocks.iter().filter(|block| released(block, id));
            semaphore.shared || blocks.count() > 1
        };
        rank.channels.iter().any(|channel| channel.shared) || rank.semaphores.entries().any(several)
    })
}

/// What the checker is known to report though it is right, or though nothing can be shown: the beginning of the kind of
/// mutant, and the code.
const OPEN: [(&str, &str); 4] = [
    // Two packets that are written to one place with one value; which of the two writers is waited for is open.
    ("duplicate transfer", "E0501"),
    ("half the scratch", "E0501"),
    ("half the scratch", "E0521"),
    // Scratch that a proxy reads in the launch before.
    ("", "E0515"),
];

/// Of the about 7,000 witnesses of the long form, this many are known not to show what they say: packets of several
/// writers, blocks that wait for other packets than the report names. It may
/// only become less.
const KNOWN_OF_ALL: usize = 9;
const KNOWN_OF_SAMPLED: usize = 1;

/// The reports of a program, as JSON has them.
fn reports(program: &Program) -> Vec<Value> {
    let reports = check::check(program, &Interrupt::default());
    let lines = json::lines(&SourceMap::default(), &reports);
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Of each code, how many witnesses showed what they should, and how many did not.
type Rates = BTreeMap<String, [u32; 2]>;

fn judge(what: &str, kind: &str, program: &Program, rates: &mut Rates) -> Vec<String> {
    let mut wrong = Vec::new();
    let reports = reports(program);
    if reports.iter().any(|report| report["code"] == "E0605") || shares(program) {
        return wrong;
    }
    for report in reports {
        let code = report["code"].as_str().unwrap_or_default();
        // Scratch is nobody's before a rank starts, and the rule is there for the sake of the launch before.
        let early = code == "E0510" && report["witness"]["memory"]["buffer"] == "scratch";
        if WITHOUT.contains(&code) || early {
            continue;
        }
        let shown = match report["witness"].is_null() {
            true => Err("there is no witness".to_owned()),
            false => replay(program, &report),
        };
        rates.entry(code.to_owned()).or_default()[usize::from(shown.is_err())] += 1;
        let proxy = code != "E0515" || report["witness"]["first"]["agent"] == "proxy";
        let open = |(start, open): &(&str, &str)| kind.starts_with(start) && *open == code && proxy;
        let shown = if OPEN.iter().any(open) { Ok(()) } else { shown };
        wrong.extend(shown.err().map(|why| format!("{what}: {code} {}: {why}", report["message"])));
    }
    wrong
}

#[test]
fn the_witnesses_of_all_cases_show_what_they_say() {
    let mut rates = Rates::new();
    let mut wrong = Vec::new();
    for folder in ["race", "deadlock", "promise"] {
        for path in files(&format!("tests/cases/{folder}"), "ccl") {
            for Entry { name, program } in case(&path) {
                wrong.extend(judge(&name, "case", &program, &mut rates));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rates.values().map(|[shown, _]| shown).sum::<u32>() > 20, "{rates:?}");
}

#[test]
fn the_witnesses_of_mutants_show_what_they_say() {
    let stride = if is_full() { 1 } else { 5 };
    let (part, parts) = part();
    let mut rates = Rates::new();
    let mut wrong = Vec::new();
    for (i, form) in [Form::Written, Form::Passed(1), Form::Plan].into_iter().enumerate() {
        for (j, entry) in corpus(&[2, 3], form).into_iter().enumerate() {
            if !entry.is_sampled(stride, i) || j as u64 % parts != part {
                continue;
            }
            for mutant in mutants(&entry.program, Count { most: 1, rare: 1 }, j as u64) {
                let what = format!("{} {form:?}, {} at {}", entry.name, mutant.kind, mutant.place);
                wrong.extend(judge(&what, mutant.kind, &mutant.program, &mut rates));
            }
        }
    }
    eprintln!("witnesses by code, that show it and that do not: {rates:?}");
    eprintln!("not, though they should:\n{}", wrong.join("\n"));
    let known = if is_full() { KNOWN_OF_ALL } else { KNOWN_OF_SAMPLED };
    assert!(wrong.len() <= known, "{} witnesses show nothing:\n{}", wrong.len(), wrong.join("\n"));
    let shown = rates.values().map(|[shown, _]| shown).sum::<u32>();
    assert!(parts > 1 || shown > 300, "{rates:?}");
}
