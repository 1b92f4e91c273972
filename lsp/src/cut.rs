//! Cuts a file's text into the texts of its declarations.
//!
//! In: any text. Out: the offset at which each declaration begins. A piece extends to the beginning of the next one,
//! so that the pieces together are the whole text. A piece begins at a line whose first word can only begin a
//! declaration (`use`, `fn`, `proc`, `program`), or at a `let` or `collective` in the first column and outside all
//! brackets; comments, documentation and attributes directly above it are part of it.
//!
//! If no piece has a syntax error, the whole text has none, and the pieces mean the same as the text. Nothing is
//! promised for other texts: those are checked as a whole.

/// The offsets at which the pieces of a text begin, ascending; the first is 0.
#[must_use]
pub fn cut(text: &str) -> Vec<u32> {
    let mut scan = Scan { text: text.as_bytes(), depth: 0, lead: None, starts: Vec::new() };
    let mut line = 0;
    while line < text.len() {
        scan.begin(line);
        line = scan.rest(line);
    }
    // Everything above the first declaration belongs to it.
    match scan.starts.first_mut() {
        Some(first) => *first = 0,
        None => scan.starts.push(0),
    }
    scan.starts
}

/// The declaration in which an offset lies: its start, and its text.
#[must_use]
pub fn piece(text: &str, offset: u32) -> (u32, &str) {
    let inside = |(start, piece): &(u32, &str)| offset < start + piece.len() as u32;
    pieces(text).find(inside).unwrap_or((0, text))
}

/// The declarations of a text: the start of each, and its text.
pub fn pieces(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let starts = cut(text);
    let ends = starts.iter().skip(1).copied().chain([text.len() as u32]).collect::<Vec<_>>();
    starts
        .into_iter()
        .zip(ends)
        .map(move |(start, end)| (start, text.get(start as usize..end as usize).unwrap_or("")))
}

/// Comments, documentation or attributes that may belong to the declaration below them.
#[derive(Clone, Copy)]
struct Lead {
    start: usize,
    /// Whether there is more than comments, so that an empty line does not separate it from the declaration.
    binding: bool,
    depth: usize,
}

struct Scan<'t> {
    text: &'t [u8],
    depth: usize,
    lead: Option<Lead>,
    starts: Vec<u32>,
}

impl Scan<'_> {
    /// Examines how a line begins.
    fn begin(&mut self, line: usize) {
        let text = self.text.get(line..).unwrap_or_default();
        let (comment, doc) = (text.starts_with(b"//"), text.starts_with(b"///"));
        if comment || text.starts_with(b"#") {
            let binding = doc || !comment;
            let lead = self.lead.get_or_insert(Lead { start: line, binding, depth: self.depth });
            lead.binding |= binding;
            return;
        }
        let blank = matches!(text.first(), None | Some(b'\n' | b'\r'));
        let goes_on = self.lead.is_some_and(|lead| self.depth > lead.depth);
        if goes_on || (blank && self.lead.is_some_and(|lead| lead.binding)) {
            return;
        }
        let lead = self.lead.take();
        if begins_declaration(text, self.depth) {
            self.starts.push(lead.map_or(line, |lead| lead.start) as u32);
            self.depth = 0;
        }
    }

    /// Moves to the beginning of the next line, counting brackets.
    fn rest(&mut self, line: usize) -> usize {
        let mut at = line;
        while let Some(&byte) = self.text.get(at) {
            if let Some(next) = self.next_line(at) {
                return next;
            }
            at += 1;
            match byte {
                b'(' | b'[' | b'{' => self.depth += 1,
                b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                b'"' => at = self.string(at),
                b'/' if self.text.get(at) == Some(&b'/') => return self.line_end(at),
                _ => {}
            }
        }
        at
    }

    /// The offset behind a string, or of the end of its line.
    fn string(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(&byte) = self.text.get(at).filter(|_| self.next_line(at).is_none()) {
            match byte {
                b'"' => return at + 1,
                b'\\' if at + 1 < self.text.len() && self.next_line(at + 1).is_none() => at += 2,
                _ => at += 1,
            }
        }
        at
    }

    fn line_end(&self, from: usize) -> usize {
        (from..self.text.len()).find_map(|at| self.next_line(at)).unwrap_or(self.text.len())
    }

    /// Where the next line begins, where one ends here.
    fn next_line(&self, at: usize) -> Option<usize> {
        match (self.text.get(at)?, self.text.get(at + 1)) {
            (b'\r', Some(b'\n')) => Some(at + 2),
            (b'\n' | b'\r', _) => Some(at + 1),
            _ => None,
        }
    }
}

fn begins_declaration(line: &[u8], depth: usize) -> bool {
    let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let first_column = blanks == 0;
    let line = line.get(blanks..).unwrap_or_default();
    let length = line.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    match line.get(..length.unwrap_or(line.len())) {
        Some(b"use" | b"fn" | b"proc" | b"program") => true,
        Some(b"let" | b"collective") => first_column && depth == 0,
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::cut;

    fn pieces(text: &str) -> Vec<&str> {
        let mut ends = cut(text);
        ends.push(text.len() as u32);
        ends.windows(2).map(|ends| &text[ends[0] as usize..ends[1] as usize]).collect()
    }

    #[test]
    fn lines_end_with_carriage_returns_too() {
        let text = "// {\nuse a::b; // \"\n\n// Of `y`.\nlet y = 1;\nprogram p() {\n}\n";
        let count = pieces(text).len();
        assert_eq!(count, 3);
        for end in ["\r", "\r\n"] {
            let other = text.replace('\n', end);
            let back: Vec<String> =
                pieces(&other).iter().map(|piece| piece.replace(end, "\n")).collect();
            assert_eq!(back, pieces(text), "{end:?}");
        }
    }

    #[test]
    fn what_stands_above_a_declaration_belongs_to_it() {
        let text = "//! File.\nuse a::b;\n\n// Loose.\n\n// ccl: ranks=4\n#[allow(x,\n  \"}\")]\n\
                    program p() {\nlet x = 1;\n}\n/// Doc.\n\nlet y = {1};\nlet z = 2;\n";
        assert_eq!(
            pieces(text),
            [
                "//! File.\nuse a::b;\n\n// Loose.\n\n",
                "// ccl: ranks=4\n#[allow(x,\n  \"}\")]\nprogram p() {\nlet x = 1;\n}\n",
                "/// Doc.\n\nlet y = {1};\n",
                "let z = 2;\n"
            ]
        );
    }

    #[test]
    fn an_open_bracket_ends_at_the_next_program() {
        assert_eq!(
            pieces("program p {\n (\nprogram q {}\nlet a = \"(\";\nlet b;"),
            ["program p {\n (\n", "program q {}\n", "let a = \"(\";\n", "let b;"]
        );
    }
}
