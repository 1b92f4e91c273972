//! Texts built into this program, written out as files that an editor can open: the library, and the pages about codes.
//!
//! A copy is written to the user's cache folder when it is to be shown, in a folder of its own for each version. The folder
//! is below a home, and only the user has access to it: in one that others can write to, as that of temporary files, they
//! could put another text in a copy's place, or a link that leads elsewhere. Without a home there are no copies.

use compiler::diagnostic::Code;
use compiler::resolve::load;
use lsp_types::Url;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
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
    let below = path.strip_prefix(fs::canonicalize(folder(LIBRARY)?).ok()?).ok()?;
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
    let path = folder(kind)?.join(path);
    if fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Url::from_file_path(path).ok();
    }
    make_folder(path.parent()?).ok()?;
    // Another server may write the same copy at the same time.
    let new = path.with_extension(format!("{}.new", std::process::id()));
    // What a killed server left is not written to: it could be a link by now.
    let _ = fs::remove_file(&new);
    let mut file = File::create_new(&new).ok()?;
    file.write_all(text.as_bytes()).and_then(|()| fs::rename(&new, &path)).ok()?;
    Url::from_file_path(path).ok()
}

/// Makes a folder, and those above it that are missing, for the user alone.
fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

fn folder(kind: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    cache(set("XDG_CACHE_HOME"), set("HOME"))
        .map(|cache| cache.join(format!("{kind}-{}", env!("CARGO_PKG_VERSION"))))
}

/// The user's cache folder: the one that is set, or the usual one below the home. A path that is relative would be one
/// below whatever folder the editor was started in.
fn cache(set: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let usual = || home.map(|home| home.join(".cache"));
    set.filter(|path| path.is_absolute()).or_else(usual).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::cache;
    use std::path::PathBuf;

    #[test]
    fn a_cache_is_below_a_home() {
        let cache = |set: Option<&str>, home: Option<&str>| {
            cache(set.map(PathBuf::from), home.map(PathBuf::from))
        };
        let home = Some(PathBuf::from("/a/.cache"));
        assert_eq!(cache(None, Some("/a")), home);
        assert_eq!(cache(Some(""), Some("/a")), home);
        assert_eq!(cache(Some("cache"), Some("/a")), home);
        assert_eq!(cache(Some("/b"), Some("/a")), Some(PathBuf::from("/b")));
        assert_eq!(cache(None, None), None);
        assert_eq!(cache(None, Some("")), None);
    }
}
