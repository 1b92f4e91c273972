//! The links of a page lead to files of the project or to headings of pages, and the manual's contents list every
//! page.

use crate::page::{Piece, pieces};
use std::fs;
use std::path::Path;

/// The broken links of a page. Links to other hosts are not followed.
pub(crate) fn broken(path: &Path, text: &str) -> Result<Vec<String>, String> {
    let folder = path.parent().ok_or("a page has a folder")?;
    let mut broken = Vec::new();
    for piece in pieces(text)? {
        let Piece::Prose(line) = piece else { continue };
        for target in targets(line) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.to_path_buf() } else { folder.join(file) };
            let there = file.exists()
                && (anchor.is_empty()
                    || fs::read_to_string(&file)
                        .is_ok_and(|text| headings(&text).any(|name| name == anchor)));
            if !there {
                broken.push(format!("there is no `{target}`"));
            }
        }
    }
    Ok(broken)
}

/// The targets of a line's links, except those to other hosts. Links inside code spans do not count.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links.filter(|target| !target.contains("://") && !target.contains('`'))
}

/// The anchors of a page's headings: lower case, with `-` for blanks, without other signs.
fn headings(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| {
        line.trim_start_matches('#')
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect()
    })
}

/// Pages in the manual's folder that are missing from its list of contents.
pub(crate) fn unlisted(docs: &Path) -> std::io::Result<Vec<String>> {
    let contents = fs::read_to_string(docs.join("SUMMARY.md"))?;
    let listed: Vec<&str> = contents.lines().flat_map(targets).collect();
    let mut unlisted = Vec::new();
    for entry in fs::read_dir(docs)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") && name != "SUMMARY.md" && !listed.contains(&name.as_str()) {
            unlisted.push(name);
        }
    }
    Ok(unlisted)
}
