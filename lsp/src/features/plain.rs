//! Markdown as plain text, for clients that do not render it.
//!
//! In: Markdown as this server and the documentation of declarations have it. Out: the same without the fences of
//! blocks, and with tables in columns.

/// The plain text.
#[must_use]
pub fn plain(markdown: &str) -> String {
    let (mut lines, mut rows): (Vec<String>, Vec<Vec<String>>) = (Vec::new(), Vec::new());
    for line in markdown.lines() {
        if line.starts_with("| ") {
            rows.push(cells(line));
            continue;
        }
        lines.extend(table(&std::mem::take(&mut rows)));
        if !line.starts_with("```") {
            lines.push(line.to_owned());
        }
    }
    lines.extend(table(&rows));
    lines.join("\n")
}

fn cells(row: &str) -> Vec<String> {
    let inner = row.trim().trim_matches('|');
    inner.split('|').map(|cell| cell.trim().replace('`', "")).collect()
}

/// The rows of a table as lines, without the one below its head.
fn table(rows: &[Vec<String>]) -> Vec<String> {
    let rule = |row: &&Vec<String>| row.iter().all(|cell| cell.starts_with("---"));
    let rows: Vec<&Vec<String>> = rows.iter().filter(|row| !rule(row)).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let line = |row: &&Vec<String>| {
        let cells = row.iter().enumerate();
        let cells: Vec<String> =
            cells.map(|(column, cell)| format!("{cell:<width$}", width = width(column))).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn tables_have_columns_and_blocks_no_fences() {
        let markdown = "```ccl\nfn f()\n```\n\n| verb | plan |\n| --- | --- |\n| `put` | `put` |\n| `wait` |   |\n\nEnd.";
        let text = "fn f()\n\nverb  plan\nput   put\nwait\n\nEnd.";
        assert_eq!(plain(markdown), text);
    }
}
