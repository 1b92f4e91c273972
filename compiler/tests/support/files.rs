//! The files that tests read.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test crate that includes this file uses a part of it"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// A path in this crate's folder.
pub fn manifest(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The files and folders in a folder, sorted.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// The `.ccl` files of a folder, sorted; there must be at least one.
pub fn ccl_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = entries(folder);
    files.retain(|path| is_ccl(path));
    assert!(!files.is_empty(), "{}", folder.display());
    files
}

/// The `.ccl` files of a folder and the folders in it.
pub fn all_ccl_files(folder: &Path) -> Vec<PathBuf> {
    let inner = entries(folder).into_iter().flat_map(|path| match path.is_dir() {
        true => all_ccl_files(&path),
        false => vec![path],
    });
    inner.filter(|path| is_ccl(path)).collect()
}

fn is_ccl(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ccl")
}

/// A file's name without its extension.
pub fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
