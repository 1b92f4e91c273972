//! Folders on the command line: the files in them that a command is for.
//!
//! In: the paths that were given. Out: the files among them, and in place of each folder the files below it, sorted by
//! name. Hidden files and folders are passed over, and links to folders are not followed, so that the search ends. A link
//! to a file is followed if it stays in the folder and leads to a file of the same kind; any other is an error, since it
//! could show, or have formatted, what nobody named. A folder without such a file is an error: whoever names it means
//! something in it.

use super::build::{MANIFEST, MAP};
use super::files;
use super::report::Reporter;
use compiler::plan;
use compiler::source::FileId;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Files whose names end with `.ccl`.
    Sources,
    /// Files whose names end with `.json`, except those that `cclc` gives to maps and manifests, if they are no plans.
    Plans,
}

impl FileKind {
    fn has(self, path: &Path, most: u64) -> bool {
        match self {
            FileKind::Sources => files::ends_in(path, "ccl"),
            FileKind::Plans => {
                files::ends_in(path, "json") && (!is_beside_plan(path) || is_plan(path, most))
            }
        }
    }

    fn refused_link(self) -> String {
        let end = match self {
            FileKind::Sources => "ccl",
            FileKind::Plans => "json",
        };
        format!(
            "it is a link out of the folder, or to a file that does not end with `.{end}` or is hidden; name it itself, if it is meant"
        )
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

/// Whether a file has the name of a map or a manifest.
fn is_beside_plan(path: &Path) -> bool {
    [MAP, MANIFEST].iter().any(|end| is_named(path, end))
}

/// Whether a file is a plan, whatever its name is: a name keeps no plan from being checked.
fn is_plan(path: &Path, most: u64) -> bool {
    let text = files::ordinary(path, most);
    text.is_ok_and(|text| plan::parse(FileId::default(), &text).is_ok())
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
        let mut refused = Vec::new();
        let collected = collect(reporter, path, kind, &mut paths, &mut refused);
        let any = !refused.is_empty();
        for unread in refused {
            reporter.unreadable(&unread.path, &unread.why);
        }
        if let Err(unread) = collected {
            reporter.unreadable(&unread.path, &unread.why);
        } else if !any && paths.len() == before {
            reporter.unreadable(path, kind.lacking());
        }
    }
    paths
}

/// A folder or file that is not read, and the reason.
struct Unread {
    path: PathBuf,
    why: String,
}

/// Adds the files below a folder, and the links that are not followed.
fn collect(
    reporter: &Reporter,
    folder: &Path,
    kind: FileKind,
    paths: &mut Vec<PathBuf>,
    refused: &mut Vec<Unread>,
) -> Result<(), Unread> {
    let most = reporter.limits.plan_bytes();
    // Those still to be visited, the next one last.
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        if reporter.interrupt.is_set() {
            return Err(Unread { path: folder.to_owned(), why: "the time is up".to_owned() });
        }
        let is_folder = path == folder || is_real_folder(&path);
        if is_folder {
            let unread = |error: io::Error| Unread { path: path.clone(), why: error.to_string() };
            let inside = entries(&path).map_err(unread)?;
            open.extend(inside.into_iter().rev());
        } else if kind.has(&path, most) && path.is_file() {
            if path.is_symlink() && !stays(&path, folder, kind, most) {
                refused.push(Unread { path, why: kind.refused_link() });
            } else {
                paths.push(path);
            }
        }
    }
    Ok(())
}

/// Whether a link leads to a file of the kind that is in the folder and not hidden there.
fn stays(link: &Path, folder: &Path, kind: FileKind, most: u64) -> bool {
    let (Ok(real), Ok(folder)) = (fs::canonicalize(link), fs::canonicalize(folder)) else {
        return false;
    };
    let hidden = |part: &OsStr| part.as_encoded_bytes().starts_with(b".");
    kind.has(&real, most) && real.strip_prefix(folder).is_ok_and(|below| !below.iter().any(hidden))
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
