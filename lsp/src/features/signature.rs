//! Signature help: the parameters of a call and the argument at the cursor, for functions, procedures, collectives,
//! topologies and builtins.
//!
//! The brackets around the cursor are found among the tokens, so that an unfinished call is enough.
#![expect(clippy::wildcard_enum_match_arm, reason = "only few of the many token kinds matter here")]

use crate::analysis::{Analysis, Part, Semantics};
use crate::declared::{self, Declared};
use crate::features::plain;
use compiler::resolve::import::{Wanted, library};
use compiler::resolve::program::Parameter;
use compiler::source::{FileId, Span};
use compiler::syntax::token::{Kind, Token, tokens};
use lsp_types::{
    Documentation, MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp,
    SignatureInformation,
};

/// Stands for any number of further parameters.
const MORE: &str = "..";

/// The parameters that every collective has in addition.
const COLLECTIVE_MODES: [&str; 2] = ["in_place: bool = false", "op = sum"];

/// The parameters of the builtin functions and methods.
const BUILTIN: &[(&str, &[&str])] = &[
    ("memory", &["peer: rank"]),
    ("port", &["peer: rank"]),
    ("switch", &["ranks: rank[]", "buffer: buffer"]),
    ("rank_at", &["node: int", "local_rank: int"]),
    ("min", &["a: int", "b: int", MORE]),
    ("max", &["a: int", "b: int", MORE]),
    ("abs", &["a: int"]),
    ("begun", &["of: rank"]),
    ("same", &["chunk: output"]),
    ("position", &["value"]),
    ("contains", &["value"]),
    ("step", &["n: int"]),
];

/// The signature of the call around an offset.
#[must_use]
pub fn help(analysis: &Analysis<'_>, offset: u32) -> Option<SignatureHelp> {
    let part = analysis.part_at(offset)?;
    let text = part.declaration.text(analysis.database);
    let cut = tokens(FileId(0), &text).tokens;
    let before = cut.partition_point(|token| token.span.end <= offset - part.start);
    let semantics = analysis.semantics(part);
    let taken = taken(analysis, &semantics, cut.get(..before)?)?;
    let Taken { call, definition, word, parameters, result, unimported } = taken;
    let documentation = definition
        .and_then(|at| declared::documentation(analysis, &semantics, at))
        .or_else(|| unimported.map(|library| library.introduction()))
        .or_else(|| builtin_text(call.name.text));
    let active = call.active(&parameters);
    let label = format!("{word}{}({}){result}", call.name.text, parameters.join(", "));
    let information = |text: String| ParameterInformation {
        label: ParameterLabel::Simple(text),
        documentation: None,
    };
    Some(SignatureHelp {
        signatures: vec![SignatureInformation {
            label,
            documentation: documentation.map(|value| {
                Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })
            }),
            parameters: Some(parameters.into_iter().map(information).collect()),
            active_parameter: Some(active),
        }],
        active_signature: Some(0),
        active_parameter: Some(active),
    })
}

/// The same signature for a client that shows documentation as plain text.
#[must_use]
pub fn unmarked(mut help: SignatureHelp) -> SignatureHelp {
    for signature in &mut help.signatures {
        if let Some(Documentation::MarkupContent(MarkupContent { value, .. })) =
            &signature.documentation
        {
            signature.documentation = Some(Documentation::String(plain::plain(value)));
        }
    }
    help
}

/// The call at the end of some tokens, and what it takes.
struct Taken<'t> {
    call: Call<'t>,
    /// Where the callee is declared; none for builtins.
    definition: Option<Span>,
    word: &'static str,
    parameters: Vec<String>,
    result: String,
    /// Where in the library the callee is, if it is not imported.
    unimported: Option<LibraryName>,
}

/// A name of the library that a file does not import.
struct LibraryName {
    module: &'static str,
    documentation: Option<String>,
}

impl LibraryName {
    fn introduction(self) -> String {
        let import = format!("Not imported yet: it is in `{}`.", self.module);
        match self.documentation {
            Some(text) => format!("{import}\n\n{text}"),
            None => import,
        }
    }
}

fn taken<'t>(
    analysis: &Analysis<'_>,
    semantics: &Semantics<'_>,
    before: &[Token<'t>],
) -> Option<Taken<'t>> {
    let call = call(before)?;
    let unit = &semantics.resolved.unit;
    let written = |span: Span| declared::written(analysis, semantics, span);
    // A call whose arguments end with a comma is not in the tree.
    let definition = declared::definition(semantics, semantics.place(call.name.span))
        .or_else(|| declared::callable(semantics, call.name.text));
    let declared = definition.and_then(|at| declared::declared(unit, at));
    let texts = |list: &[Parameter]| -> Vec<String> {
        list.iter().map(|one| declared::parameter(one, &written)).collect()
    };
    let (word, parameters, result) = match declared {
        Some(Declared::Function(_, list, result)) => ("fn ", texts(list), format!(" -> {result}")),
        Some(Declared::Procedure(_, list)) => ("proc ", texts(list), String::new()),
        Some(Declared::Collective(_, list)) => {
            let mut texts = texts(list);
            texts.extend(COLLECTIVE_MODES.map(str::to_owned));
            ("collective ", texts, String::new())
        }
        Some(Declared::Topology(_, list)) => ("topology ", texts(list), String::new()),
        Some(_) | None => {
            let Some((_, list)) = BUILTIN.iter().find(|(name, _)| *name == call.name.text) else {
                return taken_from_library(analysis, call);
            };
            ("", list.iter().map(|text| (*text).to_owned()).collect(), String::new())
        }
    };
    Some(Taken { call, definition, word, parameters, result, unimported: None })
}

/// What a function, procedure, collective or topology of the library takes that the file does not import.
fn taken_from_library<'t>(analysis: &Analysis<'_>, call: Call<'t>) -> Option<Taken<'t>> {
    let kinds = [
        (Wanted::Function, "fn "),
        (Wanted::Procedure, "proc "),
        (Wanted::Collective, "collective "),
        (Wanted::Topology, "topology "),
    ];
    let (word, module) = kinds.into_iter().find_map(|(wanted, word)| {
        let mut names = library(wanted);
        let found = names.find(|(name, _)| *name == call.name.text);
        found.map(|(_, module)| (word, module))
    })?;
    let heading = declared::heading(analysis.database, module, call.name.text)?;
    let (mut parameters, result) = split_heading(&heading.text)?;
    if word == "collective " {
        parameters.extend(COLLECTIVE_MODES.map(str::to_owned));
    }
    let unimported = Some(LibraryName { module, documentation: heading.documentation });
    Some(Taken { call, definition: None, word, parameters, result, unimported })
}

/// The parameters in the heading of a declaration, and what follows them.
fn split_heading(heading: &str) -> Option<(Vec<String>, String)> {
    let all = tokens(FileId(0), heading).tokens;
    let mut depth = 0_usize;
    let (mut parameters, mut begin) = (Vec::new(), None);
    for token in &all {
        let is_outer = depth == 1;
        depth += usize::from(token.kind.is_opener());
        depth = depth.saturating_sub(usize::from(token.kind.is_closer()));
        let ends = is_outer && (token.kind == Kind::Comma || depth == 0);
        if ends && let Some(start) = begin {
            let text = heading.get(start..token.span.start as usize)?.trim();
            parameters.extend((!text.is_empty()).then(|| text.to_owned()));
        }
        if ends && depth == 0 {
            let rest = heading.get(token.span.end as usize..)?.trim_end();
            return Some((parameters, rest.to_owned()));
        }
        if ends || depth == 1 && begin.is_none() {
            begin = Some(token.span.end as usize);
        }
    }
    None
}

/// The names that the argument that begins after some tokens of a declaration may be given by.
#[must_use]
pub fn names(analysis: &Analysis<'_>, part: Part<'_>, before: &[Token<'_>]) -> Vec<String> {
    let semantics = analysis.semantics(part);
    match taken(analysis, &semantics, before) {
        // Builtins take their arguments by position.
        Some(taken) if !taken.word.is_empty() && !taken.call.inner => {
            let Call { position, given, .. } = &taken.call;
            let by_place = position.saturating_sub(given.len());
            let names = taken.parameters.iter().skip(by_place).map(|text| name_of(text));
            names.filter(|name| !given.contains(name)).map(str::to_owned).collect()
        }
        Some(_) | None => Vec::new(),
    }
}

/// The type of the argument at the end of some tokens of a declaration; none if it is not known.
#[must_use]
pub fn expected(analysis: &Analysis<'_>, part: Part<'_>, before: &[Token<'_>]) -> Option<String> {
    let semantics = analysis.semantics(part);
    let Taken { call, parameters, .. } = taken(analysis, &semantics, before)?;
    let parameter = parameters.get(call.active(&parameters) as usize).filter(|_| !call.inner)?;
    let (_, ty) = parameter.split_once(": ")?;
    Some(ty.split(" =").next()?.to_owned())
}

/// The name of the call that is open at the end of some tokens, and how many of its arguments are finished; none inside
/// brackets within an argument.
pub(super) fn called<'t>(before: &[Token<'t>]) -> Option<(&'t str, usize)> {
    let call = call(before).filter(|call| !call.inner)?;
    Some((call.name.text, call.position))
}

fn name_of(parameter: &str) -> &str {
    parameter.split([':', ' ']).next().unwrap_or(parameter)
}

fn builtin_text(name: &str) -> Option<String> {
    use grammar::Kind as Words;
    let kinds = [Words::Link, Words::Function, Words::Method];
    let mut words = kinds.into_iter().flat_map(grammar::of_kind);
    words.find(|word| word.text == name).map(|word| word.doc.to_owned())
}

/// A call that is open at the cursor.
struct Call<'t> {
    name: Token<'t>,
    /// How many arguments are finished.
    position: usize,
    /// The parameter name given for the current argument.
    named: Option<&'t str>,
    /// The parameter names given for any argument.
    given: Vec<&'t str>,
    /// Whether a bracket inside the current argument is open.
    inner: bool,
}

impl Call<'_> {
    fn active(&self, parameters: &[String]) -> u32 {
        let named =
            self.named.and_then(|name| parameters.iter().position(|text| name_of(text) == name));
        let last = parameters.len().saturating_sub(1);
        let most =
            if parameters.last().is_some_and(|text| text == MORE) { last } else { usize::MAX };
        named.unwrap_or(self.position).min(most) as u32
    }
}

/// The innermost call whose bracket is open at the end of some tokens.
fn call<'t>(before: &[Token<'t>]) -> Option<Call<'t>> {
    let (mut depth, mut position, mut named) = (0_usize, 0, None);
    let (mut given, mut inner) = (Vec::new(), false);
    for (i, token) in before.iter().enumerate().rev() {
        match token.kind {
            Kind::RightParen | Kind::RightBracket | Kind::RightBrace => depth += 1,
            Kind::LeftParen if depth == 0 => {
                let name = i.checked_sub(1).and_then(|i| before.get(i))?;
                let call = Call { name: *name, position, named, given, inner };
                return name.kind.is_name().then_some(call);
            }
            // Inside brackets of an argument.
            Kind::LeftBracket if depth == 0 => inner = true,
            Kind::LeftBrace | Kind::Semicolon if depth == 0 => return None,
            Kind::LeftParen | Kind::LeftBracket | Kind::LeftBrace => {
                depth = depth.saturating_sub(1);
            }
            Kind::Comma if depth == 0 => position += 1,
            Kind::Equal if depth == 0 => {
                let name = i.checked_sub(1).and_then(|i| before.get(i));
                let name = name.filter(|name| name.kind.is_name()).map(|name| name.text);
                given.extend(name);
                if position == 0 {
                    named = name;
                }
            }
            _ => {}
        }
    }
    None
}
