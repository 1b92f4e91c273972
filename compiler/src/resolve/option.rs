//! Options. In: `name = value`. Out: known options with values of the right kind.
//!
//! Rules (E0211): the option exists, its value has the right kind, a word is one of the option's words; each option is
//! given once (E0203). The rules are the same in a program and on the command line.

use super::body::{Body, Level};
use super::declare::set_twice;
use super::name::meant;
use super::program::{Expr, ExprKind, OptionName, OptionSetting, OptionValue};
use super::transfer::unknown_word;
use super::types::{self, Ty};
use crate::diagnostic::{Code, Diagnostic, Edit, nearest};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, RangeKind};
use crate::syntax::{ast, foreign};
use std::collections::BTreeMap;

/// The kind of value that an option takes.
#[derive(Clone, Copy)]
enum Kind {
    Number,
    Truth,
    Text,
    Words(&'static [&'static str]),
    Bytes,
    Map,
}

/// All options.
const OPTIONS: &[(&str, OptionName, Kind)] = &[
    ("name", OptionName::Name, Kind::Text),
    ("protocol", OptionName::Protocol, Kind::Words(&["Simple", "LL"])),
    ("threads", OptionName::Threads, Kind::Number),
    ("instances", OptionName::Instances, Kind::Number),
    ("replication", OptionName::Replication, Kind::Words(&["interleaved", "none"])),
    ("message_size", OptionName::MessageSize, Kind::Bytes),
    ("alignment", OptionName::Alignment, Kind::Number),
    ("double_scratch", OptionName::DoubleScratch, Kind::Truth),
    ("reuse_resources", OptionName::ReuseResources, Kind::Truth),
    ("tags", OptionName::Tags, Kind::Map),
    ("fuse", OptionName::Fuse, Kind::Truth),
    ("auto_sync", OptionName::AutoSync, Kind::Truth),
    ("split_blocks", OptionName::SplitBlocks, Kind::Truth),
];

/// Resolves the settings of an `options` block; `set` holds those that were given before.
pub(super) fn options(
    body: &mut Body,
    settings: &[ast::OptionSetting],
    set: &mut BTreeMap<String, Span>,
) -> Vec<OptionSetting> {
    body.at_level(Level::Options, |body| {
        let mut resolved = Vec::new();
        for setting in settings {
            let option = body.option(setting);
            match set.get(&setting.name.text) {
                Some(first) => body.report(set_twice(&setting.name, *first)),
                None => {
                    set.insert(setting.name.text.clone(), setting.name.span);
                    resolved.extend(option);
                }
            }
        }
        resolved
    })
}

impl Body<'_> {
    /// One option.
    pub(super) fn option(&mut self, setting: &ast::OptionSetting) -> Option<OptionSetting> {
        let found = OPTIONS.iter().find(|(name, _, _)| *name == setting.name.text);
        let Some((_, name, kind)) = found else {
            self.report(unknown_option(&setting.name));
            self.look(&setting.value);
            return None;
        };
        let value = self.option_value(&setting.name, *kind, &setting.value)?;
        Some(OptionSetting { name: *name, value, span: setting.span })
    }

    fn option_value(
        &mut self,
        name: &ast::Name,
        kind: Kind,
        value: &ast::OptionValue,
    ) -> Option<OptionValue> {
        match (kind, value) {
            (Kind::Map, ast::OptionValue::Map(entries, _)) => self.map(entries),
            (Kind::Bytes, ast::OptionValue::Index(index)) => self.bytes(name, index),
            (Kind::Words(words), ast::OptionValue::Index(ast::Index::At(expr))) => {
                self.word(name, words, expr)
            }
            (Kind::Number, ast::OptionValue::Index(ast::Index::At(expr))) => {
                self.value(name, kind, expr, &Ty::Int)
            }
            (Kind::Truth, ast::OptionValue::Index(ast::Index::At(expr))) => {
                self.value(name, kind, expr, &Ty::Bool)
            }
            // A plan's name can be an identifier; it needs quotes only if it is not one.
            (
                Kind::Text,
                ast::OptionValue::Index(ast::Index::At(ast::Expr {
                    kind: ast::ExprKind::Name(word),
                    ..
                })),
            ) => Some(OptionValue::Word(word.clone())),
            (Kind::Text, ast::OptionValue::Index(ast::Index::At(expr))) => {
                self.value(name, kind, expr, &Ty::Str)
            }
            (
                Kind::Number | Kind::Truth | Kind::Text | Kind::Words(_) | Kind::Bytes | Kind::Map,
                ast::OptionValue::Index(_) | ast::OptionValue::Map(..),
            ) => {
                self.look(value);
                self.report(wrong_kind(name, kind, value_span(value).unwrap_or(name.span)));
                None
            }
        }
    }

    fn value(
        &mut self,
        name: &ast::Name,
        kind: Kind,
        expr: &ast::Expr,
        ty: &Ty,
    ) -> Option<OptionValue> {
        let typed = self.expr(expr, Some(ty));
        if self.types.known(&typed.ty) == Ty::Error {
            return None;
        }
        if !self.types.unify(&typed.ty, ty) {
            let got = types::describe(&self.types.close(&typed.ty));
            let text = self.text(expr.span);
            self.report(wrong_kind(name, kind, expr.span).label(match text.as_str() {
                "this" => format!("this is {got}"),
                _ => format!("{text} is {got}"),
            }));
            return None;
        }
        Some(OptionValue::Value(typed.expr))
    }

    fn word(&mut self, name: &ast::Name, words: &[&str], expr: &ast::Expr) -> Option<OptionValue> {
        if let ast::ExprKind::Str(word) = &expr.kind {
            let near = words.iter().find(|known| known.eq_ignore_ascii_case(word));
            let report = word_in_quotes(name, words, near.copied(), expr.span);
            self.report(not_elsewhere(report, word));
            return None;
        }
        let ast::ExprKind::Name(word) = &expr.kind else {
            let typed = self.expr(expr, None);
            self.reports
                .extend((typed.ty != Ty::Error).then(|| not_a_word(name, words, expr.span)));
            return None;
        };
        if words.contains(&word.as_str()) {
            return Some(OptionValue::Word(word.clone()));
        }
        let near = words.iter().find(|known| known.eq_ignore_ascii_case(word));
        let place = ast::Name { text: word.clone(), span: expr.span };
        self.report(match near {
            Some(near) => misspelt_case(name, &place, near),
            None => not_elsewhere(unknown_word(&name.text, &place, words), word),
        });
        None
    }

    fn bytes(&mut self, name: &ast::Name, index: &ast::Index) -> Option<OptionValue> {
        let (from, to, inclusive) = match index {
            ast::Index::At(expr) => return self.closed_range(name, expr),
            ast::Index::To(expr, inclusive, _) => {
                (None, Some(self.expect(expr, &Ty::Int)), *inclusive)
            }
            ast::Index::From(expr, _) => (Some(self.expect(expr, &Ty::Int)), None, false),
            ast::Index::Whole(_) => (None, None, false),
            ast::Index::All(span) => {
                self.report(wrong_kind(name, Kind::Bytes, *span));
                return None;
            }
        };
        Some(OptionValue::Bytes { from, to, inclusive })
    }

    fn closed_range(&mut self, name: &ast::Name, expr: &ast::Expr) -> Option<OptionValue> {
        let ast::ExprKind::Range(kind, from, to) = &expr.kind else {
            let typed = self.expr(expr, None);
            let report = (typed.ty != Ty::Error).then(|| wrong_kind(name, Kind::Bytes, expr.span));
            self.reports.extend(report);
            return None;
        };
        let (from, to) = (self.expect(from, &Ty::Int), self.expect(to, &Ty::Int));
        let (to, inclusive) = match kind {
            RangeKind::HalfOpen => (to, false),
            RangeKind::Inclusive => (to, true),
            RangeKind::Length => (self.sum(from.clone(), to, expr.span), false),
        };
        Some(OptionValue::Bytes { from: Some(from), to: Some(to), inclusive })
    }

    fn sum(&self, left: Expr, right: Expr, span: Span) -> Expr {
        let kind = ExprKind::Binary(BinaryOp::Add, Box::new(left), Box::new(right));
        self.typed(kind, span, Ty::Int).expr
    }

    fn map(&mut self, entries: &[(ast::Name, ast::Expr)]) -> Option<OptionValue> {
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        let mut resolved = Vec::new();
        for (name, value) in entries {
            if let Some(first) = seen.insert(&name.text, name.span) {
                self.report(set_twice(name, first));
            }
            resolved.push((name.text.clone(), self.expect(value, &Ty::Int)));
        }
        Some(OptionValue::Map(resolved))
    }

    /// Resolves a value that fits no option, since it uses names.
    fn look(&mut self, value: &ast::OptionValue) {
        match value {
            ast::OptionValue::Index(
                ast::Index::At(expr) | ast::Index::To(expr, _, _) | ast::Index::From(expr, _),
            ) => {
                let is_word = matches!(expr.kind, ast::ExprKind::Name(_));
                if !is_word {
                    self.expr(expr, None);
                }
            }
            ast::OptionValue::Index(ast::Index::All(_) | ast::Index::Whole(_)) => {}
            ast::OptionValue::Map(entries, _) => {
                for (_, value) in entries {
                    self.expr(value, None);
                }
            }
        }
    }
}

fn value_span(value: &ast::OptionValue) -> Option<Span> {
    match value {
        ast::OptionValue::Index(index) => match index {
            ast::Index::All(span) | ast::Index::Whole(span) => Some(*span),
            ast::Index::At(expr) => Some(expr.span),
            ast::Index::To(_, _, span) | ast::Index::From(_, span) => Some(*span),
        },
        ast::OptionValue::Map(_, span) => Some(*span),
    }
}

fn unknown_option(name: &ast::Name) -> Diagnostic {
    let message = format!("there is no option `{}`", name.text);
    let report = Diagnostic::new(Code::E0211, name.span, message);
    if let Some(help) = foreign::option_name(&name.text) {
        return report.help(help);
    }
    let near = || nearest(&name.text, OPTIONS.iter().map(|(name, _, _)| *name));
    match foreign::option(&name.text).or_else(near) {
        Some(near) => meant(report, name.span, near),
        None => {
            let all: Vec<&str> = OPTIONS.iter().map(|(name, _, _)| *name).collect();
            report.note(format!("the options are {}", all.join(", ")))
        }
    }
}

fn wrong_kind(name: &ast::Name, kind: Kind, span: Span) -> Diagnostic {
    let takes = match kind {
        Kind::Number => "a number",
        Kind::Truth => "`true` or `false`",
        Kind::Text => "a string in quotes",
        Kind::Words(_) => "a word",
        Kind::Bytes => "a range of bytes, such as `1KiB..=1GiB`",
        Kind::Map => "names with numbers, such as `{ nvls = 1 }`",
    };
    let report = Diagnostic::new(Code::E0211, span, format!("`{}` takes {takes}", name.text));
    match kind {
        Kind::Bytes => {
            report.help("both ends are written, and may be computed: `low..=high`; a single size is `size..=size`")
        }
        Kind::Number | Kind::Truth | Kind::Text | Kind::Words(_) | Kind::Map => report,
    }
}

fn not_a_word(name: &ast::Name, words: &[&str], span: Span) -> Diagnostic {
    let message = format!("`{}` must be one of {}", name.text, words.join(", "));
    Diagnostic::new(Code::E0211, span, message).label("this is not one of these words")
}

pub(super) fn word_in_quotes(
    name: &ast::Name,
    words: &[&str],
    near: Option<&str>,
    span: Span,
) -> Diagnostic {
    let report = not_a_word(name, words, span);
    match near {
        Some(word) => report
            .label("a word, without quotes")
            .fix(format!("write `{word}`"), vec![Edit { span, text: word.to_owned() }]),
        None => report,
    }
}

/// Adds what replaces a word that the option takes in other libraries.
fn not_elsewhere(mut report: Diagnostic, word: &str) -> Diagnostic {
    if let Some(help) = foreign::option_word(word) {
        report.helps = vec![help.to_owned()];
    }
    report
}

fn misspelt_case(setting: &ast::Name, name: &ast::Name, near: &str) -> Diagnostic {
    let message = format!("`{}` cannot be `{}`", setting.text, name.text);
    meant(Diagnostic::new(Code::E0211, name.span, message), name.span, near)
}

#[cfg(test)]
mod tests {
    use super::OPTIONS;
    use crate::syntax::ast::OPTION_NAMES;

    #[test]
    fn the_parser_knows_all_options() {
        let names: Vec<&str> = OPTIONS.iter().map(|(name, _, _)| *name).collect();
        assert_eq!(names, OPTION_NAMES);
    }
}
