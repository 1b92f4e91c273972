//! Folders on the command line: the files in them that a command is for.
//!
//! In: the paths that were given. Out: the files among them, and in place of each folder the files below it, sorted by
//! name. Hidden files and folders are passed over, and links to folders are not followed, so that the search ends. A
//! folder without such a file is an error: whoever names it means something in it.

use super::build::{MANIFEST, MAP};
use super::files;
use super::report::Reporter;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Files whose names end with `.ccl`.
    Sources,
    /// Files whose names end with `.json`, except those that `cclc` gives to maps and manifests.
    Plans,
}

impl FileKind {
    fn has(self, path: &Path) -> bool {
        match self {
            FileKind::Sources => files::ends_in(path, "ccl"),
            FileKind::Plans => {
                files::ends_in(path, "json")
                    && ![MAP, MANIFEST].iter().any(|end| is_named(path, end))
            }
        }
    }

    fn lacking(self) -> &'static str {
        match self {
            FileKind::Sources => "there is no `.ccl` file in this folder",
            FileKind::Plans => {
                "there is no plan in this folder, no `.json` file that is not a map or manifest"
            }
        }
    }
}

/// Whether a file's name is `end`, or ends with it as an extension.
fn is_named(path: &Path, end: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_suffix(end).is_some_and(|stem| stem.is_empty() || stem.ends_with('.'))
}

/// The files; what is wrong with folders is reported.
pub(crate) fn expanded(reporter: &mut Reporter, given: &[PathBuf], kind: FileKind) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for path in given {
        if path == Path::new("-") || !path.is_dir() {
            paths.push(path.clone());
            continue;
        }
        let before = paths.len();
        if let Err(unread) = collect(reporter, path, kind, &mut paths) {
            reporter.unreadable(&unread.folder, &unread.why);
        } else if paths.len() == before {
            reporter.unreadable(path, kind.lacking());
        }
    }
    paths
}

/// A folder that cannot be read, and the reason.
struct UnreadFolder {
    folder: PathBuf,
    why: String,
}

/// Adds the files below a folder.
fn collect(
    reporter: &Reporter,
    folder: &Path,
    kind: FileKind,
    paths: &mut Vec<PathBuf>,
) -> Result<(), UnreadFolder> {
    // Those still to be visited, the next one last.
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        if reporter.interrupt.is_set() {
            return Err(UnreadFolder {
                folder: folder.to_owned(),
                why: "the time is up".to_owned(),
            });
        }
        let is_folder = path == folder || is_real_folder(&path);
        if is_folder {
            let unread =
                |error: io::Error| UnreadFolder { folder: path.clone(), why: error.to_string() };
            let inside = entries(&path).map_err(unread)?;
            open.extend(inside.into_iter().rev());
        } else if kind.has(&path) && path.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

fn is_real_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| there.is_dir())
}

/// What is in a folder and not hidden, sorted by name.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    // `a.ccl`, and not `./a.ccl`, as one would write it.
    let shown = if folder == Path::new(".") { Path::new("") } else { folder };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names.into_iter().map(|name| shown.join(name)).collect())
}
