//! Files and their names: URLs of the protocol, what the compiler calls a file, and files on the disk.
//!
//! A file below the root, which is the first folder that the editor names, is called by its path from the root, as
//! `cclc` calls it when run in the root. Any other file is called by its absolute path, and a URL that is not a file by
//! the URL. The root and the names stay the same while other folders come and go; if the root goes, the first of the
//! other folders becomes the root. Imports of files below the root must stay below it.
//!
//! Names are made from paths without symbolic links, so that a file has only one; URLs lead into the folders as the
//! editor names them.

use crate::copies;
use crate::database::Text;
use compiler::resolve::load;
use lsp_types::Url;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest file that is read, in bytes: the compiler's default limit.
const MAX_BYTES: u64 = 16 << 20;

/// The depth to which folders are searched for source files.
const MAX_DEPTH: usize = 16;

/// The most source files that are listed.
const MAX_FILES: usize = 10_000;

/// The folders that are open in the editor.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    root: Option<Folder>,
    folders: Vec<Folder>,
}

/// A folder that is open in the editor.
#[derive(Clone, Debug)]
struct Folder {
    /// Its path as the editor gives it.
    given: PathBuf,
    /// The same path without symbolic links.
    real: PathBuf,
}

impl Folder {
    fn new(given: PathBuf) -> Folder {
        Folder { real: fs::canonicalize(&given).unwrap_or_else(|_| given.clone()), given }
    }

    fn is(&self, other: &Folder) -> bool {
        self.real == other.real
    }
}

impl Workspace {
    /// A workspace of these folders; the first is its root.
    #[must_use]
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Workspace {
        let folders: Vec<Folder> = folders.into_iter().map(Folder::new).collect();
        Workspace { root: folders.first().cloned(), folders }
    }

    /// The workspace after folders have come and gone.
    #[must_use]
    pub fn changed(&self, added: Vec<PathBuf>, removed: Vec<PathBuf>) -> Workspace {
        let removed: Vec<Folder> = removed.into_iter().map(Folder::new).collect();
        let stays = |folder: &&Folder| !removed.iter().any(|gone| gone.is(folder));
        let kept = self.folders.iter().filter(stays).cloned();
        let folders: Vec<Folder> = kept.chain(added.into_iter().map(Folder::new)).collect();
        let root = self.root.clone().filter(|root| folders.iter().any(|folder| folder.is(root)));
        Workspace { root: root.or_else(|| folders.first().cloned()), folders }
    }

    /// Whether another workspace gives files the same names.
    #[must_use]
    pub fn names_like(&self, other: &Workspace) -> bool {
        self.real_root() == other.real_root()
    }

    /// The compiler's name for a file.
    #[must_use]
    pub fn name(&self, url: &Url) -> String {
        let Ok(path) = url.to_file_path() else { return url.to_string() };
        // A path may lead to the root through a symbolic link.
        let path = match (path.parent().map(fs::canonicalize), path.file_name()) {
            (Some(Ok(folder)), Some(name)) => folder.join(name),
            _ => path,
        };
        copies::module(&path).unwrap_or_else(|| self.named(&path))
    }

    /// The URL of a file; for modules of the library, that of a copy.
    #[must_use]
    pub fn url(&self, name: &str) -> Option<Url> {
        if name.starts_with("std::") {
            return copies::library(name);
        }
        let path = self.path(name);
        if path.is_absolute() {
            Url::from_file_path(self.given(path)).ok()
        } else {
            Url::parse(name).ok()
        }
    }

    /// The names of the source files below the folders, sorted. Hidden folders, `target` and symbolic links are
    /// skipped.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        let mut open: Vec<(PathBuf, usize)> =
            self.folders.iter().map(|folder| (folder.real.clone(), 0)).collect();
        while let Some((folder, depth)) = open.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                let hidden = name.to_string_lossy().starts_with('.') || name == "target";
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && !hidden && depth < MAX_DEPTH => {
                        open.push((path, depth + 1));
                    }
                    Ok(kind)
                        if kind.is_file() && path.extension().is_some_and(|end| end == "ccl") =>
                    {
                        names.insert(self.named(&path));
                    }
                    Ok(_) | Err(_) => {}
                }
                if names.len() >= MAX_FILES {
                    return names.into_iter().collect();
                }
            }
        }
        names.into_iter().collect()
    }

    /// The folder that the path in an import leads to, relative to the file `from`; none if nothing may be imported
    /// from there.
    #[must_use]
    pub fn folder(&self, from: &str, path: &str) -> Option<PathBuf> {
        let beside = self.path(from).parent()?.join(path);
        let folder = fs::canonicalize(beside).ok()?;
        let inside = |root: &Path| folder.starts_with(root);
        let may = Path::new(from).is_absolute() || self.real_root().is_some_and(inside);
        (may && !path.starts_with('/')).then_some(folder)
    }

    fn named(&self, path: &Path) -> String {
        let below = self.real_root().and_then(|root| path.strip_prefix(root).ok());
        below.unwrap_or(path).to_string_lossy().replace('\\', "/")
    }

    /// The text of a file on the disk.
    ///
    /// # Errors
    /// A short explanation of why the file cannot be read, for instance because it is outside the workspace.
    pub fn read(&self, name: &str) -> Text {
        if name.starts_with("std::") {
            return Ok(load::library_text(name).ok_or("the library has no such module")?.into());
        }
        let path = self.path(name);
        let inside = |root: &Path| fs::canonicalize(&path).is_ok_and(|path| path.starts_with(root));
        let outside = Path::new(name).is_relative() && !self.real_root().is_some_and(inside);
        if path.exists() && outside {
            return Err("it is outside the workspace".to_owned());
        }
        read(&path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.real_root().map_or_else(|| PathBuf::from(name), |root| root.join(name))
    }

    fn real_root(&self) -> Option<&Path> {
        self.root.as_ref().map(|root| root.real.as_path())
    }

    /// The path by which the editor knows a file: the innermost folder that contains it is written as given.
    fn given(&self, path: PathBuf) -> PathBuf {
        let inside = self
            .folders
            .iter()
            .filter_map(|folder| Some((folder, path.strip_prefix(&folder.real).ok()?)));
        let innermost = inside.min_by_key(|(_, rest)| rest.as_os_str().len());
        innermost.map_or_else(|| path.clone(), |(folder, rest)| folder.given.join(rest))
    }
}

fn read(path: &Path) -> Text {
    let there = fs::metadata(path).map_err(|error| error.to_string())?;
    if there.is_dir() {
        return Err("it is a folder".to_owned());
    }
    if there.len() > MAX_BYTES {
        return Err("it is larger than 16 MiB".to_owned());
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|error| {
        format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to())
    })?;
    Ok(Arc::from(text))
}
