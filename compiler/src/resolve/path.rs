//! Which paths an import may have. In: the text between the quotes of a `use`, or a file's name. Out: nothing, or the
//! report why it is refused (E0207).
//!
//! Rules: the path is relative, is written with `/`, has no control characters, ends with `.ccl`, and no part of it is
//! hidden. Files of other kinds are no business of a program: reports show lines of what was imported, and the logs in
//! which they end have more readers than `.env` and `.git/config` should have.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{escape_name, refused_character};
use crate::syntax::ast;

/// What the name of every imported file ends with.
pub const EXTENSION: &str = ".ccl";

/// Whether a file that has this name, without its folder, may be imported: it ends with `.ccl`, and is not hidden.
#[must_use]
pub fn is_importable(name: &str) -> bool {
    name.ends_with(EXTENSION) && !name.starts_with('.')
}

/// Refuses what is no ordinary file: a pipe or a device might never end.
///
/// # Errors
/// What it is instead.
pub fn refuse_special(is_ordinary: bool, is_folder: bool) -> Result<(), String> {
    if is_ordinary {
        Ok(())
    } else if is_folder {
        Err("it is a folder".to_owned())
    } else {
        Err("it is not an ordinary file".to_owned())
    }
}

/// Refuses a path that no import may have, whatever files there are.
pub(super) fn check(path: &ast::Str) -> Result<(), Box<Diagnostic>> {
    let text = path.text.as_str();
    let is_hidden = |part: &&str| part.starts_with('.') && !matches!(*part, "." | "..");
    let is_bad = text.is_empty() || text.starts_with('/') || text.contains(['\\', ':']);
    // The text of a string with control characters is reported already (E0110).
    if is_bad || refused_character(text).is_some() {
        Err(Box::new(bad_path(path)))
    } else if let Some(part) = text.split('/').find(is_hidden) {
        Err(Box::new(hidden(path, part)))
    } else if !text.ends_with(EXTENSION) {
        Err(Box::new(other_kind(path)))
    } else {
        Ok(())
    }
}

fn bad_path(path: &ast::Str) -> Diagnostic {
    Diagnostic::new(Code::E0207, path.span, "an import is a path relative to this file")
        .help("write it with `/`, without a drive or a leading `/`: `\"../common.ccl\"`")
}

fn hidden(path: &ast::Str, part: &str) -> Diagnostic {
    let message = format!("hidden files and folders, such as `{part}`, cannot be imported");
    Diagnostic::new(Code::E0207, path.span, message)
        .help("move the file to where its path has no part that begins with a dot")
}

fn other_kind(path: &ast::Str) -> Diagnostic {
    let message = format!("`{}` is no `.ccl` file by its name", escape_name(&path.text));
    Diagnostic::new(Code::E0207, path.span, message)
        .help("an import ends with `.ccl`; rename the file if it is one")
}
