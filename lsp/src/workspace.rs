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
        if name.starts_with("std::") {
            return None;
        }
        let path = self.path(name);
        if path.is_absolute() { Url::from_file_path(path).ok() } else { Url::parse(name).ok() }
    }

    /// The text of a file on the disk.
    ///
    /// # Errors
    /// In a few words, why it cannot be read; `outside` is among them where it must not be.
    pub fn read(&self, name: &str) -> Text {
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
