//! `cclc explain`: the page of a code, or the list of all codes.

use super::args::Explain;
use super::{Failure, Status, output};
use compiler::diagnostic::{Code, nearest};

/// Prints a page, or the list.
pub(crate) fn run(explain: &Explain) -> Result<Status, Failure> {
    let text = match &explain.code {
        None => Code::ALL.iter().map(|code| format!("{}  {}\n", code.id(), code.title())).collect(),
        Some(id) => Code::parse(id).ok_or_else(|| unknown(id))?.explain().to_owned(),
    };
    output::to_stdout(text.as_bytes())?;
    Ok(Status::Clean)
}

fn unknown(id: &str) -> Failure {
    let near = nearest(&id.to_ascii_uppercase(), Code::ALL.iter().map(|code| code.id()));
    let hint = near.map(|code| format!("; did you mean `{code}`?")).unwrap_or_default();
    Failure::Usage(format!(
        "there is no code `{id}`{hint}; `cclc explain` without a code lists all codes"
    ))
}
