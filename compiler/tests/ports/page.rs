//! The table of operations in `docs/ports.md`.

use super::listing::Count;
use super::table::manifest;

const BEGIN: &str = "<!-- made by: BLESS=1 cargo test -p ccl-compiler --test ports the_page -->\n";
const END: &str = "<!-- end -->\n";

/// Compares the page's table with these rows: plan names, the originals' counts, and ours. `BLESS=1` writes
/// it.
pub(crate) fn compare(rows: &[(String, Count, Count)]) {
    let path = manifest("../docs/ports.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    let expected = table(rows);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, [before, BEGIN, &expected, END, after].concat()).unwrap();
    } else {
        assert!(found == expected, "the table should be\n{expected}");
    }
}

fn table(rows: &[(String, Count, Count)]) -> String {
    let mut text =
        "\n| plan | operations | `nop`s | ours | `nop`s |\n| --- | ---: | ---: | ---: | ---: |\n"
            .to_owned();
    let mut line = |name: &str, original: Count, ours: Count| {
        text += &format!(
            "| {name} | {} | {} | {} | {} |\n",
            original.operations, original.nops, ours.operations, ours.nops
        );
    };
    let (mut all, mut all_ours) = (Count::default(), Count::default());
    for (name, original, ours) in rows {
        line(name, *original, *ours);
        all = sum(all, *original);
        all_ours = sum(all_ours, *ours);
    }
    line("**all**", all, all_ours);
    text + "\n"
}

fn sum(a: Count, b: Count) -> Count {
    Count { operations: a.operations + b.operations, nops: a.nops + b.nops }
}
