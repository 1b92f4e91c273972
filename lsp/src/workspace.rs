//! Files and their names: URLs of the protocol, what the compiler calls a file, and files on the disk.
//!
//! A file below the root, which is the first folder that the editor names, is called by its path from the root, as
//! `cclc` calls it when run in the root. Any other file is called by its absolute path, and a URL that is not a file by
//! the URL. The root and the names stay the same while other folders come and go; if the root goes, the first of the
//! other folders becomes the root.
//!
//! A file's imports must be in the folder of the editor in which it lies itself, or, if it lies in none of them, in its own
//! folder or below. Links may not lead out of there. What is read is an ordinary file, up to a limit: a repository may
//! have links to devices, and pipes that never end.
//!
//! Names are made from paths without symbolic links, so that a file has only one; URLs lead into the folders as the
//! editor names them.

use crate::copies;
use crate::database::{Disk, Text};
use compiler::resolve::load;
use compiler::resolve::path::{EXTENSION, is_importable, refuse_special};
use compiler::source::refused_character;
use lsp_types::Url;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The largest file that is read, in bytes: the compiler's default limit.
const MAX_BYTES: u64 = 16 << 20;

/// The depth to which folders are searched for source files.
const MAX_DEPTH: usize = 16;

/// The most source files that are listed.
const MAX_FILES: usize = 10_000;

/// Why a file is not read. The compiler looks for its word `outside`.
const OUTSIDE: &str = "it is outside the workspace";

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

    /// Whether another workspace has the same folders.
    #[must_use]
    pub fn has_folders_of(&self, other: &Workspace) -> bool {
        self.folders.len() == other.folders.len()
            && self.folders.iter().zip(&other.folders).all(|(one, other)| one.is(other))
    }

    /// Whether another workspace gives files the same names.
    #[must_use]
    pub fn names_like(&self, other: &Workspace) -> bool {
        self.real_root() == other.real_root()
    }

    /// The compiler's name for a file.
    #[must_use]
    pub fn name(&self, url: &Url) -> String {
        let Some(path) = file_path(url) else { return url.to_string() };
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
        if let Some(url) = unsaved(name) {
            return Some(url);
        }
        let path = self.path(name);
        path.is_absolute().then(|| Url::from_file_path(self.given(path)).ok())?
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
        let file = self.path(from);
        let folder = fs::canonicalize(file.parent()?.join(path)).ok()?;
        let may = !path.starts_with('/') && folder.starts_with(self.import_root(&file));
        may.then_some(folder)
    }

    /// The folder in which a file's imports must be: the outermost folder of the editor that contains it, or its own.
    fn import_root<'p>(&'p self, file: &'p Path) -> &'p Path {
        let folders = self.folders.iter().map(|folder| folder.real.as_path());
        let containing = folders.filter(|folder| file.starts_with(folder));
        let outermost = containing.min_by_key(|folder| folder.as_os_str().len());
        outermost.or(file.parent()).unwrap_or(file)
    }

    fn named(&self, path: &Path) -> String {
        let below = self.real_root().and_then(|root| path.strip_prefix(root).ok());
        below.unwrap_or(path).to_string_lossy().replace('\\', "/")
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

impl Disk for Workspace {
    fn read(&self, name: &str) -> Text {
        if name.starts_with("std::") {
            return Ok(load::library_text(name).ok_or("the library has no such module")?.into());
        }
        let path = clean(&self.path(name));
        if !path.is_absolute() {
            return Err(OUTSIDE.to_owned());
        }
        if refused_character(name).is_some() {
            return Err("its name has a control character".to_owned());
        }
        let real = fs::canonicalize(&path).map_err(|error| error.to_string())?;
        if !real.starts_with(self.import_root(&path)) {
            return Err(OUTSIDE.to_owned());
        }
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        if real != path && !is_importable(&name) {
            return Err(format!(
                "it is a link to a file whose name does not end with `{EXTENSION}`"
            ));
        }
        read(&real)
    }

    fn refuse_import(&self, main: &str, name: &str) -> Result<(), String> {
        if name.starts_with("std::") {
            return Ok(());
        }
        let (main, import) = (self.path(main), clean(&self.path(name)));
        if import.starts_with(self.import_root(&main)) { Ok(()) } else { Err(OUTSIDE.to_owned()) }
    }
}

/// The path of a file; none for a document that is no file, such as an unsaved one, or an older version of a file.
#[must_use]
pub fn file_path(url: &Url) -> Option<PathBuf> {
    if url.scheme() == "file" { url.to_file_path().ok() } else { None }
}

/// The URL of a document that is no file, from the compiler's name for it. A single letter is a drive.
fn unsaved(name: &str) -> Option<Url> {
    let is_scheme = |url: &Url| url.scheme().len() > 1 && url.scheme() != "file";
    Url::parse(name).ok().filter(is_scheme)
}

/// A path without `.`, and without `..` after another part.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => clean.push(part),
        }
    }
    clean
}

fn read(path: &Path) -> Text {
    // Opening a pipe would wait, so it is looked at first; and then once more, since it may have been replaced.
    let there = fs::metadata(path).map_err(|error| error.to_string())?;
    refuse_special(there.is_file(), there.is_dir())?;
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let there = file.metadata().map_err(|error| error.to_string())?;
    refuse_special(there.is_file(), there.is_dir())?;
    if there.len() == 0 {
        // Some files of the system say so, too, and would be waited for.
        return Ok(Arc::from(""));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err("it is larger than 16 MiB".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to())
    })?;
    Ok(Arc::from(text))
}
