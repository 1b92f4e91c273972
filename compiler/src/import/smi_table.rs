//! Lines of the tables that `nvidia-smi` and `rocm-smi` print, as cells with their places.
//!
//! Blanks and the escape sequences of terminals (ECMA-48, `ESC [ .. letter`) separate cells.

use super::{ImportError, TextPlace, clamp_count};

/// A word of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableCell<'t> {
    pub(super) text: &'t str,
    pub(super) place: TextPlace,
}

/// A line's words, at most `limit` of them. `line` is its number, from 0.
pub(super) fn split_cells(text: &str, line: usize, limit: usize) -> Vec<TableCell<'_>> {
    let line = clamp_count(line + 1);
    let mut cells = Vec::new();
    let (mut begin, mut first_column) = (None, 1);
    let mut escape = EscapeState::Outside;
    for (column, (at, c)) in (1..).zip(text.char_indices()) {
        escape = escape.step(c);
        let is_word = escape == EscapeState::Outside && !c.is_whitespace() && !c.is_control();
        match (begin, is_word) {
            (None, true) => (begin, first_column) = (Some(at), column),
            (Some(from), false) => {
                let place = TextPlace { line, column: first_column };
                cells.push(TableCell { text: text.get(from..at).unwrap_or_default(), place });
                begin = None;
                if cells.len() >= limit {
                    return cells;
                }
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    if let Some(from) = begin {
        let place = TextPlace { line, column: first_column };
        cells.push(TableCell { text: text.get(from..).unwrap_or_default(), place });
    }
    cells
}

/// Where in an escape sequence a character is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EscapeState {
    Outside,
    /// Behind `ESC`.
    Begun,
    /// Behind `ESC [`.
    Parameters,
    /// At its last character.
    Ends,
}

impl EscapeState {
    fn step(self, c: char) -> EscapeState {
        match (self, c) {
            (_, '\u{1b}') => EscapeState::Begun,
            (EscapeState::Begun, '[') => EscapeState::Parameters,
            (EscapeState::Parameters, '0'..='9' | ';' | '?') => EscapeState::Parameters,
            (EscapeState::Begun | EscapeState::Parameters, _) => EscapeState::Ends,
            (EscapeState::Outside | EscapeState::Ends, _) => EscapeState::Outside,
        }
    }
}

/// The number of a GPU that is called `GPU0`.
pub(super) fn parse_gpu_name(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("GPU")?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// A cell that says something else than the one for the same two GPUs in the other direction.
pub(super) struct AsymmetricCell<'t> {
    /// The GPU of its row.
    pub(super) from: &'t str,
    /// The GPU of its column.
    pub(super) to: &'t str,
    /// Where it is.
    pub(super) place: TextPlace,
    /// Where the other cell is.
    pub(super) reverse: TextPlace,
    /// What printed the table.
    pub(super) command: &'static str,
}

/// The report on a cell that contradicts its reverse.
pub(super) fn report_asymmetry(cell: &AsymmetricCell) -> ImportError {
    let AsymmetricCell { from, to, place, reverse, command } = cell;
    let message = format!("{from} is related to {to} otherwise than {to} to {from}");
    let help = format!(
        "a relation holds both ways; compare with line {}, and run `{command}` again",
        reverse.line
    );
    ImportError::new(*place, message, help)
}

#[cfg(test)]
mod tests {
    use super::{parse_gpu_name, split_cells};

    #[test]
    fn escape_sequences_are_no_cells() {
        let cells = split_cells("\t\u{1b}[4mGPU0\tGPU1 \u{1b}[0mX\u{1b}[1;31mY\u{1b}", 2, 9);
        let texts: Vec<&str> = cells.iter().map(|cell| cell.text).collect();
        assert_eq!(texts, ["GPU0", "GPU1", "X", "Y"]);
        assert_eq!((cells[1].place.line, cells[1].place.column), (3, 11));
        assert_eq!(split_cells("a b c", 0, 2).len(), 2);
    }

    #[test]
    fn gpus_are_called_by_number() {
        let names = ["GPU0", "GPU17", "GPU", "GPUx", "GPU-1", "NIC0", "GPU99999999999"];
        let numbers = [Some(0), Some(17), None, None, None, None, None];
        assert_eq!(names.map(parse_gpu_name), numbers);
    }
}
