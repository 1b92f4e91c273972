//! What becomes of imports when files or folders are renamed.
//!
//! In: old and new URLs, before anything is renamed. Out: edits of the paths in imports, of what is renamed and in what
//! is renamed. Paths that still lead to the same file stay as they are.

use super::rename::{SpotEdit, make_edit};
use crate::actor::Snapshot;
use crate::analysis::{Analysis, Spot};
use compiler::resolve::load;
use compiler::syntax::ast::{ItemKind, Use, UseRoot};
use lsp_types::{FileRename, Url, WorkspaceEdit};

/// The edits of imports for renames; `versioned` makes them edits of the current versions of open files.
#[must_use]
pub fn edit_imports(
    snapshot: &Snapshot,
    renames: &[FileRename],
    versioned: bool,
) -> Option<WorkspaceEdit> {
    let moves: Vec<FileMove> =
        renames.iter().filter_map(|rename| FileMove::new(snapshot, rename)).collect();
    let mut edits = Vec::new();
    for name in snapshot.files() {
        let Some(url) = snapshot.url(&name) else { continue };
        edits.extend(moved_imports(&snapshot.analysis(&url), &moves));
    }
    (!edits.is_empty()).then(|| make_edit(snapshot, &edits, versioned))
}

/// The names of a file or folder before and after it is renamed.
struct FileMove {
    old: String,
    new: String,
}

impl FileMove {
    fn new(snapshot: &Snapshot, rename: &FileRename) -> Option<FileMove> {
        let name = |url: &str| Some(snapshot.workspace.name(&Url::parse(url).ok()?));
        Some(FileMove { old: name(&rename.old_uri)?, new: name(&rename.new_uri)? })
    }

    /// The new name of a file that is renamed, or lies in a folder that is.
    fn apply(&self, name: &str) -> Option<String> {
        let rest = name.strip_prefix(&self.old)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{}{rest}", self.new))
    }
}

fn moved_name(moves: &[FileMove], name: &str) -> String {
    moves.iter().find_map(|one| one.apply(name)).unwrap_or_else(|| name.to_owned())
}

/// The edits of a file's imports.
fn moved_imports(analysis: &Analysis<'_>, moves: &[FileMove]) -> Vec<SpotEdit> {
    let old = analysis.name().to_string();
    let importer = FileMove { new: moved_name(moves, &old), old };
    let mut edits = Vec::new();
    for part in analysis.parts() {
        for item in &analysis.parsed(part).file.items {
            let ItemKind::Use(used) = &item.kind else { continue };
            let UseRoot::File(path) = &used.root else { continue };
            let Some(text) = moved_path(moves, &importer, used) else { continue };
            let range = part.range(path.span);
            // Between its quotes.
            let (start, end) = (range.start + 1, range.end - 1);
            edits.push(SpotEdit { spot: Spot { name: importer.old.clone(), start, end }, text });
        }
    }
    edits
}

/// The new path in an import; none if the old one still leads to the same file, or no path does.
fn moved_path(moves: &[FileMove], importer: &FileMove, used: &Use) -> Option<String> {
    let target = moved_name(moves, &load::imported(&importer.old, used)?);
    if load::imported(&importer.new, used).as_ref() == Some(&target) {
        return None;
    }
    relative_path(&importer.new, &target)
}

/// The path from the folder of a file to another file; none if one has a name below the root, and the other has not.
fn relative_path(from: &str, to: &str) -> Option<String> {
    if from.starts_with('/') != to.starts_with('/') {
        return None;
    }
    let folder =
        |name: &str| name.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.into());
    let (from, target): (String, String) = (folder(from), folder(to));
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (from, target) = (parts(&from), parts(&target));
    let shared = from.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let up = from.iter().skip(shared).map(|_| "..".to_owned());
    let down = target.iter().skip(shared).cloned();
    let file = to.rsplit('/').next()?.to_owned();
    Some(up.chain(down).chain([file]).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::relative_path;

    #[test]
    fn paths_lead_up_and_down() {
        let path = |from: &str, to: &str| relative_path(from, to).unwrap();
        assert_eq!(path("a.ccl", "b.ccl"), "b.ccl");
        assert_eq!(path("a.ccl", "x/b.ccl"), "x/b.ccl");
        assert_eq!(path("x/y/a.ccl", "x/z/b.ccl"), "../z/b.ccl");
        assert_eq!(path("/x/a.ccl", "/b.ccl"), "../b.ccl");
        assert_eq!(relative_path("a.ccl", "/b.ccl"), None);
    }
}
