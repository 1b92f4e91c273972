//! Reading: source files, plans, standard input, and the files that source files import.

use compiler::source::{FileId, SourceMap};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many bytes a file may have: offsets are 32-bit numbers.
const MAX_BYTES: u64 = u32::MAX as u64;

/// Reads a file, or standard input for `-`, and says why where that fails.
pub(crate) fn open(sources: &mut SourceMap, path: &Path) -> Result<FileId, String> {
    let text = if path == Path::new("-") { stdin()? } else { text(path)? };
    Ok(sources.add(name(path), text))
}

/// What a file is called in reports.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// The folder that imports stay in: the one that is given, else the current one where the source file lies in it,
/// else the source file's.
pub(crate) fn root(given: Option<&Path>, file: &Path) -> PathBuf {
    let current = PathBuf::from(".");
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(&current);
    match given {
        Some(root) => root.to_owned(),
        None if file == Path::new("-") || inside(folder, &current) => current,
        None => folder.to_owned(),
    }
}

/// Reads an imported file, if it lies inside `root` when links are followed.
pub(crate) fn import(root: &Path, path: &str) -> Result<Arc<str>, String> {
    let path = Path::new(path);
    if path.exists() && !inside(path, root) {
        return Err(format!(
            "it lies outside `{}`; `--root DIR` sets another folder",
            root.display()
        ));
    }
    text(path).map(Arc::from)
}

fn inside(path: &Path, root: &Path) -> bool {
    match (fs::canonicalize(path), fs::canonicalize(root)) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

/// Reads a file, and says why where that fails.
pub(crate) fn text(path: &Path) -> Result<String, String> {
    let there = fs::metadata(path).map_err(|error| error.to_string())?;
    if there.is_dir() {
        return Err("it is a folder".to_owned());
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    decode(bytes)
}

fn stdin() -> Result<String, String> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    decode(bytes)
}

fn decode(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err("it is larger than 4 GiB".to_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to())
    })
}
