//! Witnesses can be replayed: the schedule in the JSON of a report shows what the report says.

use crate::agreement::part;
use crate::corpus::{Entry, Form, case, corpus, files};
use crate::is_full;
use crate::mutants::{Count, mutants};
use crate::replay::replay;
use compiler::check;
use compiler::diagnostic::json;
use compiler::interrupt::Interrupt;
use compiler::ir::{Action, Channel, Program, Semaphore};
use compiler::source::SourceMap;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Reports that have no witness: nothing was checked, launches of two sizes meet, which a witness cannot say, or bits may
/// differ, in every schedule. Counters with several users have no witness either
/// ([`shares`]), because it is open which signal meets which wait.
const WITHOUT: [&str; 3] = ["W0501", "W0503", "E0704"];

/// Whether several blocks, or several threads of one, release a semaphore, signal over an end of a channel or wait on one,
/// or use something declared as shared.
fn shares(program: &Program) -> bool {
    program.ranks.iter().any(|rank| {
        let several = |thread: &dyn Fn(&Action) -> Option<usize>| {
            let users = rank.blocks.entries().flat_map(|(id, block)| {
                block.ops.iter().filter_map(move |op| Some((id, thread(&op.action)?)))
            });
            users.collect::<BTreeSet<_>>().len() > 1
        };
        let released = |id| {
            several(&|action| {
                let Action::Release(list) = action else { return None };
                list.iter().position(|one| *one == id)
            })
        };
        let signalled = |id| {
            several(&|action| {
                let Action::Signal(signal) = action else { return None };
                signal.channels.iter().position(|one| *one == id)
            })
        };
        let awaited = |id| {
            several(&|action| {
                let Action::Wait(signal) = action else { return None };
                signal.channels.iter().position(|one| *one == id)
            })
        };
        let channel = |(id, channel): (_, &Channel)| channel.shared || signalled(id) || awaited(id);
        let semaphore = |(id, semaphore): (_, &Semaphore)| semaphore.shared || released(id);
        rank.channels.entries().any(channel) || rank.semaphores.entries().any(semaphore)
    })
}

/// The reports of a program, as JSON has them.
fn reports(program: &Program) -> Vec<Value> {
    let reports = check::check(program, &Interrupt::default());
    let lines = json::lines(&SourceMap::default(), &reports);
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Whether the schedule of a report shows something wrong. That of two packets in one place only shows the two packets,
/// which may be intended.
pub(crate) fn a_witness_shows(program: &Program) -> bool {
    let mut reports = reports(program).into_iter().filter(|report| report["code"] != "E0521");
    reports.any(|report| replay(program, &report).is_ok())
}

/// For each code, how many witnesses showed what they should, and how many did not.
type Rates = BTreeMap<String, [u32; 2]>;

fn judge(what: &str, program: &Program, rates: &mut Rates) -> Vec<String> {
    let mut wrong = Vec::new();
    let reports = reports(program);
    if reports.iter().any(|report| report["code"] == "E0605") || shares(program) {
        return wrong;
    }
    for report in reports {
        let code = report["code"].as_str().unwrap_or_default();
        // Nobody owns scratch before a rank starts; the rule exists because of the previous launch.
        let early = code == "E0510" && report["witness"]["memory"]["buffer"] == "scratch";
        if WITHOUT.contains(&code) || early || is_of_some_sizes(&report) || is_of_threads(&report) {
            continue;
        }
        let shown = match report["witness"].is_null() {
            true => Err("there is no witness".to_owned()),
            false => replay(program, &report),
        };
        rates.entry(code.to_owned()).or_default()[usize::from(shown.is_err())] += 1;
        wrong.extend(shown.err().map(|why| format!("{what}: {code} {}: {why}", report["message"])));
    }
    wrong
}

/// Whether a report is about messages of another number of windows than the program is run with, and so has no witness.
fn is_of_some_sizes(report: &Value) -> bool {
    let notes = report["notes"].as_array().into_iter().flatten();
    let mut texts = notes.filter_map(Value::as_str);
    report["witness"].is_null() && texts.any(|text| text.contains("a pipeline goes through"))
}

/// Whether a report is about threads that do not meet: a schedule lets only whole blocks advance.
fn is_of_threads(report: &Value) -> bool {
    let notes = report["notes"].as_array().into_iter().flatten();
    let mut texts = notes.filter_map(Value::as_str);
    report["code"] == "E0702" && texts.any(|text| text.starts_with("each thread of a block"))
}

#[test]
fn the_witnesses_of_all_cases_show_what_they_say() {
    let mut rates = Rates::new();
    let mut wrong = Vec::new();
    for folder in ["race", "deadlock", "promise"] {
        for path in files(&format!("tests/cases/{folder}"), "ccl") {
            for Entry { name, program } in case(&path) {
                wrong.extend(judge(&name, &program, &mut rates));
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
                wrong.extend(judge(&what, &mutant.program, &mut rates));
            }
        }
    }
    eprintln!("witnesses by code, that show it and that do not: {rates:?}");
    assert!(wrong.is_empty(), "{} witnesses show nothing:\n{}", wrong.len(), wrong.join("\n"));
    let shown = rates.values().map(|[shown, _]| shown).sum::<u32>();
    assert!(parts > 1 || shown > 300, "{rates:?}");
}
