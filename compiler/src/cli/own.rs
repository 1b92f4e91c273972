//! Whether a file is one that `cclc` wrote: an output to which nobody gave a path replaces nothing else.
//!
//! A program in a stranger's file chooses its name, and with it the path of its plan: one called `package` would replace
//! `package.json`. Each kind of output is recognized by how it begins. A link at such a path may not lead out of its folder.

use super::{Failure, files};
use compiler::cuda;
use compiler::plan::manifest::Manifest;
use compiler::plan::map::Map;
use compiler::plan::write;
use compiler::target::{TARGETS, Target};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// How many bytes of a file are looked at: a plan's first line has two names, of which each is a file's name at most.
const HEAD_BYTES: u64 = 64 << 10;

/// A kind of output, and how a file of it is recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own<'p> {
    /// A plan.
    Plan,
    /// A map.
    Map,
    /// A manifest.
    Manifest,
    /// CUDA source, or a header.
    Cuda,
    /// A makefile rule whose first target is this, as it is escaped, or one that differs in its extension.
    Deps(&'p str),
}

impl Own<'_> {
    fn begins(self, head: &[u8]) -> bool {
        match self {
            Own::Plan => write::is_written(head),
            Own::Map => Map::is_written(head),
            Own::Manifest => Manifest::is_written(head),
            Own::Cuda => cuda::is_written(head),
            Own::Deps(target) => begins_rule(head, target),
        }
    }

    /// What names another path.
    fn flag(self) -> &'static str {
        match self {
            Own::Plan | Own::Cuda => "-o PATH",
            Own::Map => "--emit map=PATH",
            Own::Manifest => "--emit manifest=PATH",
            Own::Deps(_) => "--emit deps=PATH",
        }
    }
}

/// Whether a makefile rule begins with a target, or with the plan or the kernels of the same name.
fn begins_rule(head: &[u8], target: &str) -> bool {
    let stem = Path::new(target).with_extension("");
    // Not `with_extension`, which would replace what follows a dot in the name.
    let of_stem = |one: &&Target| format!("{}.{}", stem.to_string_lossy(), one.extension());
    TARGETS.iter().map(of_stem).chain([target.to_owned()]).any(|target| {
        let rest = head.strip_prefix(target.as_bytes()).unwrap_or_default();
        rest.starts_with(b":") || rest.starts_with(b" ")
    })
}

/// Refuses a path at which there is something else than an output of this kind.
pub(crate) fn refuse_foreign(path: &Path, own: Own<'_>) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Ok(());
    }
    let why = match fs::symlink_metadata(path) {
        // A path at which nothing can be found out is reported when it is written.
        Err(_) => return Ok(()),
        Ok(there) if there.is_symlink() && !files::stays(path) => "it is a link out of its folder",
        Ok(_) if !path.is_file() => "it is there, and not an ordinary file",
        Ok(_) if head(path).is_ok_and(|head| own.begins(&head)) => return Ok(()),
        Ok(_) => "it is there, and not written by cclc",
    };
    Err(Failure::Usage(format!(
        "`{}` would be replaced, but {why}: `{}` names another file, or this one if it is meant",
        files::shown(path),
        own.flag()
    )))
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}
