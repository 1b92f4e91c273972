//! Calls: functions, the language's own functions, folds over binders, and methods of lists.
//!
//! Rules: the called name is a function (E0201, E0204); every parameter without a default gets one argument, and none
//! gets two (E0203, E0205); arguments have the types of their parameters (E0204) and are not in the place of another
//! one (W0206); methods exist (E0208).

use super::body::{Body, Typed};
use super::global::Entity;
use super::import::{Wanted, module_with};
use super::name::meant;
use super::program::{Expr, ExprKind, Fold, Intrinsic, Method};
use super::signature::Takes;
use super::types::{self, Ty};
use crate::diagnostic::{Code, Diagnostic, Edit, listed, nearest};
use crate::source::Span;
use crate::syntax::{ast, foreign};

/// The builtin functions.
const FUNCTIONS: &[&str] = &["min", "max", "abs", "rank_at", "sum", "all", "any"];

/// The methods of lists.
const METHODS: &[&str] = &["len", "position", "contains", "step", "rev"];

/// The callee, for reports.
#[derive(Clone, Copy)]
pub(super) struct Callee<'n> {
    /// Its name.
    pub(super) name: &'n str,
    /// Where it is called.
    pub(super) place: Span,
    /// Where it is declared.
    pub(super) definition: Span,
    /// Names that can be given in addition to the parameters.
    pub(super) also: &'static [&'static str],
}

impl Body<'_> {
    /// `f(a, b)`
    pub(super) fn call(
        &mut self,
        name: &ast::Name,
        arguments: &[ast::Argument],
        span: Span,
    ) -> Typed {
        if let Some(named) = self.global(&name.text) {
            self.use_global(&name.text, named, name.span);
            return match named.entity {
                Entity::Function(id) => {
                    let signature = self.signatures.functions[id].clone();
                    self.require(&name.text, signature.needs, name.span);
                    let callee = Callee {
                        name: &name.text,
                        place: name.span,
                        definition: named.definition,
                        also: &[],
                    };
                    let arguments = self.arguments(callee, &signature.parameters, arguments);
                    self.typed(ExprKind::Call(id, arguments), span, signature.result)
                }
                Entity::Lost => self.ignored(arguments, span),
                Entity::Procedure(_) => {
                    self.report(procedure_as_value(name, named.span));
                    self.ignored(arguments, span)
                }
                Entity::Constant(_)
                | Entity::Collective(_)
                | Entity::Topology(_)
                | Entity::Program(_) => {
                    self.report(not_callable(name, Some(named.span)));
                    self.ignored(arguments, span)
                }
            };
        }
        match name.text.as_str() {
            "min" => self.extreme(Intrinsic::Min, name, arguments, span),
            "max" => self.extreme(Intrinsic::Max, name, arguments, span),
            "abs" => {
                let values = self.numbers(name, arguments, 1);
                self.typed(ExprKind::Intrinsic(Intrinsic::Abs, values), span, Ty::Int)
            }
            "rank_at" => self.rank_at(name, arguments, span),
            "begun" => {
                self.report(begun_elsewhere(name));
                self.ignored(arguments, span)
            }
            "same" => {
                self.report(same_elsewhere(name));
                self.ignored(arguments, span)
            }
            "sum" | "all" | "any" | "reduce" => {
                self.report(fold_without_binder(name));
                self.ignored(arguments, span)
            }
            _ => {
                let report = self.unknown_function(name);
                let is_value = report.as_ref().is_some_and(|report| report.code == Code::E0204);
                self.reports.extend(report.map(|report| match arguments {
                    [] if is_value => without_parentheses(report, name.span, span),
                    _ => report,
                }));
                self.ignored(arguments, span)
            }
        }
    }

    /// `sum(p in peers: f(p))`
    pub(super) fn fold(
        &mut self,
        name: &ast::Name,
        binders: &[ast::Binder],
        value: &ast::Expr,
        span: Span,
    ) -> Typed {
        let (fold, ty) = match name.text.as_str() {
            "sum" => (Some(Fold::Sum), Ty::Int),
            "min" => (Some(Fold::Min), Ty::Int),
            "max" => (Some(Fold::Max), Ty::Int),
            "all" => (Some(Fold::All), Ty::Bool),
            "any" => (Some(Fold::Any), Ty::Bool),
            _ => (None, Ty::Error),
        };
        if fold.is_none() {
            self.report(unknown_fold(name));
        }
        self.scoped(|body| {
            let binders = binders.iter().map(|binder| body.binder(binder)).collect();
            let value = body.expect(value, &ty);
            match fold {
                Some(fold) => body.typed(ExprKind::Fold(fold, binders, Box::new(value)), span, ty),
                None => body.error(span),
            }
        })
    }

    /// Resolves arguments for parameters: returns each parameter's position and its value.
    pub(super) fn arguments(
        &mut self,
        callee: Callee,
        parameters: &[Takes],
        arguments: &[ast::Argument],
    ) -> Vec<(usize, Expr)> {
        let mut given: Vec<Option<Span>> = vec![None; parameters.len()];
        let mut resolved = Vec::new();
        let mut surplus = None;
        let mut next = 0;
        for argument in arguments {
            let position = match &argument.name {
                Some(name) => parameters.iter().position(|takes| takes.name == name.text),
                None => {
                    next += 1;
                    Some(next - 1)
                }
            };
            let slot = position.and_then(|position| given.get_mut(position));
            let parameter = position.and_then(|position| parameters.get(position));
            let (Some(position), Some(slot), Some(takes)) = (position, slot, parameter) else {
                match &argument.name {
                    Some(name) => {
                        let report = self.no_parameter(callee, name, parameters);
                        self.report(report);
                    }
                    None => surplus = surplus.or(Some(argument.value.span)),
                }
                self.expr(&argument.value, None);
                continue;
            };
            let place = argument.name.as_ref().map_or(argument.value.span, |name| name.span);
            if argument.name.is_some() {
                self.uses.add(place, takes.span);
            }
            if let Some(first) = slot.replace(place) {
                self.report(given_twice(&takes.name, place, first));
            }
            let because = (takes.span, "for this parameter");
            resolved.push((position, self.expect_for(&argument.value, &takes.ty, Some(because))));
        }
        let missing: Vec<&str> = parameters
            .iter()
            .zip(&given)
            .filter(|(takes, given)| given.is_none() && !takes.optional)
            .map(|(takes, _)| takes.name.as_str())
            .collect();
        self.astray(parameters, arguments, &given);
        if let Some(place) = surplus {
            self.report(too_many(callee, place, parameters.len(), arguments.len()));
        } else if !missing.is_empty() && has_known_names(arguments, parameters) {
            self.report(too_few(callee, &missing));
        }
        resolved
    }

    /// W0206: in `broadcast(ranks, root)`, the second parameter is not `root`, but another parameter is called so and
    /// gets no argument.
    fn astray(
        &mut self,
        parameters: &[Takes],
        arguments: &[ast::Argument],
        given: &[Option<Span>],
    ) {
        if self.allowed.words.iter().any(|word| word == Code::W0206.id()) {
            return;
        }
        let in_order = arguments.iter().filter(|argument| argument.name.is_none());
        let found = in_order.zip(parameters).filter_map(|(argument, takes)| {
            let ast::ExprKind::Name(name) = &argument.value.kind else { return None };
            let is_namesake =
                |(takes, given): (&Takes, &Option<Span>)| takes.name == *name && given.is_none();
            parameters
                .iter()
                .zip(given)
                .any(is_namesake)
                .then(|| given_astray(argument, name, takes))
        });
        self.reports.extend(found);
    }

    /// `list.step(2)`
    pub(super) fn method(
        &mut self,
        base: &ast::Expr,
        method: &ast::Name,
        arguments: &[ast::Argument],
        span: Span,
    ) -> Typed {
        let list = self.expr(base, None);
        if self.types.known(&list.ty) == Ty::Error {
            return self.ignored(arguments, span);
        }
        let found = match method.text.as_str() {
            "len" => Method::Len,
            "position" => Method::Position,
            "contains" => Method::Contains,
            "step" => Method::Step,
            "rev" => Method::Rev,
            _ => {
                let report = self.unknown_method(&list, method);
                self.report(report);
                return self.ignored(arguments, span);
            }
        };
        let is_list = matches!(self.types.known(&list.ty), Ty::List(_) | Ty::Var(_));
        if !is_list {
            let report = self.method_of_no_list(&list, method);
            self.report(report);
            return self.ignored(arguments, span);
        }
        let member = self.member(&list, base);
        let (takes, ty) = match found {
            Method::Len => (None, Ty::Int),
            Method::Position => (Some(member), Ty::Int),
            Method::Contains => (Some(member), Ty::Bool),
            Method::Step => (Some(Ty::Int), list.ty.clone()),
            Method::Rev => (None, list.ty.clone()),
        };
        let values = self.method_arguments(method, takes.as_ref(), arguments);
        self.typed(ExprKind::Method(found, Box::new(list.expr), values), span, ty)
    }

    fn method_arguments(
        &mut self,
        method: &ast::Name,
        takes: Option<&Ty>,
        arguments: &[ast::Argument],
    ) -> Vec<Expr> {
        let expected = usize::from(takes.is_some());
        if arguments.len() != expected {
            self.report(method_arity(method, expected, arguments.len()));
        }
        let takes = takes.cloned().unwrap_or(Ty::Error);
        arguments.iter().map(|argument| self.plain(argument, &takes)).collect()
    }

    /// An argument of a builtin or a method, which takes no named arguments.
    fn plain(&mut self, argument: &ast::Argument, want: &Ty) -> Expr {
        if let Some(name) = &argument.name {
            self.report(named_argument(name, argument.value.span));
        }
        self.expect(&argument.value, want)
    }

    /// Resolves the arguments of a call that makes no sense, since they use names. Mistakes in them are not reported:
    /// in `list.filter(p != 0)`, there is no `p` because there is no `filter`.
    fn ignored(&mut self, arguments: &[ast::Argument], span: Span) -> Typed {
        let told = self.reports.len();
        for argument in arguments {
            self.expr(&argument.value, None);
        }
        self.reports.truncate(told);
        self.error(span)
    }

    fn extreme(
        &mut self,
        which: Intrinsic,
        name: &ast::Name,
        arguments: &[ast::Argument],
        span: Span,
    ) -> Typed {
        if arguments.is_empty() {
            self.report(intrinsic_arity(name, "at least one number", 0));
        }
        let values = match arguments {
            [only] => {
                let typed = self.expr(&only.value, None);
                let numbers = Ty::Int.list();
                let is_list = matches!(self.types.known(&typed.ty), Ty::List(_));
                let want = if is_list { &numbers } else { &Ty::Int };
                if !self.types.unify(&typed.ty, want) {
                    let report = self.mismatch(&typed, want);
                    self.report(report);
                }
                vec![typed.expr]
            }
            _ => arguments.iter().map(|argument| self.plain(argument, &Ty::Int)).collect(),
        };
        self.typed(ExprKind::Intrinsic(which, values), span, Ty::Int)
    }

    fn numbers(
        &mut self,
        name: &ast::Name,
        arguments: &[ast::Argument],
        count: usize,
    ) -> Vec<Expr> {
        if arguments.len() != count {
            let takes =
                if count == 1 { "one number".to_owned() } else { format!("{count} numbers") };
            self.report(intrinsic_arity(name, &takes, arguments.len()));
        }
        arguments.iter().map(|argument| self.plain(argument, &Ty::Int)).collect()
    }

    fn rank_at(&mut self, name: &ast::Name, arguments: &[ast::Argument], span: Span) -> Typed {
        if !self.nodes {
            self.without_nodes(&name.text, name.span);
            return self.ignored(arguments, span);
        }
        let needs = super::signature::Needs { rank: false, ranks: true };
        self.require(&name.text, needs, name.span);
        let mut values = self.numbers(name, arguments, 2).into_iter();
        match (values.next(), values.next()) {
            (Some(node), Some(local)) => {
                self.typed(ExprKind::RankAt(Box::new(node), Box::new(local)), span, Ty::Rank)
            }
            _ => self.error(span),
        }
    }

    fn unknown_function(&mut self, name: &ast::Name) -> Option<Diagnostic> {
        if self.is_lost(&name.text) {
            return None;
        }
        if let Some(local) = self.local(&name.text) {
            self.locals[local].used = true;
            return Some(not_callable(name, Some(self.locals[local].span)));
        }
        if let (Some(family), Some(families)) = (self.family(&name.text), &self.families) {
            return Some(not_callable(name, Some(families.get(family).span)));
        }
        if matches!(name.text.as_str(), "memory" | "port" | "switch") {
            return Some(channel_as_value(name));
        }
        if super::body::builtin(&name.text).is_some() || self.buffer(&name.text).is_some() {
            return Some(not_callable(name, None));
        }
        if self.is_known_as_unknown(&name.text, name.span) {
            return None;
        }
        let message = format!("no function is called `{}`", name.text);
        let report = Diagnostic::new(Code::E0201, name.span, message);
        let declared =
            self.globals.names.lookup(self.module).into_iter().flat_map(|names| &names.values);
        let functions = declared
            .filter(|(_, named)| matches!(named.entity, Entity::Function(_)))
            .map(|(name, _)| name.as_str())
            .chain(FUNCTIONS.iter().copied());
        let near = self.globals.nearest(&name.text, functions);
        match foreign::function(&name.text) {
            Some(help) => Some(report.help(help)),
            None => Some(self.suggest_called(report, (name, Wanted::Function), near)),
        }
    }

    fn unknown_method(&self, base: &Typed, method: &ast::Name) -> Diagnostic {
        let ty = types::describe(&self.types.close(&base.ty));
        let message = format!("{ty} has no method `{}`", method.text);
        let report = Diagnostic::new(Code::E0208, method.span, message);
        match nearest(&method.text, METHODS.iter().copied()) {
            Some(near) => meant(report, method.span, near),
            None if super::body::builtin(&method.text).is_some() => {
                report.help(format!("without parentheses: `.{}`", method.text))
            }
            None if self.is_function(&method.text) => {
                report.help(format!("it is a function: `{}(n)`", method.text))
            }
            None => match foreign::method(&method.text) {
                Some(help) => report.help(help),
                None => report.note("lists have `len`, `position`, `contains`, `step` and `rev`"),
            },
        }
    }

    /// Whether a function has this name, of this file or of the library.
    fn is_function(&self, name: &str) -> bool {
        let global = self.global(name).map(|named| named.entity);
        matches!(global, Some(Entity::Function(_)))
            || module_with(name, &[Wanted::Function]).is_some()
    }

    fn method_of_no_list(&self, base: &Typed, method: &ast::Name) -> Diagnostic {
        let ty = types::describe(&self.types.close(&base.ty));
        let message = format!(
            "{} is {ty}; `{}` is a method of lists",
            self.text(base.expr.span),
            method.text
        );
        Diagnostic::new(Code::E0208, method.span, message)
    }

    fn no_parameter(&self, callee: Callee, name: &ast::Name, parameters: &[Takes]) -> Diagnostic {
        let message = format!("`{}` has no parameter `{}`", callee.name, name.text);
        let report = Diagnostic::new(Code::E0205, name.span, message)
            .and(callee.definition, format!("`{}` is declared here", callee.name));
        let names = parameters.iter().map(|takes| takes.name.as_str());
        match self.globals.nearest(&name.text, names.chain(callee.also.iter().copied())) {
            Some(near) => meant(report, name.span, &near),
            None => {
                let names = parameters.iter().map(|takes| takes.name.as_str());
                let names: Vec<&str> = names.chain(callee.also.iter().copied()).collect();
                match names.as_slice() {
                    [] => report.note("it takes no arguments"),
                    names => report.note(format!("its parameters are {}", listed(names))),
                }
            }
        }
    }
}

fn procedure_as_value(name: &ast::Name, definition: Span) -> Diagnostic {
    let message = format!("`{}` is a procedure; it has no value", name.text);
    Diagnostic::new(Code::E0204, name.span, message)
        .and(definition, "declared here")
        .help(format!("call it as a statement: `{}(..);`", name.text))
}

fn not_callable(name: &ast::Name, definition: Option<Span>) -> Diagnostic {
    let message = format!("`{}` is not a function", name.text);
    let report = Diagnostic::new(Code::E0204, name.span, message);
    match definition {
        Some(definition) => report.and(definition, "declared here"),
        None => report,
    }
}

/// Adds to a report about a value that is called without arguments how to use it.
fn without_parentheses(report: Diagnostic, name: Span, call: Span) -> Diagnostic {
    let parentheses = Span { start: name.end, ..call };
    report.fix("remove `()`", vec![Edit { span: parentheses, text: String::new() }])
}

fn fold_without_binder(name: &ast::Name) -> Diagnostic {
    if name.text == "reduce" {
        return Diagnostic::new(
            Code::E0204,
            name.span,
            "`reduce(..)` can only be used in an `ensures`",
        )
        .help("write it over ranks: `output[c] == reduce(r in 0..ranks: r.input[c])`");
    }
    let message = format!("`{}` runs over a list", name.text);
    Diagnostic::new(Code::E0205, name.span, message)
        .help(format!("write `{}(x in list: x)`", name.text))
}

fn unknown_fold(name: &ast::Name) -> Diagnostic {
    if name.text == "reduce" {
        return fold_without_binder(name);
    }
    let message = format!("`{}` does not run over a list", name.text);
    let report = Diagnostic::new(Code::E0201, name.span, message);
    let folds = ["sum", "min", "max", "all", "any"];
    match nearest(&name.text, folds) {
        Some(near) => meant(report, name.span, near),
        None => report.note("`sum`, `min`, `max`, `all` and `any` do"),
    }
}

fn channel_as_value(name: &ast::Name) -> Diagnostic {
    let message = format!("`{}(..)` can only make a channel in a declaration", name.text);
    Diagnostic::new(Code::E0204, name.span, message)
        .help(format!("declare it: `channel name = {}(..);`", name.text))
}

fn begun_elsewhere(name: &ast::Name) -> Diagnostic {
    Diagnostic::new(Code::E0214, name.span, "`begun` is a promise of a collective, about one rank")
        .help("write it as `ensures for r in 0..ranks { begun(r) }`")
}

fn same_elsewhere(name: &ast::Name) -> Diagnostic {
    Diagnostic::new(Code::E0214, name.span, "`same` is a promise of a collective, about one chunk")
        .help("write it as `ensures { same(output[..]) }`")
}

/// Something that is given twice.
pub(super) fn given_twice(name: &str, second: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::E0203, second, format!("`{name}` is given twice"))
        .label("given again here")
        .and(first, "first given here")
}

fn given_astray(argument: &ast::Argument, name: &str, takes: &Takes) -> Diagnostic {
    let place = argument.value.span;
    let message = format!("`{name}` is given for the parameter `{}`", takes.name);
    let before = Edit { span: Span { end: place.start, ..place }, text: format!("{name} = ") };
    Diagnostic::new(Code::W0206, place, message)
        .and(takes.span, "for this parameter")
        .guess(format!("for the parameter `{name}`, write `{name} = {name}`"), vec![before])
}

/// Whether every named argument names a parameter. If one does not, it has been reported, and a missing parameter
/// is probably the one that it meant.
fn has_known_names(arguments: &[ast::Argument], parameters: &[Takes]) -> bool {
    arguments
        .iter()
        .filter_map(|argument| argument.name.as_ref())
        .all(|name| parameters.iter().any(|takes| takes.name == name.text))
}

fn too_many(callee: Callee, place: Span, takes: usize, given: usize) -> Diagnostic {
    let message = format!(
        "`{}` takes {}; {given} are given",
        callee.name,
        counted(takes, "argument", "arguments")
    );
    Diagnostic::new(Code::E0205, place, message)
        .label("no parameter is left for this")
        .and(callee.definition, format!("`{}` is declared here", callee.name))
}

fn too_few(callee: Callee, missing: &[&str]) -> Diagnostic {
    let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
    let message = format!("`{}` needs an argument for {}", callee.name, names.join(" and "));
    Diagnostic::new(Code::E0205, callee.place, message)
        .and(callee.definition, format!("`{}` is declared here", callee.name))
}

fn method_arity(method: &ast::Name, takes: usize, given: usize) -> Diagnostic {
    let takes = if takes == 0 { "nothing".to_owned() } else { "one argument".to_owned() };
    let message = format!("`{}` takes {takes}; {} given", method.text, counted_is(given));
    Diagnostic::new(Code::E0205, method.span, message)
}

fn intrinsic_arity(name: &ast::Name, takes: &str, given: usize) -> Diagnostic {
    let message = format!("`{}` takes {takes}; {} given", name.text, counted_is(given));
    Diagnostic::new(Code::E0205, name.span, message)
}

/// An argument with a name, where only its place says which one it is.
pub(super) fn named_argument(name: &ast::Name, value: Span) -> Diagnostic {
    let edit = Edit { span: Span { end: value.start, ..name.span }, text: String::new() };
    Diagnostic::new(Code::E0205, name.span, "arguments of functions of the language have no names")
        .fix(format!("remove `{} =`", name.text), vec![edit])
}

/// `1 index`, `2 indices`
pub(super) fn counted(count: usize, one: &str, several: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {several}") }
}

fn counted_is(count: usize) -> String {
    if count == 1 { "1 is".to_owned() } else { format!("{count} are") }
}
