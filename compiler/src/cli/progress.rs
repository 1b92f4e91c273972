//! A line on a terminal that says what is taking so long, from the first second on.
//!
//! The line is redrawn a few times a second, and erased before anything else is written:
//! whoever writes to the terminal calls [`clear`].

use compiler::diagnostic::render;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What takes less time is over before the line can be read.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the line is drawn.
const BEAT: Duration = Duration::from_millis(250);

/// Longer lines than this are cut off: few terminals are narrower.
const WIDTH: usize = 79;

/// Whether the line is shown, for everybody who writes to the terminal.
static LINE: Mutex<Line> = Mutex::new(Line { shown: false, over: false });

struct Line {
    shown: bool,
    over: bool,
}

/// Whether there is somebody to see a line, and a way to erase it.
pub(super) fn is_wanted() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Draws the text that `said` returns, if any, until [`finish`].
pub(super) fn start(said: impl Fn() -> Option<String> + Send + 'static) {
    thread::spawn(move || {
        thread::sleep(PATIENCE);
        while draw(said()) {
            thread::sleep(BEAT);
        }
    });
}

/// Erases the line, to make room for something that stays.
pub(super) fn clear() {
    erase(&mut line());
}

/// Erases the line for good.
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
        // If nothing can be written, nobody is there to see it.
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
