//! Files and their names: addresses of the protocol, what the compiler calls a file, and what is on the disk.
//!
//! A file below the root is called by its path from there, as `cclc` calls it when it is run in the root; any other by
//! its whole path, and one that is no file by its address. Imports must stay below the root, those of files outside it
//! below the folder of the file.

use crate::database::Text;
use lsp_types::Url;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many bytes a file may have: offsets are 32-bit numbers.
const MAX_BYTES: u64 = u32::MAX as u64;

/// How deep folders are searched for source files.
const MAX_DEPTH: usize = 16;

/// How many source files are looked for.
const MAX_FILES: usize = 10_000;

/// The folder that the editor works in.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    root: Option<PathBuf>,
}

impl Workspace {
    /// A workspace with this folder as its root.
    #[must_use]
    pub fn new(root: Option<PathBuf>) -> Workspace {
        Workspace { root: root.map(|root| fs::canonicalize(&root).unwrap_or(root)) }
    }

    /// The root.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// What the compiler calls a file.
    #[must_use]
    pub fn name(&self, url: &Url) -> String {
        let Ok(path) = url.to_file_path() else { return url.to_string() };
        // A path may lead to the root through a link.
        let path = match (path.parent().map(fs::canonicalize), path.file_name()) {
            (Some(Ok(folder)), Some(name)) => folder.join(name),
            _ => path,
        };
        let below = self.root.as_ref().and_then(|root| path.strip_prefix(root).ok());
        below.unwrap_or(&path).to_string_lossy().replace('\\', "/")
    }

    /// Where a file is; none for modules of the library.
    #[must_use]
    pub fn url(&self, name: &str) -> Option<Url> {
        if let Some(module) = name.strip_prefix("std::") {
            return library(module);
        }
        let path = self.path(name);
        if path.is_absolute() { Url::from_file_path(path).ok() } else { Url::parse(name).ok() }
    }

    /// The names of the source files below the root, in order. Hidden folders and links are not followed.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut open: Vec<(PathBuf, usize)> =
            self.root.iter().map(|root| (root.clone(), 0)).collect();
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
                        names.extend(self.relative(&path));
                    }
                    Ok(_) | Err(_) => {}
                }
                if names.len() >= MAX_FILES {
                    return names;
                }
            }
        }
        names.sort();
        names
    }

    fn relative(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(self.root.as_ref()?).ok()?;
        Some(below.to_string_lossy().replace('\\', "/"))
    }

    /// The text of a file on the disk.
    ///
    /// # Errors
    /// In a few words, why it cannot be read; `outside` is among them where it must not be.
    pub fn read(&self, name: &str) -> Text {
        if let Some(module) = name.strip_prefix("std::") {
            let text = module_text(module).ok_or("the library has no such module")?;
            return Ok(text.into());
        }
        let path = self.path(name);
        let inside = |root: &Path| fs::canonicalize(&path).is_ok_and(|path| path.starts_with(root));
        let outside = Path::new(name).is_relative() && !self.root.as_deref().is_some_and(inside);
        if path.exists() && outside {
            return Err("it lies outside the workspace".to_owned());
        }
        read(&path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.as_ref().map_or_else(|| PathBuf::from(name), |root| root.join(name))
    }
}

/// Where a module of the library can be read. The library is a part of the program: for editors it is written to a
/// folder of its own, when something in it is to be shown.
fn library(module: &str) -> Option<Url> {
    let text = module_text(module)?;
    let module = module.replace("::", "/");
    let folder = format!("ccl-std-{}", env!("CARGO_PKG_VERSION"));
    let path = cache().join(folder).join(format!("{module}.ccl"));
    if fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Url::from_file_path(path).ok();
    }
    fs::create_dir_all(path.parent()?).ok()?;
    // Another server may do the same at the same time.
    let new = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).ok()?;
    Url::from_file_path(path).ok()
}

fn module_text(module: &str) -> Option<&'static str> {
    let module = module.replace("::", "/");
    stdlib::FILES.iter().find(|(name, _)| *name == module).map(|(_, text)| *text)
}

fn cache() -> PathBuf {
    let set =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").map(|home| home.join(".cache"));
    set("XDG_CACHE_HOME").or_else(home).unwrap_or_else(std::env::temp_dir)
}

fn read(path: &Path) -> Text {
    let there = fs::metadata(path).map_err(|error| error.to_string())?;
    if there.is_dir() {
        return Err("it is a folder".to_owned());
    }
    if there.len() > MAX_BYTES {
        return Err("it is larger than 4 GiB".to_owned());
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|error| {
        format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to())
    })?;
    Ok(Arc::from(text))
}
