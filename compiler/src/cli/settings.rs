//! `-D` and `-O`: values for parameters and options, parsed before any program is loaded, and matched with each.
//!
//! A value that does not parse, an unknown or repeated name and a wrong type are usage
//! errors, whose text lists what could be given.

use super::Failure;
use super::args::{Checks, Elaboration};
use super::machine::find_machine;
use super::report::{Reporter, Shown};
use compiler::diagnostic::{Diagnostic, nearest};
use compiler::elaborate::Settings;
use compiler::machine::Machine;
use compiler::resolve;
use compiler::resolve::program::{
    Expr, ExprKind, OptionName, OptionSetting, Parameter, Program, Type,
};
use compiler::source::SourceMap;
use compiler::syntax;
use compiler::syntax::ast;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most values that one `-D` may give.
const MAX_VALUES: i64 = 100_000;

/// Up to how many programs every parameter is listed with its type.
const FULLY_LISTED: usize = 3;

/// A `-D`.
pub(crate) struct Definition {
    /// The parameter.
    pub(crate) name: String,
    whole: Expr,
    /// The members of the value, if it is a list or a range; or why a range has none, which matters only if the parameter
    /// is not a list.
    members: Result<Vec<Value>, Failure>,
    /// If it is several values with ranges among them: these, and the numbers in the ranges.
    numbers: Vec<Value>,
}

/// One value of a parameter.
#[derive(Clone)]
pub(crate) struct Value {
    /// The value as it is shown.
    pub(crate) text: String,
    /// The value as elaboration takes it.
    pub(crate) value: Expr,
}

/// All `-D` and `-O` arguments.
pub(crate) struct Given {
    /// In the order given.
    pub(crate) definitions: Vec<Definition>,
    options: Vec<OptionSetting>,
    machine: Option<Arc<Machine>>,
}

/// Reads the arguments.
pub(crate) fn given(reporter: &mut Reporter, elaboration: &Elaboration) -> Result<Given, Failure> {
    let definitions = definitions(reporter, &elaboration.define)?;
    let options = options(reporter, elaboration)?;
    let machine = find_machine(reporter, &elaboration.machine, elaboration.root.as_deref())?;
    Ok(Given { definitions, options, machine })
}

fn definitions(reporter: &mut Reporter, given: &[String]) -> Result<Vec<Definition>, Failure> {
    let mut definitions = Vec::new();
    for text in given {
        let (name, value) = halves("-D", text)?;
        definitions.push(definition(reporter, name, value)?);
    }
    Ok(definitions)
}

/// Reads `-D`s that are not for a program: each name at most once.
pub(crate) fn arguments(
    reporter: &mut Reporter,
    given: &[String],
) -> Result<Vec<(String, Expr)>, Failure> {
    let mut arguments: Vec<(String, Expr)> = Vec::new();
    for Definition { name, whole, .. } in definitions(reporter, given)? {
        if arguments.iter().any(|(known, _)| *known == name) {
            return Err(Failure::Usage(format!("`-D {name}=..` is given twice")));
        }
        arguments.push((name, whole));
    }
    Ok(arguments)
}

/// Refuses flags that say how a program is built, for a command that is given plans only.
pub(crate) fn only_plans(elaboration: &Elaboration) -> Result<(), Failure> {
    let flag = match (elaboration.option.first(), &elaboration.program) {
        (Some(option), _) => format!("-O {option}"),
        (None, Some(name)) => format!("--program {name}"),
        (None, None) => return Ok(()),
    };
    Err(Failure::Usage(format!("`{flag}` is for source files: a plan is already built")))
}

/// The number of bytes in a flag's value: `65536`, `64KiB`.
pub(crate) fn bytes(reporter: &mut Reporter, flag: &str, text: &str) -> Result<u64, Failure> {
    let file = reporter.sources.add(flag, text);
    let parsed = syntax::parse_expression(file, text).0;
    let bytes = parsed.as_ref().and_then(number).and_then(|bytes| u64::try_from(bytes).ok());
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| Failure::Usage(format!("`{flag} {text}`: expected a size, such as `64KiB`")))
}

/// Refuses a parameter that no program has, or that is given twice. Where there is no program, as in a file that others
/// import, there is nothing to set.
pub(crate) fn check_names(
    sources: &SourceMap,
    given: &Given,
    programs: &[&Program],
) -> Result<(), Failure> {
    if programs.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<&str> =
        programs.iter().flat_map(|program| &program.parameters).map(|p| p.name.as_str()).collect();
    let mut seen = BTreeSet::new();
    for Definition { name, .. } in &given.definitions {
        if !known.contains(name.as_str()) {
            return Err(unknown(sources, name, programs));
        }
        if !seen.insert(name) {
            return Err(Failure::Usage(format!(
                "`-D {name}=..` is given twice{}",
                lists(sources, programs)
            )));
        }
    }
    Ok(())
}

impl Given {
    /// Whether `--topology` names a machine.
    pub(crate) fn has_machine(&self) -> bool {
        self.machine.is_some()
    }

    /// Whether an option sets the plan's name.
    pub(crate) fn names_the_plan(&self) -> bool {
        self.options.iter().any(|option| option.name == OptionName::Name)
    }

    /// The settings of one elaboration.
    pub(crate) fn settings(
        &self,
        elaboration: &Elaboration,
        parameters: Vec<(String, Expr)>,
    ) -> Settings {
        Settings {
            parameters,
            options: self.options.clone(),
            machine: self.machine.clone(),
            max_operations: elaboration.max_operations,
            promises: elaboration.checks != Checks::None,
            ..Settings::default()
        }
    }
}

/// How many values a command takes for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// One.
    One,
    /// Any number, each of which is tried.
    Several,
}

/// The values that a definition gives to a program's parameter: one, or if several are allowed the members of a list.
pub(crate) fn values(
    definition: &Definition,
    parameter: &Parameter,
    allowed: Values,
) -> Result<Vec<Value>, Failure> {
    if fits(&definition.whole, &parameter.ty) {
        return Ok(vec![Value { text: String::new(), value: definition.whole.clone() }]);
    }
    let fitting = |values: &&Vec<Value>| {
        !values.is_empty() && values.iter().all(|value| fits(&value.value, &parameter.ty))
    };
    let members = definition.members.as_ref().map_err(Clone::clone)?;
    let values = [members, &definition.numbers].into_iter().find(fitting);
    let values = values.ok_or_else(|| wrong_type(definition, parameter))?;
    if allowed == Values::One && values.len() > 1 {
        return Err(one_at_a_time(&definition.name));
    }
    Ok(values.clone())
}

/// The names of all programs' parameters, for when there are too many programs to list each.
fn names_of_all(programs: &[&Program]) -> String {
    let parameters = programs.iter().flat_map(|program| &program.parameters);
    let names: BTreeSet<&str> = parameters.map(|parameter| parameter.name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    format!("\n  parameters of the {} programs: {}", programs.len(), names.join(", "))
}

/// A list of what could be given.
pub(crate) fn lists(sources: &SourceMap, programs: &[&Program]) -> String {
    match programs.len() {
        0..=FULLY_LISTED => {
            programs.iter().map(|program| parameter_list(sources, program)).collect()
        }
        _ => names_of_all(programs),
    }
}

fn parameter_list(sources: &SourceMap, program: &Program) -> String {
    let lines = program.parameters.iter().map(|parameter| {
        let default =
            parameter.default.as_ref().map(|value| format!(" = {}", sources.slice(value.span)));
        format!(
            "\n    {}: {}{}",
            parameter.name,
            &parameter.ty.to_string(),
            default.unwrap_or_default()
        )
    });
    format!("\n  parameters of `{}`:{}", program.name, lines.collect::<String>())
}

fn definition(reporter: &mut Reporter, name: &str, text: &str) -> Result<Definition, Failure> {
    if let Some(meant) = meant_range(text) {
        return Err(Failure::Usage(format!(
            "`-D {name}={text}`: a range from a number through another is written with `..=`: `-D {name}={meant}`"
        )));
    }
    let several = has_top_level_comma(text);
    let text = if several { format!("[{text}]") } else { text.to_owned() };
    let file = reporter.sources.add(format!("-D {name}"), text.as_str());
    let parsed = taken(reporter, syntax::parse_expression(file, &text), "-D", name)?;
    let ast::ExprKind::List(given) = &parsed.kind else {
        let whole = taken(reporter, resolve::argument(&parsed), "-D", name)?;
        let members = members_of(&parsed, name);
        let members = members.and_then(|members| values_of(reporter, &members, name));
        return Ok(Definition { name: name.to_owned(), whole, members, numbers: Vec::new() });
    };
    let ranges = if several { given.iter().filter(|value| is_range(value)).count() } else { 0 };
    let numbers = if ranges > 0 { numbers_of(given, name)? } else { Vec::new() };
    // Numbers and ranges are not one list.
    let all = if ranges < given.len() && ranges > 0 { &numbers } else { given };
    let list = ast::Expr { kind: ast::ExprKind::List(all.clone()), span: parsed.span };
    let whole = taken(reporter, resolve::argument(&list), "-D", name)?;
    let members = Ok(values_of(reporter, all, name)?);
    let numbers = values_of(reporter, &numbers, name)?;
    Ok(Definition { name: name.to_owned(), whole, members, numbers })
}

/// How other tools write ranges of numbers.
const FOREIGN_RANGES: [&str; 4] = ["...", "-", "\u{2013}", ":"];

/// The text with `..=` in each range that is written as elsewhere, `2-16`; none if there is no such range. A difference
/// that is not negative (`16-2`) is one.
fn meant_range(text: &str) -> Option<String> {
    let meant: Vec<Cow<'_, str>> = text.split(',').map(range_or_same).collect();
    let is_changed = meant.iter().any(|part| matches!(part, Cow::Owned(_)));
    is_changed.then(|| meant.join(","))
}

fn range_or_same(part: &str) -> Cow<'_, str> {
    let ends = FOREIGN_RANGES.iter().find_map(|between| part.split_once(between));
    let number = |end: &str| {
        let end = end.trim();
        if !end.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        end.parse::<u64>().ok()
    };
    match ends.map(|(from, to)| (number(from), number(to))) {
        Some((Some(from), Some(to))) if from < to => Cow::Owned(format!("{from}..={to}")),
        Some(_) | None => Cow::Borrowed(part),
    }
}

/// The values as they are shown and as elaboration takes them.
fn values_of(reporter: &Reporter, values: &[ast::Expr], name: &str) -> Result<Vec<Value>, Failure> {
    let value = |member: &ast::Expr| {
        let value = taken(reporter, resolve::argument(member), "-D", name)?;
        Ok(Value { text: shown(&reporter.sources, member), value })
    };
    values.iter().map(value).collect()
}

fn is_range(value: &ast::Expr) -> bool {
    matches!(value.kind, ast::ExprKind::Range(..))
}

/// The values, with the numbers of ranges in place of these.
fn numbers_of(values: &[ast::Expr], name: &str) -> Result<Vec<ast::Expr>, Failure> {
    let mut all = Vec::new();
    for value in values {
        match is_range(value) {
            true => all.extend(members_of(value, name)?),
            false => all.push(value.clone()),
        }
    }
    if all.len() > MAX_VALUES as usize { Err(too_many_values(name)) } else { Ok(all) }
}

fn options(
    reporter: &mut Reporter,
    elaboration: &Elaboration,
) -> Result<Vec<OptionSetting>, Failure> {
    let mut names = BTreeSet::new();
    let mut options = Vec::new();
    for text in &elaboration.option {
        let (name, value) = halves("-O", text)?;
        if !names.insert(name.to_owned()) {
            return Err(repeated_option(name));
        }
        let text = if is_bare_name(name, value) { in_quotes(name, value) } else { text.clone() };
        let file = reporter.sources.add(format!("-O {name}"), text.as_str());
        let parsed = taken(reporter, syntax::parse_option(file, &text), "-O", name)?;
        options.push(taken(reporter, resolve::option(&parsed), "-O", name)?);
    }
    Ok(options)
}

/// Whether an option is a plan's name without quotes. Build systems name plans after targets and files, such as `ring-4`.
fn is_bare_name(name: &str, value: &str) -> bool {
    name == "name" && !value.starts_with('"')
}

fn in_quotes(name: &str, value: &str) -> String {
    format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The result of a phase for an argument; its reports become a usage error.
fn taken<T>(
    reporter: &Reporter,
    (made, reports): Shown<T>,
    flag: &str,
    name: &str,
) -> Result<T, Failure> {
    match made {
        Some(made) if !compiler::driver::has_errors(&reports) => Ok(made),
        Some(_) | None => Err(bad_value(reporter, &reports, flag, name)),
    }
}

/// The members of a list, and of a range whose ends are numbers.
fn members_of(value: &ast::Expr, name: &str) -> Result<Vec<ast::Expr>, Failure> {
    match &value.kind {
        ast::ExprKind::List(members) | ast::ExprKind::Set(members) => Ok(members.clone()),
        ast::ExprKind::Range(kind, from, to) => match (number(from), number(to)) {
            (Some(from), Some(to)) => numbers(value, name, *kind, from, to),
            (None, _) | (_, None) => Err(not_numbers(name)),
        },
        ast::ExprKind::Int(_)
        | ast::ExprKind::Rate(_)
        | ast::ExprKind::Time(_)
        | ast::ExprKind::Str(_)
        | ast::ExprKind::Bool(_)
        | ast::ExprKind::Name(_)
        | ast::ExprKind::Unary(..)
        | ast::ExprKind::Binary(..)
        | ast::ExprKind::Each(..)
        | ast::ExprKind::If(..)
        | ast::ExprKind::Call(..)
        | ast::ExprKind::Fold(..)
        | ast::ExprKind::Field(..)
        | ast::ExprKind::Method(..)
        | ast::ExprKind::Index(..)
        | ast::ExprKind::Error => Ok(Vec::new()),
    }
}

fn numbers(
    value: &ast::Expr,
    name: &str,
    kind: ast::RangeKind,
    from: i64,
    to: i64,
) -> Result<Vec<ast::Expr>, Failure> {
    let end = match kind {
        ast::RangeKind::HalfOpen => Some(to),
        ast::RangeKind::Inclusive => to.checked_add(1),
        ast::RangeKind::Length => from.checked_add(to),
    };
    match end.and_then(|end| Some((end, end.checked_sub(from)?))) {
        Some((_, ..=0)) => Err(no_values(name)),
        Some((end, 1..=MAX_VALUES)) => {
            let member = |i| ast::Expr { kind: ast::ExprKind::Int(i), span: value.span };
            Ok((from..end).map(member).collect())
        }
        Some((_, _)) | None => Err(too_many_values(name)),
    }
}

fn number(expr: &ast::Expr) -> Option<i64> {
    if let ast::ExprKind::Int(number) = expr.kind { Some(number) } else { None }
}

fn shown(sources: &SourceMap, member: &ast::Expr) -> String {
    number(member)
        .map_or_else(|| sources.slice(member.span).to_owned(), |number| number.to_string())
}

/// Whether a value has a parameter's type. An empty list has that of every list.
fn fits(value: &Expr, parameter: &Type) -> bool {
    match (&value.kind, parameter) {
        (ExprKind::List(members) | ExprKind::Set(members), Type::List(parameter)) => {
            members.iter().all(|member| fits(member, parameter))
        }
        (_, parameter) => is_type(&value.ty, parameter),
    }
}

/// Whether a type is a parameter's; a number is also a rank.
pub(crate) fn is_type(value: &Type, parameter: &Type) -> bool {
    match (value, parameter) {
        (Type::Error, _) | (_, Type::Error) => true,
        (Type::Int | Type::Rank, Type::Int | Type::Rank) => true,
        (Type::List(value), Type::List(parameter)) => is_type(value, parameter),
        (value, parameter) => value == parameter,
    }
}

fn has_top_level_comma(text: &str) -> bool {
    let mut depth = 0_u32;
    text.chars().any(|c| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

fn halves<'a>(flag: &str, text: &'a str) -> Result<(&'a str, &'a str), Failure> {
    let halves = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
    halves
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .ok_or_else(|| Failure::Usage(format!("`{flag} {text}`: expected `{flag} name=value`")))
}

fn unknown(sources: &SourceMap, name: &str, programs: &[&Program]) -> Failure {
    let parameters =
        programs.iter().flat_map(|program| &program.parameters).map(|p| p.name.as_str());
    let hint = nearest(name, parameters)
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    Failure::Usage(format!("no parameter is called `{name}`{hint}{}", lists(sources, programs)))
}

fn repeated_option(name: &str) -> Failure {
    Failure::Usage(format!("`-O {name}=..` is given twice"))
}

fn bad_value(reporter: &Reporter, reports: &[Diagnostic], flag: &str, name: &str) -> Failure {
    Failure::Usage(format!("`{flag} {name}=..` cannot be used\n{}", reporter.drawn(reports)))
}

fn wrong_type(definition: &Definition, parameter: &Parameter) -> Failure {
    let name = &definition.name;
    let (given, wanted) = (&definition.whole.ty.to_string(), &parameter.ty.to_string());
    Failure::Usage(format!(
        "`-D {name}=..`: the parameter `{name}` is of type `{wanted}`, the value of type `{given}`"
    ))
}

fn one_at_a_time(name: &str) -> Failure {
    Failure::Usage(format!("`-D {name}=..`: only `check` and `build` take several values"))
}

fn no_values(name: &str) -> Failure {
    Failure::Usage(format!("`-D {name}=..`: the range is empty"))
}

fn too_many_values(name: &str) -> Failure {
    Failure::Usage(format!("`-D {name}=..`: a range may have at most {MAX_VALUES} values"))
}

fn not_numbers(name: &str) -> Failure {
    Failure::Usage(format!("`-D {name}=..`: the ends of a range must be numbers here"))
}
