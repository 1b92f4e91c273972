//! `cclc new`: makes a folder with a program, a build, a test and checks of every change, to begin with.
//!
//! The templates look like the files that are made from them, with `PROJECT` in place of the program's name, and
//! `REPOSITORY` in place of the address from which ccl is cloned.

use super::args::New;
use super::{Failure, Status, files, report};
use compiler::syntax::token;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The project's files: where each goes, and its text.
const FILES: [(&str, &str); 5] = [
    ("ccl/PROJECT.ccl", include_str!("../../templates/project/ccl/PROJECT.ccl")),
    ("CMakeLists.txt", include_str!("../../templates/project/CMakeLists.txt")),
    (
        ".github/workflows/ccl.yml",
        include_str!("../../templates/project/.github/workflows/ccl.yml"),
    ),
    ("README.md", include_str!("../../templates/project/README.md")),
    (".gitignore", include_str!("../../templates/project/.gitignore")),
];

/// How many folders left by killed processes may be in the way.
const MOST_LEFT: u32 = 1000;

/// Makes the folder, completely or not at all.
pub(crate) fn run(new: &New) -> Result<Status, Failure> {
    let last = new.folder.file_name().and_then(|name| name.to_str());
    let name = last.map(|last| last.replace('-', "_")).filter(|name| is_name(name));
    let Some(name) = name else {
        return Err(Failure::Usage(format!(
            "`{}`: the last part of the path names the program, in lowercase letters, digits and `_` (or `-`, for which the program has `_`), and must not be a reserved word",
            files::shown(&new.folder)
        )));
    };
    let failed = |error: io::Error| {
        Failure::Files(format!("cannot create `{}`: {error}", files::shown(&new.folder)))
    };
    files::refuse_name(&new.folder).map_err(io::Error::other).map_err(failed)?;
    refuse_to_replace(&new.folder).map_err(failed)?;
    let above = new.folder.parent().filter(|above| !above.as_os_str().is_empty());
    above.map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
    let made = create_beside(&new.folder, &name).map_err(failed)?;
    let done = fill(&made, &name).and_then(|()| fs::rename(&made, &new.folder));
    if done.is_err() {
        // Nobody can use what was begun; the error that matters is the one that is returned.
        let _ = fs::remove_dir_all(&made);
    }
    done.map_err(failed)?;
    let renamed = if last == Some(name.as_str()) {
        String::new()
    } else {
        format!("; its program is `{name}`, since the name of a program has no hyphens")
    };
    report::say(&format!(
        "created `{}`{renamed}; its README.md explains the next steps",
        files::shown(&new.folder)
    ));
    Ok(Status::Clean)
}

fn refuse_to_replace(folder: &Path) -> io::Result<()> {
    match folder.symlink_metadata() {
        Ok(_) => Err(io::Error::new(io::ErrorKind::AlreadyExists, "it already exists")),
        Err(_) => Ok(()),
    }
}

/// A new, hidden folder next to the one that will be made. What is there already, a link to a folder for instance, is
/// neither used nor removed.
fn create_beside(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let mut number = 0;
    loop {
        let hidden = folder.with_file_name(format!(".{name}.{}.{number}.tmp", std::process::id()));
        match fs::create_dir(&hidden) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_LEFT => {
                number += 1;
            }
            made => return made.map(|()| hidden),
        }
    }
}

fn fill(folder: &Path, name: &str) -> io::Result<()> {
    for (path, text) in FILES {
        let path = folder.join(path.replace("PROJECT", name));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let text =
            text.replace("PROJECT", name).replace("REPOSITORY", env!("CARGO_PKG_REPOSITORY"));
        fs::File::create_new(path)?.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Whether a text can name both a program and a build target.
fn is_name(text: &str) -> bool {
    !token::is_reserved(text)
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
