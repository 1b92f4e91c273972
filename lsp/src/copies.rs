//! Texts built into this program, written out as files that an editor can open: the library, and the pages about codes.
//!
//! A copy is written to the user's cache folder when it is to be shown, in a folder of its own for each version.

use compiler::diagnostic::Code;
use compiler::resolve::load;
use lsp_types::Url;
use std::fs;
use std::path::PathBuf;

/// The file of a library module such as `std::collectives`; none if there is no such module, or no place to write the
/// copy.
#[must_use]
pub fn library(module: &str) -> Option<Url> {
    let path = module.strip_prefix("std::")?.replace("::", "/");
    copy("ccl-std", &format!("{path}.ccl"), load::library_text(module)?)
}

/// The page that explains a code, as `cclc explain` prints it.
#[must_use]
pub fn page(code: Code) -> Option<Url> {
    copy("ccl-explain", &format!("{}.md", code.id()), code.explain())
}

fn copy(kind: &str, path: &str, text: &str) -> Option<Url> {
    let path = cache().join(format!("{kind}-{}", env!("CARGO_PKG_VERSION"))).join(path);
    if fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Url::from_file_path(path).ok();
    }
    fs::create_dir_all(path.parent()?).ok()?;
    // Another server may write the same copy at the same time.
    let new = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).ok()?;
    Url::from_file_path(path).ok()
}

fn cache() -> PathBuf {
    let set =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").map(|home| home.join(".cache"));
    set("XDG_CACHE_HOME").or_else(home).unwrap_or_else(std::env::temp_dir)
}
