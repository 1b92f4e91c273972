//! Reading: source files, plans, standard input, and the files that source files import.

use super::limits;
use compiler::source::{FileId, SourceMap};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads a file of at most `most` bytes, or standard input for `-`; if that fails, returns the reason.
pub(crate) fn open(sources: &mut SourceMap, path: &Path, most: u64) -> Result<FileId, String> {
    let text =
        if path == Path::new("-") { read(io::stdin().lock(), most)? } else { text(path, most)? };
    Ok(sources.add(name(path), text))
}

/// The same for a source file; a file that is a plan by its name is not read.
pub(crate) fn source(sources: &mut SourceMap, path: &Path, most: u64) -> Result<FileId, String> {
    match ends_in(path, "json") {
        true => {
            Err("a source file is expected here; this is a plan, which `cclc verify` checks"
                .to_owned())
        }
        false => open(sources, path, most),
    }
}

/// The same for a plan; a file that is a source file by its name is not read.
pub(crate) fn plan(sources: &mut SourceMap, path: &Path, most: u64) -> Result<FileId, String> {
    match ends_in(path, "ccl") {
        true => {
            Err("a plan is expected here; this is a source file, which `cclc check` checks"
                .to_owned())
        }
        false => open(sources, path, most),
    }
}

/// Whether a file's extension is `end`.
pub(crate) fn ends_in(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|extension| extension == end)
}

/// The name of a file in reports.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// The folder that imports must stay in: the given one; otherwise the current one, if the
/// source file is in it; otherwise the source file's.
pub(crate) fn root(given: Option<&Path>, file: &Path) -> PathBuf {
    let current = PathBuf::from(".");
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(&current);
    match given {
        Some(root) => root.to_owned(),
        None if file == Path::new("-") || inside(folder, &current) => current,
        None => folder.to_owned(),
    }
}

/// Reads an imported file, if it is inside `root` after links are followed.
pub(crate) fn import(root: &Path, path: &str, most: u64) -> Result<Arc<str>, String> {
    let path = Path::new(path);
    if path.exists() && !inside(path, root) {
        return Err(format!(
            "it is outside `{}`; `--root DIR` sets another folder",
            root.display()
        ));
    }
    text(path, most).map(Arc::from)
}

fn inside(path: &Path, root: &Path) -> bool {
    match (fs::canonicalize(path), fs::canonicalize(root)) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

/// Reads a file of at most `most` bytes; if that fails, returns the reason. A larger file is not read at all.
pub(crate) fn text(path: &Path, most: u64) -> Result<String, String> {
    let there = fs::metadata(path).map_err(|error| error.to_string())?;
    if there.is_dir() {
        return Err("it is a folder".to_owned());
    }
    if there.len() > most {
        return Err(limits::too_large(there.len(), most));
    }
    read(fs::File::open(path).map_err(|error| error.to_string())?, most)
}

/// The text of a reader. One that does not know its size, such as a pipe, is read up to the limit.
fn read(reader: impl io::Read, most: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    reader.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most {
        return Err(limits::too_large(bytes.len() as u64, most));
    }
    String::from_utf8(bytes).map_err(|error| {
        format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to())
    })
}
