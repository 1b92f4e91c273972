//! How much is recomputed after an edit: salsa's queries, counted.

use server::database::{Counts, Database, Db as _};
use server::diagnostics;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const NAME: &str = "many.ccl";

fn database() -> Database {
    Database::new(Arc::new(|name: &str| Err(format!("there is no `{name}`"))))
}

/// A file with 20 programs and a procedure that they all use.
fn text() -> String {
    let mut text = "use std::collectives::allgather;\n\n\
        /// Tells all peers.\nproc tell(c: channel[]) { signal c[*]; wait c[*]; }\n\n"
        .to_owned();
    for i in 0..20 {
        text.push_str(&format!(
            "/// Number {i}.\nprogram gather_{i}(ranks: int = 4) {{\n    \
             collective allgather(ranks, in_place = true);\n    \
             channel mem[p in peers] = memory(p);\n    block main {{\n        \
             signal mem[*] relaxed;\n        wait mem[*] relaxed;\n        // All at once.\n        \
             for p in peers {{ put output[rank] -> p.output[rank] via mem[p]; }}\n        \
             tell(mem);\n    }}\n}}\n\n"
        ));
    }
    text
}

/// What was computed: declarations parsed, declarations resolved, programs checked.
fn run(counts: &Counts) -> [usize; 3] {
    [&counts.parsed, &counts.resolved, &counts.proved].map(|count| count.swap(0, Ordering::Relaxed))
}

/// How much is recomputed when a text replaces another, and the codes found in the new one.
fn after(database: &mut Database, text: &str) -> ([usize; 3], Vec<&'static str>) {
    database.set_text(NAME, Ok(text.into()));
    let found = diagnostics::parts(database, database.document(NAME));
    assert!(!found.doubtful);
    let codes = found.findings.iter().filter_map(|finding| finding.code).map(|code| code.id());
    (run(database.counts()), codes.collect())
}

#[test]
fn only_what_an_edit_changes_is_checked_again() {
    let (mut database, text) = (database(), text());
    assert_eq!(after(&mut database, &text), ([22, 22, 20], vec![]));
    assert_eq!(after(&mut database, &text), ([0, 0, 0], vec![]), "nothing has changed");

    let comment = text.replacen("// All at once.", "// One after the other.\n\n", 1);
    assert_eq!(after(&mut database, &comment), ([1, 0, 0], vec![]), "a comment");
    let moved = format!("// A line above everything.\n\n{comment}");
    assert_eq!(after(&mut database, &moved), ([1, 0, 0], vec![]), "everything has moved");

    let seventh = moved.find("program gather_7").unwrap();
    let (before, from) = moved.split_at(seventh);
    let raced = format!("{before}{}", from.replacen("wait mem[*] relaxed;", "", 1));
    let (counts, codes) = after(&mut database, &raced);
    assert_eq!(counts, [1, 1, 1], "one program of 20");
    assert!(!codes.is_empty());
    assert_eq!(after(&mut database, &moved), ([1, 1, 1], vec![]), "and back");

    let shared = moved.replacen("wait c[*]; }", "wait c[*]; flush c[*]; }", 1);
    let (counts, _) = after(&mut database, &shared);
    assert_eq!(counts, [1, 21, 20], "what all programs use");
}

#[test]
fn a_new_program_is_the_only_one_that_is_checked() {
    let (mut database, text) = (database(), text());
    after(&mut database, &text);
    let program = text.find("/// Number 3.").unwrap();
    let end = text.find("/// Number 4.").unwrap();
    let copy = text[program..end].replace("gather_3", "another");
    let (before, from) = text.split_at(program);
    assert_eq!(after(&mut database, &format!("{before}{copy}{from}")), ([1, 1, 1], vec![]));
    assert_eq!(after(&mut database, &text), ([0, 0, 0], vec![]));
}

#[test]
fn a_comment_asks_for_other_parameters() {
    let mut database = database();
    let text = text();
    after(&mut database, &text);
    let asked = text.replacen("program gather_5", "// ccl: ranks=1000000\nprogram gather_5", 1);
    let (counts, codes) = after(&mut database, &asked);
    assert_eq!((counts[1], counts[2]), (0, 1));
    assert_eq!(codes, ["E0314"]);
    let unknown = text.replacen("program gather_5", "// ccl: rnaks=8\nprogram gather_5", 1);
    database.set_text(NAME, Ok(unknown.into()));
    let found = diagnostics::parts(&database, database.document(NAME)).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "the program `gather_5` has no parameter `rnaks`");
}

#[test]
fn a_program_that_does_not_begin_in_the_first_column_is_checked() {
    let mut database = database();
    let text = text().replacen("program gather_2", "  program gather_2", 1);
    let raced = text.replacen(
        "program gather_2(ranks: int = 4) {\n    collective allgather(ranks, in_place = true);\n    \
         channel mem[p in peers] = memory(p);\n    block main {\n        signal mem[*] relaxed;\n        \
         wait mem[*] relaxed;\n",
        "program gather_2(ranks: int = 4) {\n    collective allgather(ranks, in_place = true);\n    \
         channel mem[p in peers] = memory(p);\n    block main {\n",
        1,
    );
    assert_ne!(raced, text);
    assert_eq!(after(&mut database, &text).1, [] as [&str; 0]);
    assert_ne!(after(&mut database, &raced).1, [] as [&str; 0]);
}
