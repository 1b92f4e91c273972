//! Documentation as Markdown that an editor may render, whoever wrote it.
//!
//! In: the text of documentation comments, from files that may be a stranger's. Out: Markdown without HTML and without
//! images, which an editor would load from wherever they are. A blank keeps what would begin one from doing so. It is put there
//! in code, too: where code begins and ends is something on which renderers differ, and a mistake would let HTML through.

/// The text without HTML and images.
#[must_use]
pub fn without_html(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut letters = markdown.chars().peekable();
    while let Some(letter) = letters.next() {
        text.push(letter);
        let begins = match (letter, letters.peek()) {
            // A tag, a closing tag, a comment or declaration, an instruction, or an address.
            ('<', Some(next)) => next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?'),
            ('!', Some('[')) => true,
            _ => false,
        };
        if begins {
            text.push(' ');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::without_html;

    #[test]
    fn nothing_is_loaded_and_nothing_is_a_tag() {
        let hostile = "<img src=\"https://a\"></b><!-- c --><?d?> ![e](https://f) `<g>` \\<h>";
        let text = without_html(hostile);
        assert_eq!(
            text,
            "< img src=\"https://a\">< /b>< !-- c -->< ?d?> ! [e](https://f) `< g>` \\< h>"
        );
        assert_eq!(without_html(&text), text);
        let plain = "i < 3, 1 << 2, a <= b, [link](https://c), wow! `x <- y`";
        assert_eq!(without_html(plain), plain);
    }
}
