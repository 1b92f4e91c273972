//! Reading: source files, plans, standard input, and the files that source files import.
//!
//! In: paths. Out: texts, or the reason why there is none. What may never come (standard input, a named pipe) is read in a
//! thread of its own, for which the caller waits until the time is up; the thread ends with the process.
//!
//! A file that a person names may be anything that can be read. One that a file names (an import, a map, the source in a
//! map) is an ordinary file below a folder, whatever links lead to it.

use super::limits;
use compiler::interrupt::Interrupt;
use compiler::resolve::path::{EXTENSION, is_importable, refuse_special};
use compiler::source::{FileId, SourceMap, escape_name, refused_character};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often it is asked whether the time is up, while something is read that may never come.
const LOOK: Duration = Duration::from_millis(20);

/// Reads a file of at most `most` bytes, or standard input for `-`; if that fails, or the time is up, returns the reason.
pub(crate) fn open(
    sources: &mut SourceMap,
    path: &Path,
    most: u64,
    interrupt: &Interrupt,
) -> Result<FileId, String> {
    Ok(sources.add(name(path), read_argument(path, most, interrupt)?))
}

/// The text of a file of at most `most` bytes, or of standard input for `-`; if that fails, or the time is up, the reason.
pub(crate) fn read_argument(
    path: &Path,
    most: u64,
    interrupt: &Interrupt,
) -> Result<String, String> {
    if path == Path::new("-") {
        read_beside(|| Ok(io::stdin()), most, interrupt)
    } else {
        text(path, most, interrupt)
    }
}

/// The same for a source file; a file that is a plan, or XML, by its name is not read.
pub(crate) fn source(
    sources: &mut SourceMap,
    path: &Path,
    most: u64,
    interrupt: &Interrupt,
) -> Result<FileId, String> {
    let other = if ends_in(path, "json") {
        "this is a plan, which `cclc verify` checks"
    } else if ends_in(path, "xml") {
        "this is XML, as MSCCL's algorithms are; write the algorithm as a .ccl program"
    } else {
        return open(sources, path, most, interrupt);
    };
    Err(format!("a source file is expected here; {other}"))
}

/// The same for a plan; a file that is a source file by its name is not read.
pub(crate) fn plan(
    sources: &mut SourceMap,
    path: &Path,
    most: u64,
    interrupt: &Interrupt,
) -> Result<FileId, String> {
    match ends_in(path, "ccl") {
        true => {
            Err("a plan is expected here; this is a source file, which `cclc check` checks"
                .to_owned())
        }
        false => open(sources, path, most, interrupt),
    }
}

/// Whether a file's extension is `end`.
pub(crate) fn ends_in(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|extension| extension == end)
}

/// The name of a file in reports.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "<stdin>".to_owned() } else { shown(path) }
}

/// A path as a message shows it: on one line, whatever its name is.
pub(crate) fn shown(path: &Path) -> String {
    escape_name(&path.to_string_lossy())
}

/// Refuses a file, to be read or written, that has a control character in its name; the error is the reason.
pub(crate) fn refuse_name(path: &Path) -> Result<(), String> {
    match refused_character(&path.to_string_lossy()) {
        Some(c) => Err(format!(
            "its name has the control character U+{:04X}, which logs and makefiles would read as something else; rename it",
            u32::from(c)
        )),
        None => Ok(()),
    }
}

/// The folder that imports must stay in: the given one; otherwise the current one, if the
/// source file is in it; otherwise the source file's.
pub(crate) fn root(given: Option<&Path>, file: &Path) -> PathBuf {
    let current = PathBuf::from(".");
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(&current);
    match given {
        Some(root) => root.to_owned(),
        None if file == Path::new("-") || inside(folder, &current) => current,
        None => folder.to_owned(),
    }
}

/// Reads an imported file, if it is an ordinary file inside `root` after links are followed, and ends with `.ccl` there,
/// too.
pub(crate) fn import(root: &Path, path: &str, most: u64) -> Result<Arc<str>, String> {
    let real = fs::canonicalize(path).map_err(|error| error.to_string())?;
    if !fs::canonicalize(root).is_ok_and(|root| real.starts_with(root)) {
        return Err(format!("it is outside `{}`; `--root DIR` sets another folder", shown(root)));
    }
    if !real.file_name().is_some_and(|name| is_importable(&name.to_string_lossy())) {
        return Err(format!("it is a link to a file whose name does not end with `{EXTENSION}`"));
    }
    ordinary(&real, most).map(Arc::from)
}

/// Whether a link leads to a file in its own folder, or below that; and so is whatever is no link.
pub(crate) fn stays(link: &Path) -> bool {
    let folder = link.parent().filter(|folder| !folder.as_os_str().is_empty());
    inside(link, folder.unwrap_or(Path::new(".")))
}

fn inside(path: &Path, root: &Path) -> bool {
    match (fs::canonicalize(path), fs::canonicalize(root)) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

/// Reads a file of at most `most` bytes; if that fails, or the time is up, returns the reason. A larger file is not read at
/// all.
pub(crate) fn text(path: &Path, most: u64, interrupt: &Interrupt) -> Result<String, String> {
    refuse_name(path)?;
    let there = fs::metadata(path).map_err(|error| error.to_string())?;
    if there.is_dir() || there.is_file() && there.len() > 0 {
        return ordinary(path, most);
    }
    // Opening a named pipe waits until somebody opens its other end. Files of the system say that they are empty, and
    // some of them are read like pipes.
    let path = path.to_owned();
    read_beside(move || fs::File::open(path), most, interrupt)
}

/// Reads an ordinary file of at most `most` bytes: no pipe, which might never end, and no device.
pub(crate) fn ordinary(path: &Path, most: u64) -> Result<String, String> {
    refuse_name(path)?;
    // Opening a pipe would wait, so it is looked at first; and then once more, since it may have been replaced.
    let there = fs::metadata(path).map_err(|error| error.to_string())?;
    refuse_special(there.is_file(), there.is_dir())?;
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let there = file.metadata().map_err(|error| error.to_string())?;
    refuse_special(there.is_file(), there.is_dir())?;
    if there.len() > most {
        return Err(limits::too_large(there.len(), most));
    }
    if there.len() == 0 {
        // Files of the system say so, too; some of them would be waited for.
        return Ok(String::new());
    }
    // The file may have grown: what is read is counted.
    read(file, most)
}

/// Opens and reads something in a thread of its own, until the time is up.
fn read_beside<R: io::Read>(
    open: impl FnOnce() -> io::Result<R> + Send + 'static,
    most: u64,
    interrupt: &Interrupt,
) -> Result<String, String> {
    let (sender, receiver) = channel();
    let reading = move || {
        let text = open().map_err(|error| error.to_string()).and_then(|reader| read(reader, most));
        // When the time is up, nobody receives it.
        let _ = sender.send(text);
    };
    thread::Builder::new().spawn(reading).map_err(|error| error.to_string())?;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(text) => return text,
            Err(RecvTimeoutError::Timeout) if !interrupt.is_set() => {}
            Err(RecvTimeoutError::Timeout) => return Err("the time is up".to_owned()),
            Err(RecvTimeoutError::Disconnected) => return Err("reading it failed".to_owned()),
        }
    }
}

/// The text of a reader. One that does not know its size, such as a pipe, is read up to the limit.
fn read(reader: impl io::Read, most: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    reader.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most {
        return Err(limits::too_large(bytes.len() as u64, most));
    }
    String::from_utf8(bytes).map_err(|error| {
        format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to())
    })
}
