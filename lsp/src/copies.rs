//! Texts built into this program, written out as files that an editor can open: the library, and the pages about codes.
//!
//! A copy is written to the user's cache folder when it is to be shown, in a folder of its own for each version.

use compiler::diagnostic::Code;
use compiler::resolve::load;
use lsp_types::Url;
use std::fs;
use std::path::{Path, PathBuf};

/// The beginning of the name of the folder with the library.
const LIBRARY: &str = "ccl-std";

/// The beginning of the name of the folder with the pages.
const PAGES: &str = "ccl-explain";

/// The file of a library module such as `std::collectives`; none if there is no such module, or no place to write the
/// copy.
#[must_use]
pub fn library(module: &str) -> Option<Url> {
    let path = module.strip_prefix("std::")?.replace("::", "/");
    copy(LIBRARY, &format!("{path}.ccl"), load::library_text(module)?)
}

/// The library module of which a file is the copy; none if it is no such copy. The folder of the path has no symbolic
/// links in it.
#[must_use]
pub fn module(path: &Path) -> Option<String> {
    let below = path.strip_prefix(fs::canonicalize(folder(LIBRARY)).ok()?).ok()?;
    let words = below.to_str()?.strip_suffix(".ccl")?.replace(['/', '\\'], "::");
    let module = format!("std::{words}");
    load::library_text(&module).is_some().then_some(module)
}

/// The page that explains a code, as `cclc explain` prints it.
#[must_use]
pub fn page(code: Code) -> Option<Url> {
    copy(PAGES, &format!("{}.md", code.id()), code.explain())
}

fn copy(kind: &str, path: &str, text: &str) -> Option<Url> {
    let path = folder(kind).join(path);
    if fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Url::from_file_path(path).ok();
    }
    fs::create_dir_all(path.parent()?).ok()?;
    // Another server may write the same copy at the same time.
    let new = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).ok()?;
    Url::from_file_path(path).ok()
}

fn folder(kind: &str) -> PathBuf {
    cache().join(format!("{kind}-{}", env!("CARGO_PKG_VERSION")))
}

fn cache() -> PathBuf {
    let set =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").map(|home| home.join(".cache"));
    set("XDG_CACHE_HOME").or_else(home).unwrap_or_else(std::env::temp_dir)
}
