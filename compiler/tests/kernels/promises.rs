//! The promises of a program's collective, as C++ for `check.cpp`.

use compiler::ir::{self, Buffer};
use std::fmt::Write as _;

/// Writes the promises of the collective as C++.
pub(crate) fn promises(program: &ir::Program, source: &str) -> String {
    let mut text = "struct Promise { unsigned rank, chunk, first, count; };\nstruct Term { unsigned rank, chunk; };\n".to_owned();
    let (mut rows, mut terms, mut count) = (String::new(), String::new(), 0);
    for (rank, row) in program.ranks.entries() {
        for promise in row.promises.iter() {
            let first = count;
            for term in &promise.terms {
                for i in 0..i64::from(term.count) {
                    let rank = i64::from(term.rank) + i * i64::from(term.rank_step);
                    let chunk = i64::from(term.chunk) + i * i64::from(term.chunk_step);
                    let _ = write!(terms, "{{{rank}, {chunk}}}, ");
                    count += 1;
                }
            }
            let _ = writeln!(
                rows,
                "    {{{}, {}, {first}, {}}},",
                rank.0,
                promise.chunk,
                count - first
            );
        }
    }
    let _ = writeln!(text, "static const Promise promises[] = {{\n{rows}}};");
    let _ = writeln!(text, "static const Term terms[] = {{{terms}}};");
    let list = |name: &str, number: &dyn Fn(&ir::Rank) -> u32| {
        let numbers: Vec<String> =
            program.ranks.iter().map(|rank| number(rank).to_string()).collect();
        format!("[[maybe_unused]] static const unsigned {name}[] = {{{}}};\n", numbers.join(", "))
    };
    text.push_str(&list("input_chunks", &|rank| rank.input_chunks));
    text.push_str(&list("output_chunks", &|rank| rank.output_chunks));
    text.push_str(&list("offsets", &|rank| rank.alias.map_or(0, |alias| alias.offset)));
    let inner = program.ranks.iter().find_map(|rank| rank.alias).map(|alias| alias.inner);
    let inner = match inner {
        Some(Buffer::Input) => 1,
        Some(Buffer::Output) => 2,
        Some(Buffer::Scratch) | None => 0,
    };
    let varies = source.contains("bool one_size = false");
    let _ = writeln!(text, "#define INNER {inner}\nstatic const bool varies = {varies};");
    if let Some(groups) = source
        .lines()
        .find_map(|line| line.trim().strip_prefix("static constexpr uint32_t groups = "))
    {
        let groups = groups.trim_end_matches(';');
        if groups != "0" {
            let _ = writeln!(text, "#define GROUPS {groups}");
        }
    }
    text
}
