//! An independent judge of programs: an interpreter that executes them, and searches for schedules that go wrong.

#![expect(clippy::indexing_slicing, reason = "a test may panic")]

#[path = "oracle/code.rs"]
mod code;
#[path = "oracle/corpus.rs"]
mod corpus;
#[path = "oracle/element.rs"]
mod element;
#[path = "oracle/machine.rs"]
mod machine;
#[path = "oracle/memory.rs"]
mod memory;
#[path = "oracle/proxy.rs"]
mod proxy;
#[path = "oracle/schedule.rs"]
mod schedule;
#[path = "oracle/user.rs"]
mod user;
#[path = "oracle/view.rs"]
mod view;

use corpus::{Form, corpus};
use machine::Verdict;
use schedule::{Effort, explore};

#[test]
fn the_corpus_is_right_as_written_and_after_all_passes() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for form in [Form::Written, Form::Passed(1), Form::Passed(2)] {
        for entry in corpus(&[2, 3, 4], form) {
            let start = std::time::Instant::now();
            let found = explore(&entry.program, Effort { checked: 2, weak: 2 }, 1);
            count += 1;
            if std::env::var_os("ORACLE_TRACE").is_some() {
                eprintln!("{} {form:?}: {:?} {:?}", entry.name, found.verdict, start.elapsed());
            }
            if found.verdict != Verdict::Ok {
                wrong.push(format!("{} {form:?}: {found:?}", entry.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "only {count} programs");
}
