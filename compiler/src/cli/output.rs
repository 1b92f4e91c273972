//! Where output goes: to standard output, or to a file that is replaced in one step, or left alone if nothing changed.
//!
//! A path that a person gave is written whatever is there, through symbolic links. A path that `cclc` derives, from a
//! program's name or from another output's path, is written only where `cclc` wrote before: see `own`.

use super::own::{self, Own};
use super::{Failure, files, progress};
use compiler::diagnostic::log::without_commands;
use compiler::diagnostic::render;
use compiler::source::SourceMap;
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead as _, BufReader, BufWriter, ErrorKind, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::Arc;

/// How many files left by killed processes may be in the way.
const MOST_LEFT: u32 = 1000;

/// How many links may lead to each other, as many as Linux follows.
const MOST_LINKS: u32 = 40;

/// The permissions that a new file keeps of the one that it replaces: not that it runs as its owner or group.
#[cfg(unix)]
const KEPT_MODE: u32 = 0o777;

/// The permissions of a new file that replaces none, from which the system takes those of its mask.
#[cfg(unix)]
const NEW_MODE: u32 = 0o666;

/// An output, and who gave its path.
#[derive(Clone, Copy)]
pub(crate) struct Output<'p> {
    /// The path; `-` is standard output.
    pub(crate) path: &'p Path,
    /// What `cclc` writes there if it derived the path; none if a person gave it.
    pub(crate) own: Option<Own<'p>>,
}

impl<'p> Output<'p> {
    /// An output to a path that a person gave.
    pub(crate) fn named(path: &'p Path) -> Output<'p> {
        Output { path, own: None }
    }

    /// An output to a path that `cclc` derived.
    pub(crate) fn derived(path: &'p Path, own: Own<'p>) -> Output<'p> {
        Output { path, own: Some(own) }
    }

    /// Writes text.
    pub(crate) fn write_text(&self, text: &str) -> Result<(), Failure> {
        self.write(|out| out.write_all(text.as_bytes()).map(|()| true))
    }

    /// Writes what `fill` writes, as [`write()`] does; refuses to replace what `cclc` did not write if nobody gave the path.
    pub(crate) fn write(
        &self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<bool>,
    ) -> Result<(), Failure> {
        if let Some(own) = self.own {
            own::refuse_foreign(self.path, own)?;
        }
        write(self.path, fill)
    }
}

/// Writes what `fill` writes to `path`, or to standard output if the path is
/// `-`, provided that `fill` then says to keep it.
///
/// A file is first written next to its destination and then renamed, so that nobody ever sees half of it. If the
/// bytes are those that are already there, the old file stays untouched, including its time. A reader of standard
/// output that closes it early is not a failure.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<bool>,
) -> Result<(), Failure> {
    refuse_name(path)?;
    let failed = |error: io::Error| {
        Failure::Files(format!("cannot write `{}`: {error}", files::shown(path)))
    };
    if path == Path::new("-") || is_special(path) {
        let mut bytes = Vec::new();
        let keep = fill(&mut bytes).map_err(failed)?;
        return if keep { write_through(path, &bytes) } else { Ok(()) };
    }
    replace(path, fill).map_err(failed)
}

/// Refuses, before anything is written, outputs with names that no file may have, and derived ones where there is something
/// that `cclc` did not write.
pub(crate) fn refuse_foreign<'a>(
    outputs: impl IntoIterator<Item = Output<'a>>,
) -> Result<(), Failure> {
    for Output { path, own } in outputs {
        refuse_name(path)?;
        if let Some(own) = own {
            own::refuse_foreign(path, own)?;
        }
    }
    Ok(())
}

fn refuse_name(path: &Path) -> Result<(), Failure> {
    files::refuse_name(path)
        .map_err(|why| Failure::Files(format!("cannot write `{}`: {why}", files::shown(path))))
}

/// Refuses outputs that would replace a file that was read, such as the program itself, or each other.
pub(crate) fn refuse_losses<'a>(
    outputs: impl IntoIterator<Item = &'a Path>,
    sources: &SourceMap,
) -> Result<(), Failure> {
    let read = sources.files.iter().filter_map(|file| fs::canonicalize(file.name.as_str()).ok());
    let read: BTreeSet<PathBuf> = read.collect();
    let mut taken = BTreeSet::new();
    for path in outputs {
        if path == Path::new("-") || is_special(path) {
            continue;
        }
        let real = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
        let real = real.unwrap_or_else(|_| path.to_owned());
        let path = files::shown(path);
        if read.contains(&real) {
            return Err(Failure::Usage(format!("`{path}` is read, and would be replaced")));
        }
        if !taken.insert(real) {
            return Err(Failure::Usage(format!("two outputs would be written to `{path}`")));
        }
    }
    Ok(())
}

/// Makes a write beyond the limit that a shell sets (`ulimit -f`) an error like any other: what was begun is removed,
/// and the report gives the reason. Without this, the system ends the process at once.
pub(crate) fn survive_size_limits() {
    #[cfg(unix)]
    {
        // If no handler can be set, the system ends the process as usual.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    }
}

/// Whether there is something that cannot be replaced by renaming: a device, a pipe.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

fn write_through(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if path == Path::new("-") {
        return to_stdout(bytes);
    }
    let opened = File::options().write(true).open(path);
    tolerant(opened.and_then(|mut file| file.write_all(bytes)), path)
}

/// Writes text to a file, or to standard output if the path is `-`.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    write(path, |out| out.write_all(text.as_bytes()).map(|()| true))
}

/// Writes text that people read to a file, or to standard output for `-`, where no line is a command to the service that
/// runs a job.
pub(crate) fn show_or_write(path: &Path, text: &str) -> Result<(), Failure> {
    if path == Path::new("-") { show(text) } else { write_text(path, text) }
}

/// Writes text that people read to standard output, without lines that are commands to the service that runs a job.
pub(crate) fn show(text: &str) -> Result<(), Failure> {
    to_stdout(without_commands(text).as_bytes())
}

/// Writes bytes to standard output; if that is a terminal, without anything that would move its cursor,
/// since names may come from plans that anyone made.
pub(crate) fn to_stdout(bytes: &[u8]) -> Result<(), Failure> {
    progress::clear();
    let mut out = io::stdout().lock();
    let written = if out.is_terminal() {
        out.write_all(render::printable(&String::from_utf8_lossy(bytes)).as_bytes())
    } else {
        out.write_all(bytes)
    };
    tolerant(written.and_then(|()| out.flush()), Path::new("standard output"))
}

/// A reader that closed the pipe has read what it wanted.
fn tolerant(written: io::Result<()>, path: &Path) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Files(format!("cannot write `{}`: {error}", files::shown(path))))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<bool>) -> io::Result<()> {
    // A link stays a link: the file to which it leads is replaced, or made.
    let path = &follow(path)?;
    let (beside, file) = beside(path)?;
    let done = write_new(file, fill)
        .and_then(|keep| if keep { settle(&beside, path) } else { fs::remove_file(&beside) });
    if done.is_err() {
        // Nobody can use what was begun; the error that matters is the one that is returned.
        let _ = fs::remove_file(&beside);
    }
    done
}

/// Where a path leads if it is a link, whether there is a file or not.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            // A relative link starts from its own folder.
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            // It is no link, or there is nothing.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links lead to each other"))
}

/// A new, hidden file in the same folder, with the permissions that the finished one will have. One that already exists was
/// left by a process that was killed, on this machine or in another container with the same process ids; it is left alone.
fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "not a file name"))?;
    let there = fs::metadata(path).ok();
    let mut number = 0;
    loop {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.{number}.tmp", std::process::id()));
        let hidden = path.with_file_name(hidden);
        match create(&hidden, there.as_ref()) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < MOST_LEFT => {
                number += 1;
            }
            created => return created.map(|file| (hidden, file)),
        }
    }
}

/// Makes a file that is not there, with the permissions of the one that it will replace.
#[cfg(unix)]
fn create(path: &Path, there: Option<&Metadata>) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let kept = there.map(|there| there.permissions().mode() & KEPT_MODE);
    let mode = kept.unwrap_or(NEW_MODE);
    let file = File::options().write(true).create_new(true).mode(mode).open(path)?;
    if let Some(kept) = kept {
        // Only those are missing that the system's mask took away.
        file.set_permissions(fs::Permissions::from_mode(kept))?;
    }
    Ok(file)
}

#[cfg(not(unix))]
fn create(path: &Path, _: Option<&Metadata>) -> io::Result<File> {
    File::create_new(path)
}

fn write_new(
    file: File,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<bool>,
) -> io::Result<bool> {
    let mut out = BufWriter::new(file);
    let keep = fill(&mut out)?;
    out.flush()?;
    Ok(keep)
}

fn settle(new: &Path, path: &Path) -> io::Result<()> {
    if same(new, path).unwrap_or(false) {
        return fs::remove_file(new);
    }
    #[cfg(not(unix))]
    if let Ok(there) = fs::metadata(path) {
        fs::set_permissions(new, there.permissions())?;
    }
    fs::rename(new, path)
}

/// Whether two files have the same bytes, read piece by piece since plans can be large.
fn same(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (File::open(a)?, File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut a, mut b) = (BufReader::new(a), BufReader::new(b));
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
        let n = left.len().min(right.len());
        if left.get(..n) != right.get(..n) {
            return Ok(false);
        }
        if n == 0 {
            return Ok(true);
        }
        a.consume(n);
        b.consume(n);
    }
}
