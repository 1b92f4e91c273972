//! What a command names: a declaration of the library or of a file, with arguments.
//!
//! `dgx1`, `'ring(ranks=8)'`, `machines.ccl`, `'machines.ccl::pod(boxes=2)'`. A file without a name means its only
//! declaration of the kind that is wanted.

use super::report::Reporter;
use super::settings::is_type;
use super::{Failure, files, import, load};
use compiler::diagnostic::nearest;
use compiler::driver;
use compiler::import::write_topology;
use compiler::resolve::library_text;
use compiler::resolve::program::{Expr, Parameter, Unit};
use compiler::source::{FileId, Span};
use compiler::syntax::ast;
use compiler::{resolve, syntax};
use std::path::{Path, PathBuf};

/// A declaration that is named.
pub(crate) struct Reference {
    /// Where it is declared; in the library if there is no file.
    pub(crate) file: Option<PathBuf>,
    /// Its name, and its arguments.
    pub(crate) call: Option<Call>,
    /// The whole text, as a place for reports.
    pub(crate) span: Span,
    /// What names it: `--topology`.
    flag: String,
}

/// A name with arguments.
pub(crate) struct Call {
    pub(crate) name: String,
    arguments: Vec<ast::Argument>,
}

/// A file with declarations, or a module of the library.
pub(crate) struct Declarations {
    pub(crate) unit: Unit,
    /// The file of the declarations that can be meant.
    pub(crate) file: FileId,
    /// How it is called in messages.
    shown: String,
}

/// What can be named: its kind in words, and where the library has it.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) noun: &'static str,
    pub(crate) module: &'static str,
}

/// A declaration that can be meant.
pub(crate) struct Candidate<'u, I> {
    pub(crate) id: I,
    pub(crate) name: &'u str,
    pub(crate) span: Span,
}

impl Reference {
    /// Takes apart what `flag` was given.
    pub(crate) fn parse(
        reporter: &mut Reporter,
        flag: &str,
        text: &str,
    ) -> Result<Reference, Failure> {
        let (file, call) = split(text);
        let source = reporter.sources.add(format!("<{flag}>"), text);
        let start = (text.len() - call.len()) as u32;
        let span = Span { file: source, start: 0, end: text.len() as u32 };
        let flag = flag.to_owned();
        if call.is_empty() {
            return Ok(Reference { file, call: None, span, flag });
        }
        let inner = reporter.sources.add(format!("<{flag}>"), call);
        let (parsed, reports) = syntax::parse_expression(inner, call);
        let call = match parsed.map(|parsed| parsed.kind) {
            _ if driver::has_errors(&reports) => {
                let drawn = reporter.drawn(&reports);
                return Err(Failure::Usage(format!("`{flag} {text}` cannot be used\n{drawn}")));
            }
            Some(ast::ExprKind::Name(name)) => Call { name, arguments: Vec::new() },
            Some(ast::ExprKind::Call(name, arguments)) => Call { name: name.text, arguments },
            _ => {
                return Err(Failure::Usage(format!(
                    "`{flag} {text}`: expected a name with arguments, such as `ring(ranks=8)`, or a file"
                )));
            }
        };
        let span = Span { start: start.min(span.end), ..span };
        Ok(Reference { file, call: Some(call), span, flag })
    }

    /// Loads the file, or the module of the library; none if that has errors, which were reported.
    pub(crate) fn load(
        &self,
        reporter: &mut Reporter,
        root: Option<&Path>,
        wanted: Wanted,
    ) -> Option<Declarations> {
        let Some(path) = &self.file else {
            let text = library_text(wanted.module).unwrap_or_default();
            let file = reporter.sources.add(wanted.module, text);
            let read = &mut |_: &str| Err(String::new());
            let (unit, _) = driver::load(file, &mut reporter.sources, read);
            return Some(Declarations { unit, file, shown: format!("`{}`", wanted.module) });
        };
        if wanted.module == "std::topologies" && !files::ends_in(path, "ccl") {
            return self.load_foreign(reporter, path);
        }
        let loaded = load::load_file(reporter, root, path)?;
        let shown = format!("`{}`", files::name(path));
        (!loaded.broken).then_some(Declarations { unit: loaded.unit, file: loaded.file, shown })
    }

    /// A machine that another tool describes.
    fn load_foreign(&self, reporter: &mut Reporter, path: &Path) -> Option<Declarations> {
        let name = import::derive_name(path);
        let imported = match import::read_machine(reporter, path, None, &name) {
            Ok(imported) => imported?,
            Err(Failure::Usage(text) | Failure::Files(text)) => {
                super::report::say(&format!("error: {text}"));
                return None;
            }
        };
        imported.notes.iter().for_each(|note| reporter.remark(note));
        let shown = format!("`{}`", files::name(path));
        let file = reporter.sources.add(files::name(path), write_topology(&imported).as_str());
        let read = &mut |_: &str| Err(String::new());
        let (unit, reports) = driver::load(file, &mut reporter.sources, read);
        let broken = reporter.add(reports);
        (!broken).then_some(Declarations { unit, file, shown })
    }

    /// The declaration that is meant among these.
    pub(crate) fn choose<I: Copy>(
        &self,
        declarations: &Declarations,
        candidates: &[Candidate<'_, I>],
        wanted: Wanted,
    ) -> Result<I, Failure> {
        let own = || candidates.iter().filter(|one| one.span.file == declarations.file);
        let names: Vec<&str> = own().map(|one| one.name).collect();
        let (noun, shown) = (wanted.noun, &declarations.shown);
        let listed = match names.as_slice() {
            [] => format!("\n  {shown} declares none"),
            names => format!("\n  {shown} declares: {}", names.join(", ")),
        };
        let Some(call) = &self.call else {
            return match own().collect::<Vec<_>>().as_slice() {
                [only] => Ok(only.id),
                [] => Err(Failure::Usage(format!("{shown} declares no {noun}"))),
                [..] => Err(Failure::Usage(format!(
                    "{shown} declares several: name one, as in `FILE::NAME`{listed}"
                ))),
            };
        };
        let found = own().find(|one| one.name == call.name).map(|one| one.id);
        found.ok_or_else(|| {
            let near = nearest(&call.name, names.iter().copied());
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            Failure::Usage(format!("there is no {noun} `{}`{hint}{listed}", call.name))
        })
    }

    /// The positions and values of the arguments among the parameters.
    pub(crate) fn match_arguments(
        &self,
        reporter: &Reporter,
        parameters: &[Parameter],
    ) -> Result<Vec<(usize, Expr)>, Failure> {
        let Some(call) = &self.call else { return Ok(Vec::new()) };
        let name = &call.name;
        let mut matched: Vec<(usize, Expr)> = Vec::new();
        for (index, argument) in call.arguments.iter().enumerate() {
            let position = match &argument.name {
                Some(name) => parameters.iter().position(|known| known.name == name.text),
                None => (index < parameters.len()).then_some(index),
            };
            let parameter =
                position.and_then(|position| Some((position, parameters.get(position)?)));
            let Some((position, parameter)) = parameter else {
                return Err(Failure::Usage(format!(
                    "`{} {name}(..)`: {}{}",
                    self.flag,
                    match &argument.name {
                        Some(wrong) => format!("it has no parameter `{}`", wrong.text),
                        None => "it does not have so many parameters".to_owned(),
                    },
                    list_parameters(parameters),
                )));
            };
            if matched.iter().any(|(known, _)| *known == position) {
                let twice = &parameter.name;
                return Err(Failure::Usage(format!("`{name}(..)`: `{twice}` is given twice")));
            }
            let (value, reports) = resolve::argument(&argument.value);
            let Some(value) = value else {
                let drawn = reporter.drawn(&reports);
                return Err(Failure::Usage(format!("`{name}(..)` cannot be used\n{drawn}")));
            };
            if !is_type(&value.ty, &parameter.ty) {
                return Err(Failure::Usage(format!(
                    "`{name}(..)`: the parameter `{}` is of type `{}`, the value of type `{}`",
                    parameter.name, parameter.ty, value.ty
                )));
            }
            matched.push((position, value));
        }
        Ok(matched)
    }
}

/// The file, and what is named in it; without a file, all is the name.
fn split(text: &str) -> (Option<PathBuf>, &str) {
    if let Some((file, call)) = text.split_once(".ccl::") {
        return (Some(PathBuf::from(format!("{file}.ccl"))), call);
    }
    let path = Path::new(text);
    if files::ends_in(path, "ccl") || (path.extension().is_some() && path.is_file()) {
        (Some(path.to_owned()), "")
    } else {
        (None, text)
    }
}

fn list_parameters(parameters: &[Parameter]) -> String {
    let each = |parameter: &Parameter| {
        let mark = if parameter.default.is_some() { " = .." } else { "" };
        format!("{}: {}{mark}", parameter.name, parameter.ty)
    };
    match parameters {
        [] => "\n  it has none".to_owned(),
        some => format!("\n  parameters: {}", some.iter().map(each).collect::<Vec<_>>().join(", ")),
    }
}
