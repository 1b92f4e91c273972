//! Where output goes: standard output, or a file that is replaced in one step and left alone where nothing changed.

use super::Failure;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes what `fill` writes to `path`, or to standard output where the path is `-`.
///
/// A file is written beside its destination first and then renamed, so that nobody ever sees half of it; where the
/// bytes are those that are there already, the old file stays untouched, with its time. A reader of standard output
/// that has seen enough is no failure.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if path == Path::new("-") {
        return stdout(fill);
    }
    replace(path, fill)
        .map_err(|error| Failure::Files(format!("cannot write `{}`: {error}", path.display())))
}

/// Writes bytes to standard output.
pub(crate) fn to_stdout(bytes: &[u8]) -> Result<(), Failure> {
    stdout(|out| out.write_all(bytes))
}

fn stdout(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match fill(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Files(format!("cannot write to standard output: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // A link stays a link, and devices and pipes cannot be renamed over.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
        return fill(&mut out).and_then(|()| out.flush());
    }
    let beside = beside(path)?;
    let done = write_new(&beside, fill).and_then(|()| settle(&beside, path));
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

fn write_new(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create_new(path)?);
    fill(&mut out)?;
    out.flush()
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
