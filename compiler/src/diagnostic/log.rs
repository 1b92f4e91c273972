//! Texts that go into logs: names and lines of programs and plans that anyone may have written, in which the services
//! that run jobs look for commands to themselves.
//!
//! GitHub takes a line that begins with `::` after blanks for a command, and older runners one that has `##[` anywhere;
//! Azure looks for `##vso[`, and TeamCity for `##teamcity[`. In: text, or text in JSON. Out: the same with as many characters,
//! in which no line is such a command; or JSON of the same value.

/// What stands in place of a character that makes a command of a line.
const REPLACEMENT: char = '\u{fffd}';

/// A text in which no line is a command: a character of what would begin one is replaced.
#[must_use]
pub fn without_commands(text: &str) -> String {
    without_markers(&without_first_colons(text))
}

/// A text without the commands that may stand anywhere in a line; lines that begin with `::` stay.
#[must_use]
pub fn without_markers(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("##") {
        let (before, marker) = rest.split_at(at);
        safe.push_str(before);
        safe.push('#');
        rest = marker.strip_prefix('#').unwrap_or_default();
        if is_marker(rest) {
            safe.push(REPLACEMENT);
            rest = rest.strip_prefix('#').unwrap_or_default();
        }
    }
    safe + rest
}

/// JSON of the same value without `##`, which can only be in a string.
#[must_use]
pub fn escape_json(json: &str) -> String {
    json.replace("##", "#\\u0023")
}

/// Whether a text goes on as a command does behind its first `#`: `#`, a word or none, and `[`.
fn is_marker(text: &str) -> bool {
    let Some(word) = text.strip_prefix('#') else { return false };
    let behind = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "-_".contains(c));
    behind.starts_with('[')
}

fn without_first_colons(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for line in text.split_inclusive(['\n', '\r']) {
        let Some((blanks, command)) = first_colons(line).and_then(|at| line.split_at_checked(at))
        else {
            safe.push_str(line);
            continue;
        };
        safe.push_str(blanks);
        safe.push(REPLACEMENT);
        safe.push_str(command.strip_prefix(':').unwrap_or(command));
    }
    safe
}

/// Where the two colons are with which a line begins as it is displayed. Some comparisons of texts pass over characters
/// that take no place.
fn first_colons(line: &str) -> Option<usize> {
    let mut shown = line.char_indices().filter(|(_, c)| !takes_no_place(*c)).peekable();
    while shown.next_if(|(_, c)| c.is_whitespace()).is_some() {}
    let colons = [shown.next()?, shown.next()?];
    colons.iter().all(|(_, c)| *c == ':').then_some(colons[0].0)
}

/// Whether nothing is displayed for a character. Source: the Default_Ignorable_Code_Point property of Unicode 16, and the
/// control characters that are no blanks.
fn takes_no_place(c: char) -> bool {
    let is_ignorable = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}');
    is_ignorable || c.is_control() && !c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_a_command() {
        let text = "::error::a\n  ::set-output name=a::b\r::c\na::b ::\n";
        let safe = "\u{fffd}:error::a\n  \u{fffd}:set-output name=a::b\r\u{fffd}:c\na::b ::\n";
        assert_eq!(without_commands(text), safe);
        let text = "\u{feff}\u{200b}::error::a\n \u{1b}:\u{200d}:b\n: :c\n:";
        let safe = "\u{feff}\u{200b}\u{fffd}:error::a\n \u{1b}\u{fffd}\u{200d}:b\n: :c\n:";
        assert_eq!(without_commands(text), safe);
        let text = "a ##vso[task.setvariable]b ##[error] ###[x] ## [y] # #[z] ##w";
        let safe =
            "a #\u{fffd}vso[task.setvariable]b #\u{fffd}[error] ##\u{fffd}[x] ## [y] # #[z] ##w";
        assert_eq!(without_commands(text), safe);
        assert_eq!(without_commands(safe), safe);
    }

    #[test]
    fn json_keeps_its_value() {
        let escaped = escape_json(r####"{"a":"###vso[b]\\##"}"####);
        assert_eq!(escaped, r####"{"a":"#\u0023#vso[b]\\#\u0023"}"####);
    }
}
