//! A line on a terminal that says what takes so long, from the first second on.
//!
//! The line is drawn anew a few times a second, and taken away before anything else is written: [`clear`] is called by
//! whoever writes to the terminal.

use compiler::diagnostic::render;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What takes less is over before it can be read.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the line is drawn.
const BEAT: Duration = Duration::from_millis(250);

/// Longer lines than this are cut: few terminals are narrower.
const WIDTH: usize = 79;

/// Whether a line is there, foreverybody who writes to the terminal.
static LINE: Mutex<Line> = Mutex::new(Line { shown: false, over: false });

struct Line {
    shown: bool,
    over: bool,
}

/// Whether there is somebody to see a line, and a way to take it away.
pub(super) fn is_wanted() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Draws what `said` says, if it is something, until [`finish`].
pub(super) fn start(said: impl Fn() -> Option<String> + Send + 'static) {
    thread::spawn(move || {
        thread::sleep(PATIENCE);
        while draw(said()) {
            thread::sleep(BEAT);
        }
    });
}

/// Takes the line away, to make room for something that stays.
pub(super) fn clear() {
    erase(&mut line());
}

/// Takes the line away for good.
pub(super) fn finish() {
    let mut line = line();
    erase(&mut line);
    line.over = true;
}

fn draw(text: Option<String>) -> bool {
    let mut line = line();
    if line.over {
        return false;
    }
    if let Some(text) = text {
        let text: String =
            render::printable(&text).replace('\n', " ").chars().take(WIDTH).collect();
        // Where nothing can be written there is nobody to see it.
        let _ = write!(io::stderr(), "\r\x1b[2K{text}");
        line.shown = true;
    }
    true
}

fn erase(line: &mut Line) {
    if std::mem::take(&mut line.shown) {
        let _ = write!(io::stderr(), "\r\x1b[2K");
    }
}

fn line() -> MutexGuard<'static, Line> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}
