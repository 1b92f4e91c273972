//! Reports about indices and fields that do not exist.

use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::resolve::body::{BUILTINS, Body, Level, Typed};
use crate::resolve::call::counted;
use crate::resolve::family::Family;
use crate::resolve::name::meant;
use crate::resolve::program::{BufferName, Expr, ExprKind, Type};
use crate::resolve::types::{self, Ty};
use crate::source::Span;
use crate::syntax::{ast, foreign};
use grammar::verb::{ChannelKind, OperandSide};

impl Body<'_> {
    /// Indices in a second pair of brackets, after the ones that end at `first`.
    pub(super) fn indices_apart(&self, name: &str, first: Span) -> Diagnostic {
        let behind = self.file().and_then(|file| file.text.get(first.end as usize..));
        let gap = behind.and_then(|text| text.split_once('[')).map(|(gap, _)| gap);
        let message = format!("the indices of `{name}` belong in one pair of brackets");
        // A comment in between must not be lost.
        let Some(gap) = gap.filter(|gap| gap.trim().is_empty()) else {
            return Diagnostic::new(Code::E0205, first, message);
        };
        let between = Span { start: first.end - 1, end: first.end + gap.len() as u32 + 1, ..first };
        let edits = vec![Edit { span: between, text: ", ".to_owned() }];
        Diagnostic::new(Code::E0205, between, message).fix("write `, `", edits)
    }

    /// A field that nothing has; none if the name's declaration was not understood.
    pub(super) fn unknown_field(&mut self, base: &Typed, field: &ast::Name) -> Option<Diagnostic> {
        let name = field.text.as_str();
        if self.is_lost(name) {
            return None;
        }
        let is_channel = self.types.known(&base.ty) == Ty::Channel;
        let noun = if is_channel { "a switch channel" } else { "a rank" };
        if let Some(what) = self.something_else(name) {
            let message = format!("{noun} has no `{name}`: that is {what} of this rank");
            return Some(Diagnostic::new(Code::E0208, field.span, message).help(
                "only whole buffers can be named this way: `input`, `output`, a scratch region",
            ));
        }
        let message = format!("{noun} has no `{name}`");
        let report = Diagnostic::new(Code::E0208, field.span, message);
        if self.level == Level::Function && matches!(name, "input" | "output") {
            return Some(self.not_given(base, field));
        }
        let mut known: Vec<&str> = Vec::new();
        if noun == "a rank" {
            known.extend(BUILTINS.iter().map(|(name, _)| *name));
        }
        let families = self.families.iter().flat_map(|families| &families.names);
        known.extend(
            families
                .filter(|(_, f)| matches!(f, Family::Scratch(_)))
                .map(|(name, _)| name.as_str()),
        );
        if self.buffer("input").is_some() {
            known.extend(["input", "output"]);
        }
        let Some(near) = self.globals.nearest(name, known) else {
            let given = self.level == Level::Function && !is_channel;
            return Some(if given { self.not_given(base, field) } else { report });
        };
        let families = self.families.as_mut();
        if let Some(families) = families
            && let Some(family) = families.names.get(&near).copied()
        {
            families.get_mut(family).used = true;
        }
        Some(meant(report, field.span, &near))
    }

    /// A buffer of another rank, in a function or procedure that takes no buffer of that name.
    fn not_given(&self, base: &Typed, field: &ast::Name) -> Diagnostic {
        let whole = self.with_parentheses(base.expr.span.to(field.span));
        let (name, whole) = (&field.text, self.text(whole));
        let message = format!("no buffer is called `{name}` here");
        let report = Diagnostic::new(Code::E0208, field.span, message).note(
            "functions and procedures see only their parameters and the declarations of the file",
        );
        match whole.as_str() {
            "this" => report.help(format!("take it as a parameter: `{name}: buffer`")),
            whole => report.help(format!(
                "take it as a parameter, `{name}: buffer`: then {whole} is that of {}",
                self.text(base.expr.span)
            )),
        }
    }

    /// A description of a name that cannot be a field; none if it is a region.
    fn something_else(&mut self, name: &str) -> Option<String> {
        if let Some(local) = self.local(name) {
            self.locals[local].used = true;
            return Some(types::describe(&self.types.close(&self.locals[local].ty)));
        }
        match self.family(name)? {
            Family::Scratch(_) => None,
            Family::Channel(_) => Some("a channel".to_owned()),
            Family::Semaphore(_) => Some("a semaphore".to_owned()),
            Family::Block(_) => Some("a block".to_owned()),
        }
    }

    /// A field of a value that has no fields.
    pub(super) fn no_field(&self, base: &Typed, field: &ast::Name) -> Diagnostic {
        let ty = self.types.close(&base.ty);
        let what = types::describe(&ty);
        let message =
            format!("{} is {what}, which has no `{}`", self.text(base.expr.span), field.text);
        let report = Diagnostic::new(Code::E0208, field.span, message);
        let is_list = matches!(ty, Type::List(_));
        if is_list && matches!(field.text.as_str(), "len" | "rev") {
            return report.help(format!("it is a method: `.{}()`", field.text));
        }
        if let Some(help) = foreign::method(&field.text).filter(|_| is_list) {
            return report.help(help);
        }
        if matches!(&ty, Type::List(member) if matches!(**member, Type::Int | Type::Rank)) {
            let (list, field) = (self.text(base.expr.span), &field.text);
            let list = list.strip_prefix('`').map_or("list", |list| list.trim_end_matches('`'));
            return report.help(format!("for each of them, write `(p in {list}: p.{field})`"));
        }
        match self.nature(&base.expr).side {
            Some(OperandSide::Local) if field.text == "input" || field.text == "output" => {
                report.help("write the rank in front: `p.output[i]`")
            }
            _ => report,
        }
    }

    /// A field of a channel that is not a switch channel.
    pub(super) fn no_switch(
        &self,
        base: &Typed,
        kind: ChannelKind,
        field: &ast::Name,
    ) -> Diagnostic {
        let text = self.text(base.expr.span);
        let message = format!("{text} is {}; it has no `{}`", kind.noun(), field.text);
        Diagnostic::new(Code::E0208, field.span, message)
            .note("only a switch channel has the buffer of a group behind it")
            .help(format!(
                "a peer's buffer is named by its rank: `p.{}[..] via {}`",
                field.text,
                text.trim_matches('`')
            ))
    }

    /// A buffer other than the one behind the switch channel.
    pub(super) fn other_buffer(
        &self,
        base: &Expr,
        buffer: &Expr,
        field: &ast::Name,
    ) -> Option<Diagnostic> {
        let ExprKind::Channels(id, _) = &base.kind else { return None };
        let declaration = self.families.as_ref()?.channels.lookup(*id)?;
        let (behind, named) = (declaration.behind?, self.nature(buffer).buffer?);
        if behind == named {
            return None;
        }
        let message = format!("`{}` does not lead to `{}`", declaration.name, field.text);
        let report = Diagnostic::new(Code::E0208, field.span, message)
            .and(declaration.span, "it was declared over another buffer");
        Some(report.help(format!("declare a channel over it: `switch(0..ranks, {})`", field.text)))
    }

    /// An index of a value that cannot be indexed.
    pub(super) fn not_indexable(&self, base: &Typed) -> Diagnostic {
        let ty = self.types.close(&base.ty);
        let text = self.text(base.expr.span);
        let message = format!("{text} is {}; it cannot be indexed", types::describe(&ty));
        let report = Diagnostic::new(Code::E0204, base.expr.span, message);
        if !matches!(ty, Type::Chunk) {
            return report;
        }
        match self.nature(&base.expr).buffer {
            Some(BufferName::Scratch(_)) => report
                .help("to have several chunks for each index, declare it with one more dimension"),
            Some(BufferName::Input | BufferName::Output) | None => {
                report.help("index the buffer itself, adding the first chunk")
            }
        }
    }

    /// A list with more or fewer than one index.
    pub(super) fn list_indices(
        &self,
        list: &Typed,
        indices: &[ast::Index],
        span: Span,
    ) -> Diagnostic {
        let text = self.text(list.expr.span);
        let message = format!("{text} is a list and takes 1 index; {} are given", indices.len());
        Diagnostic::new(Code::E0205, span, message)
            .help("a list in a list is indexed twice: `table[i][j]`")
    }
}

/// A family or region with another number of indices than it was declared with.
pub(in crate::resolve) fn wrong_arity(
    name: &str,
    takes: usize,
    given: usize,
    span: Span,
    declaration: Span,
) -> Diagnostic {
    let message = if takes == 0 {
        format!("`{name}` is not a family and takes no index")
    } else {
        let is = if given == 1 { "is" } else { "are" };
        format!("`{name}` takes {}; {given} {is} given", counted(takes, "index", "indices"))
    };
    Diagnostic::new(Code::E0205, span, message).and(declaration, "declared here")
}

/// For fewer `*` than a family has dimensions: its title and the edit that adds the others.
pub(super) fn all_members(
    name: &str,
    takes: usize,
    indices: &[ast::Index],
) -> Option<(String, Edit)> {
    let spans = indices.iter().map(|index| match index {
        ast::Index::All(span) => Some(*span),
        ast::Index::At(_) | ast::Index::Whole(_) | ast::Index::To(..) | ast::Index::From(..) => {
            None
        }
    });
    let last = *spans.collect::<Option<Vec<Span>>>()?.last()?;
    let more = takes.checked_sub(indices.len())?;
    let all = vec!["*"; takes].join(", ");
    let edit = Edit { span: Span { start: last.end, ..last }, text: ", *".repeat(more) };
    Some((format!("for all members, write `{name}[{all}]`"), edit))
}

/// `input` or `output` with more or fewer than one index.
pub(super) fn one_dimension(name: &str, given: usize, span: Span) -> Diagnostic {
    let message = format!("`{name}` takes 1 index; {given} are given");
    Diagnostic::new(Code::E0205, span, message)
        .note("`input` and `output` are rows of chunks; only scratch has more dimensions")
}

/// `..` where all members are meant.
pub(super) fn extent_of_family(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0204, span, "`..` is the whole extent of a buffer")
        .help("for each member of a family, write `*`")
}

/// The same in a list.
pub(super) fn extent_of_list(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0204, span, "`..` is the whole extent of a buffer")
        .help("for each member of a list, write `*`")
}
