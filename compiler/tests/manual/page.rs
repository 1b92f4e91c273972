//! Splits a Markdown page into prose and fenced blocks.

/// A piece of a page, in order.
pub(crate) enum Piece<'t> {
    /// A line outside of blocks.
    Prose(&'t str),
    /// A fenced block.
    Block(Block<'t>),
}

/// A fenced block.
pub(crate) struct Block<'t> {
    /// The text after the opening fence.
    pub(crate) info: &'t str,
    /// The line of the opening fence, from 1.
    pub(crate) line: usize,
    /// The lines between the fences.
    pub(crate) lines: Vec<&'t str>,
}

/// The pieces of a page. A fence must begin in the first column, and every block must be closed.
pub(crate) fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => pieces.extend(open.take().map(Piece::Block)),
            (Some(info), None) => {
                open = Some(Block { info, line: number + 1, lines: Vec::new() });
            }
            (None, Some(block)) => block.lines.push(line),
            (None, None) if line.trim_start().starts_with("```") => {
                return Err(format!("line {}: a fence stands in the first column", number + 1));
            }
            (None, None) => pieces.push(Piece::Prose(line)),
        }
    }
    match open {
        Some(block) => Err(format!("line {}: this block has no end", block.line)),
        None => Ok(pieces),
    }
}

/// A command in a `console` block, with the output that the page shows.
pub(crate) struct Command<'t> {
    /// The text after `$ `.
    pub(crate) text: &'t str,
    /// The lines up to the next command.
    pub(crate) output: Vec<&'t str>,
}

/// The commands of a `console` block, which must begin with one.
pub(crate) fn commands<'t>(block: &Block<'t>) -> Result<Vec<Command<'t>>, String> {
    let mut commands: Vec<Command<'t>> = Vec::new();
    for line in &block.lines {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(text), _) => commands.push(Command { text, output: Vec::new() }),
            (None, Some(command)) => command.output.push(line),
            (None, None) => {
                return Err(format!("line {}: this prints without a command", block.line));
            }
        }
    }
    Ok(commands)
}

/// The code spans of a line of prose.
pub(crate) fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}
