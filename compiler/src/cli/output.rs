//! Where output goes: standard output, or a file that is replaced in one step and left alone where nothing changed.

use super::Failure;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes what `fill` writes to `path`, or to standard output where the path is `-`, if `fill` then says that it is to
/// be kept.
///
/// A file is written beside its destination first and then renamed, so that nobody ever sees half of it; where the
/// bytes are those that are there already, the old file stays untouched, with its time. A reader of standard output
/// that has seen enough is no failure.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<bool>,
) -> Result<(), Failure> {
    let failed =
        |error: io::Error| Failure::Files(format!("cannot write `{}`: {error}", path.display()));
    if path == Path::new("-") || is_special(path) {
        let mut bytes = Vec::new();
        let keep = fill(&mut bytes).map_err(failed)?;
        return if keep { write_through(path, &bytes) } else { Ok(()) };
    }
    replace(path, fill).map_err(failed)
}

/// Whether something is there that cannot be renamed over: a device, a pipe.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

fn write_through(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if path == Path::new("-") {
        return to_stdout(bytes);
    }
    let opened = fs::OpenOptions::new().write(true).open(path);
    tolerant(opened.and_then(|mut file| file.write_all(bytes)), path)
}

/// Writes text to a file, or to standard output where the path is `-`.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    write(path, |out| out.write_all(text.as_bytes()).map(|()| true))
}

/// Writes bytes to standard output.
pub(crate) fn to_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    tolerant(out.write_all(bytes).and_then(|()| out.flush()), Path::new("standard output"))
}

/// A reader that left has what it wanted.
fn tolerant(written: io::Result<()>, path: &Path) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Files(format!("cannot write `{}`: {error}", path.display())))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<bool>) -> io::Result<()> {
    // A link stays a link: what it leads to is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = beside(path)?;
    let done = write_new(&beside, fill)
        .and_then(|keep| if keep { settle(&beside, path) } else { fs::remove_file(&beside) });
    if done.is_err() {
        // What was begun is of no use to anyone; the error that matters is the one that is returned.
        let _ = fs::remove_file(&beside);
    }
    done
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "not a file name"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(hidden))
}

fn write_new(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<bool>,
) -> io::Result<bool> {
    let mut out = BufWriter::new(File::create_new(path)?);
    let keep = fill(&mut out)?;
    out.flush()?;
    Ok(keep)
}

fn settle(new: &Path, path: &Path) -> io::Result<()> {
    if same(new, path).unwrap_or(false) {
        return fs::remove_file(new);
    }
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
