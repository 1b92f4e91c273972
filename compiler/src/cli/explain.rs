//! `cclc explain`: the page of a code, the codes whose pages have some words, or the list of all codes.

use super::args::Explain;
use super::{Failure, Status, output};
use compiler::diagnostic::{Code, nearest};

/// Prints a page, or a list.
pub(crate) fn run(explain: &Explain) -> Result<Status, Failure> {
    let text = match explain.words.as_slice() {
        [] => list(Code::ALL),
        [id] if is_like_a_code(id) => Code::parse(id).ok_or_else(|| unknown(id))?.explain().into(),
        words => match with_words(words).as_slice() {
            [] => return Err(no_page(words)),
            [code] => code.explain().to_owned(),
            several => list(several),
        },
    };
    output::to_stdout(text.as_bytes())?;
    Ok(Status::Clean)
}

fn list(codes: &[Code]) -> String {
    codes.iter().map(|code| format!("{}  {}\n", code.id(), code.title())).collect()
}

/// Whether a word is a code by its form: a letter and digits.
fn is_like_a_code(word: &str) -> bool {
    let digits = word.strip_prefix(|first: char| first.is_ascii_alphabetic());
    digits.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The codes whose titles have all the words; if there are none, those whose pages have.
fn with_words(words: &[String]) -> Vec<Code> {
    let words: Vec<String> =
        words.iter().flat_map(|word| word.split_whitespace()).map(str::to_lowercase).collect();
    let having = |text: fn(Code) -> &'static str| -> Vec<Code> {
        let has_all = |code: &Code| {
            let text = text(*code).to_lowercase();
            words.iter().all(|word| begins_a_word(&text, word))
        };
        Code::ALL.iter().copied().filter(has_all).collect()
    };
    let titled = having(Code::title);
    if titled.is_empty() { having(Code::explain) } else { titled }
}

/// Whether a word of the text begins like this: `deadlock` is in "deadlocks", and `race` is not in "embrace".
fn begins_a_word(text: &str, beginning: &str) -> bool {
    text.match_indices(beginning).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(|last| !last.is_alphanumeric())
    })
}

fn unknown(id: &str) -> Failure {
    let near = nearest(&id.to_ascii_uppercase(), Code::ALL.iter().map(|code| code.id()));
    let hint = near.map(|code| format!("; did you mean `{code}`?")).unwrap_or_default();
    Failure::Usage(format!(
        "there is no code `{id}`{hint}; `cclc explain` without a code lists all codes"
    ))
}

fn no_page(words: &[String]) -> Failure {
    let words = words.join(" ");
    Failure::Usage(format!(
        "no page has `{words}`; `cclc explain` without a code lists all codes with their titles"
    ))
}
