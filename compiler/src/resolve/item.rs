//! Functions, procedures, constants, collectives and topologies. In: their trees. Out: their rows in a unit, and their
//! signatures for callers.
//!
//! A type that a declaration leaves out is inferred from its own body, never from its callers. Callees come first,
//! and declarations that need one another are inferred together. A constant may not need itself (E0215).

use super::body::{Body, Inside, Level};
use super::collective;
use super::declare::takes;
use super::global::{Declared, Entity, Globals};
use super::load::{ModuleId, Modules};
use super::order;
use super::program::{Accepted, Constant, ConstantId, Function, Procedure, Unit};
use super::signature::{Effects, Needs, Signature, Signatures, Takes};
use super::topology;
use super::types::{self, Ty, Types, open};
use super::usage::{self, Uses};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast;
use std::collections::{BTreeMap, BTreeSet};

/// What has been found in the bodies so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What is wrong.
    pub(super) reports: Vec<Diagnostic>,
    /// The warnings that attributes accept by their codes.
    pub(super) accepted: Vec<Accepted>,
    /// The definition that each use of a name refers to.
    pub(super) uses: Uses,
    /// The names of the first file that something in it uses.
    pub(super) mentioned: BTreeSet<String>,
}

impl Found {
    /// Takes over what was found in a body.
    pub(super) fn take(&mut self, modules: &Modules, mut body: Body) {
        let main = body.module == ModuleId::default();
        let broken = modules.modules.lookup(body.module).is_some_and(|module| module.is_broken());
        if main && !broken {
            let text = modules.modules.lookup(body.module).map_or("", |module| &module.text);
            let unused = usage::unused(&body, text);
            body.reports.extend(unused);
        }
        self.reports.append(&mut body.reports);
        self.accepted.append(&mut body.accepted);
        self.uses.definitions.append(&mut body.uses.definitions);
        if main {
            self.mentioned.extend(body.mentioned.into_iter().map(|(name, _)| name));
        }
    }
}

/// Resolves everything but programs, and brings the constants into an order in which each needs only earlier ones.
pub(super) fn items(globals: &mut Globals, unit: &mut Unit, found: &mut Found) -> Signatures {
    let mut items = all(globals);
    let mut signatures = Signatures::default();
    for item in &items {
        set(&mut signatures, *item, unknown(globals, *item));
    }
    let groups = order::groups(&needs(globals, &signatures, &items));
    reorder(globals, &mut items, &groups);
    let mut rows: BTreeMap<Entity, Row> = BTreeMap::new();
    for group in &groups {
        let members: Vec<Entity> =
            group.iter().filter_map(|member| items.get(*member).copied()).collect();
        infer(globals, &mut signatures, &members, found);
        build(globals, &mut signatures, &members, &mut rows, found);
    }
    for row in rows.into_values() {
        match row {
            Row::Function(row) => drop(unit.functions.push(row)),
            Row::Procedure(row) => drop(unit.procedures.push(row)),
            Row::Constant(row) => drop(unit.constants.push(row)),
            Row::Collective(row) => drop(unit.collectives.push(row)),
            Row::Topology(row) => drop(unit.topologies.push(row)),
        }
    }
    signatures
}

/// A resolved declaration.
enum Row {
    Function(Function),
    Procedure(Procedure),
    Constant(Constant),
    Collective(super::program::Collective),
    Topology(super::program::Topology),
}

fn all(globals: &Globals) -> Vec<Entity> {
    let mut items: Vec<Entity> = globals.functions.ids().map(Entity::Function).collect();
    items.extend(globals.procedures.ids().map(Entity::Procedure));
    items.extend(globals.constants.ids().map(Entity::Constant));
    items.extend(globals.collectives.ids().map(Entity::Collective));
    items.extend(globals.topologies.ids().map(Entity::Topology));
    items
}

/// Puts a signature into its row; rows are filled in order.
fn set(signatures: &mut Signatures, item: Entity, signature: Signature) {
    match item {
        Entity::Function(id) => replace(&mut signatures.functions, id, signature),
        Entity::Procedure(id) => replace(&mut signatures.procedures, id, signature),
        Entity::Constant(id) => replace(&mut signatures.constants, id, signature),
        Entity::Collective(id) => replace(&mut signatures.collectives, id, signature),
        Entity::Topology(id) => replace(&mut signatures.topologies, id, signature),
        Entity::Program(_) | Entity::Lost => {}
    }
}

fn replace<I: crate::table::Id>(
    table: &mut crate::table::Table<I, Signature>,
    id: I,
    signature: Signature,
) {
    if id.index() < table.len() {
        table[id] = signature;
    } else {
        table.push(signature);
    }
}

fn get(signatures: &Signatures, item: Entity) -> Option<&Signature> {
    match item {
        Entity::Function(id) => signatures.functions.lookup(id),
        Entity::Procedure(id) => signatures.procedures.lookup(id),
        Entity::Constant(id) => signatures.constants.lookup(id),
        Entity::Collective(id) => signatures.collectives.lookup(id),
        Entity::Topology(id) => signatures.topologies.lookup(id),
        Entity::Program(_) | Entity::Lost => None,
    }
}

/// The parts that every declaration has.
fn head<'m>(globals: &Globals<'m>, item: Entity) -> Head<'m> {
    match item {
        Entity::Function(id) => {
            let declared = globals.functions[id];
            Head::of(declared, &declared.ast.name, &declared.ast.parameters)
        }
        Entity::Procedure(id) => {
            let declared = globals.procedures[id];
            Head::of(declared, &declared.ast.name, &declared.ast.parameters)
        }
        Entity::Constant(id) => {
            let declared = globals.constants[id];
            Head::of(declared, &declared.ast.name, &[])
        }
        Entity::Collective(id) => {
            let declared = globals.collectives[id];
            Head::of(declared, &declared.ast.name, &declared.ast.parameters)
        }
        Entity::Topology(id) => {
            let declared = globals.topologies[id];
            Head::of(declared, &declared.ast.name, &declared.ast.parameters)
        }
        Entity::Program(_) | Entity::Lost => {
            Head { module: ModuleId::default(), item: None, name: None, parameters: &[] }
        }
    }
}

struct Head<'m> {
    module: ModuleId,
    item: Option<&'m ast::Item>,
    name: Option<&'m ast::Name>,
    parameters: &'m [ast::Parameter],
}

impl<'m> Head<'m> {
    fn of<T>(
        declared: Declared<'m, T>,
        name: &'m ast::Name,
        parameters: &'m [ast::Parameter],
    ) -> Head<'m> {
        let (module, item) = (declared.module, Some(declared.item));
        Head { module, item, name: Some(name), parameters }
    }

    fn span(&self) -> Span {
        let nowhere = Span { file: crate::source::FileId::default(), start: 0, end: 0 };
        self.name.map_or(nowhere, |name| name.span)
    }
}

/// A signature about which nothing is known yet.
fn unknown(globals: &Globals, item: Entity) -> Signature {
    let head = head(globals, item);
    let unknown = |parameter: &ast::Parameter| Takes {
        name: parameter.name.text.clone(),
        span: parameter.name.span,
        ty: Ty::Error,
        optional: parameter.default.is_some(),
    };
    Signature {
        parameters: head.parameters.iter().map(unknown).collect(),
        result: Ty::Error,
        needs: Needs::default(),
        effects: Effects::default(),
        span: head.span(),
    }
}

/// For each declaration, the declarations that it names.
fn needs(globals: &Globals, signatures: &Signatures, items: &[Entity]) -> Vec<Vec<usize>> {
    let positions: BTreeMap<Entity, usize> =
        items.iter().enumerate().map(|(position, item)| (*item, position)).collect();
    let mut needs = Vec::new();
    for item in items {
        let look = || resolve(globals, signatures, *item, Types::default());
        let (_, _, body) = globals.without_suggestions(look);
        let named = body.mentioned.iter().filter_map(|(_, entity)| positions.get(entity).copied());
        needs.push(named.collect());
    }
    needs
}

fn reorder(globals: &mut Globals, items: &mut [Entity], groups: &[Vec<usize>]) {
    let mut order: Vec<ConstantId> = Vec::new();
    for position in groups.iter().flatten() {
        if let Some(Entity::Constant(id)) = items.get_mut(*position) {
            order.push(*id);
            *id = ConstantId((order.len() - 1) as u32);
        }
    }
    globals.reorder_constants(&order);
}

/// Infers the types in the signatures of a group.
fn infer(globals: &Globals, signatures: &mut Signatures, members: &[Entity], found: &mut Found) {
    let mut types = Types::default();
    for member in members {
        let head = head(globals, *member);
        let mut body = Body::new(globals, signatures, head.module, Level::Function);
        body.types = std::mem::take(&mut types);
        let level = match member {
            Entity::Collective(_)
            | Entity::Topology(_)
            | Entity::Function(_)
            | Entity::Procedure(_) => Level::Default,
            Entity::Constant(_) | Entity::Program(_) | Entity::Lost => Level::Constant,
        };
        let parameters = takes(&mut body, head.parameters, level);
        let written = result(globals, *member);
        let result = match written {
            Some(ty) => body.written(ty),
            None => body.types.fresh(),
        };
        found.reports.append(&mut body.reports);
        types = std::mem::take(&mut body.types);
        let (span, needs, effects) = (head.span(), Needs::default(), Effects::default());
        set(signatures, *member, Signature { parameters, result, needs, effects, span });
    }
    // A mistake in a value is reported there, and not where the value is used.
    let mut wrong = Vec::new();
    for member in members {
        let look = || resolve(globals, signatures, *member, types);
        let (_, ty, mut body) = globals.without_suggestions(look);
        if let Some(signature) = get(signatures, *member) {
            body.types.unify(&ty, &signature.result);
        }
        wrong.push(body.types.known(&ty) == Ty::Error);
        types = body.types;
    }
    for (member, wrong) in members.iter().zip(wrong) {
        let Some(mut signature) = get(signatures, *member).cloned() else { continue };
        let settled = |ty: &Ty| open(&types.close(ty));
        for takes in &mut signature.parameters {
            takes.ty = settled(&takes.ty);
        }
        let is_open = matches!(types.known(&signature.result), Ty::Var(_));
        let is_unsure = is_open || result(globals, *member).is_some();
        signature.result = if wrong && is_unsure { Ty::Error } else { settled(&signature.result) };
        set(signatures, *member, signature);
    }
}

/// The type that a declaration gives for its value, if it does.
fn result<'m>(globals: &Globals<'m>, item: Entity) -> Option<&'m ast::Type> {
    match item {
        Entity::Function(id) => globals.functions[id].ast.result.as_ref(),
        Entity::Constant(id) => globals.constants[id].ast.ty.as_ref(),
        Entity::Procedure(_)
        | Entity::Collective(_)
        | Entity::Topology(_)
        | Entity::Program(_)
        | Entity::Lost => None,
    }
}

/// Resolves a group whose types are known.
fn build(
    globals: &Globals,
    signatures: &mut Signatures,
    members: &[Entity],
    rows: &mut BTreeMap<Entity, Row>,
    found: &mut Found,
) {
    let (mut needs, mut effects) = (Needs::default(), Effects::default());
    let mut itself = false;
    for member in members {
        let (row, _, body) = resolve(globals, signatures, *member, Types::default());
        needs = needs.and(body.needs);
        effects = effects.and(body.effects);
        itself |= body.mentioned.iter().any(|(_, entity)| entity == member);
        found.take(globals.modules, body);
        rows.extend(row.map(|row| (*member, row)));
    }
    for member in members {
        if let Some(signature) = get(signatures, *member).cloned() {
            set(signatures, *member, Signature { needs, effects, ..signature });
        }
    }
    if members.len() > 1 || itself {
        found.reports.extend(needs_itself(globals, members));
    }
}

/// Resolves one declaration with what is known about all: returns its row, the type of its value, and the body.
fn resolve<'a>(
    globals: &'a Globals,
    signatures: &'a Signatures,
    item: Entity,
    types: Types,
) -> (Option<Row>, Ty, Body<'a>) {
    let head = head(globals, item);
    let level = match item {
        Entity::Function(_) | Entity::Procedure(_) => Level::Function,
        Entity::Collective(_) => Level::Collective,
        Entity::Topology(_) => Level::Topology,
        Entity::Constant(_) | Entity::Program(_) | Entity::Lost => Level::Constant,
    };
    let mut body = Body::new(globals, signatures, head.module, level);
    body.types = types;
    if let Some(item) = head.item {
        body.allow(&item.attributes, item.span);
    }
    let Some(signature) = get(signatures, item) else { return (None, Ty::Error, body) };
    let (row, ty) = match item {
        Entity::Function(id) => function(&mut body, globals.functions[id], signature),
        Entity::Procedure(id) => {
            let row = procedure(&mut body, globals.procedures[id], signature);
            (Some(row), Ty::Error)
        }
        Entity::Constant(id) => constant(&mut body, globals.constants[id], signature),
        Entity::Collective(id) => {
            let declared = globals.collectives[id];
            let row = collective::collective(&mut body, declared, &signature.parameters);
            (Some(Row::Collective(row)), Ty::Error)
        }
        Entity::Topology(id) => {
            let row = topology::topology(&mut body, globals.topologies[id], &signature.parameters);
            (Some(Row::Topology(row)), Ty::Error)
        }
        Entity::Program(_) | Entity::Lost => (None, Ty::Error),
    };
    (row, ty, body)
}

fn function(
    body: &mut Body,
    declared: Declared<ast::Function>,
    signature: &Signature,
) -> (Option<Row>, Ty) {
    let ast = declared.ast;
    let parameters = body.parameters(&ast.parameters, &signature.parameters, Level::Default);
    let (value, ty) = valued(body, &ast.body, ast.result.as_ref(), &signature.result);
    let row = Function {
        name: ast.name.text.clone(),
        span: ast.name.span,
        parameters,
        result: body.types.close(&signature.result),
        body: value,
        frame: body.frame(),
    };
    (Some(Row::Function(row)), ty)
}

fn constant(
    body: &mut Body,
    declared: Declared<ast::Let>,
    signature: &Signature,
) -> (Option<Row>, Ty) {
    let ast = declared.ast;
    let (value, ty) = valued(body, &ast.value, ast.ty.as_ref(), &signature.result);
    let row =
        Constant { name: ast.name.text.clone(), span: ast.name.span, value, frame: body.frame() };
    (Some(Row::Constant(row)), ty)
}

fn valued(
    body: &mut Body,
    value: &ast::Expr,
    written: Option<&ast::Type>,
    result: &Ty,
) -> (super::program::Expr, Ty) {
    match written {
        Some(written) => {
            let ty = types::written(written).unwrap_or(Ty::Error);
            body.expect_written(value, ty, (written.span, "the type that is given"))
        }
        None => {
            let typed = body.expr(value, Some(result));
            (typed.expr, typed.ty)
        }
    }
}

fn procedure(body: &mut Body, declared: Declared<ast::Procedure>, signature: &Signature) -> Row {
    let ast = declared.ast;
    body.inside = Inside::Procedure;
    let parameters = body.parameters(&ast.parameters, &signature.parameters, Level::Default);
    let statements = body.open_statements(&ast.body);
    Row::Procedure(Procedure {
        name: ast.name.text.clone(),
        span: ast.name.span,
        parameters,
        body: statements,
        frame: body.frame(),
    })
}

fn needs_itself(globals: &Globals, members: &[Entity]) -> Option<Diagnostic> {
    let constants: Vec<&ast::Name> = members
        .iter()
        .filter(|member| matches!(member, Entity::Constant(_)))
        .filter_map(|member| head(globals, *member).name)
        .collect();
    let first = constants.first()?;
    let message = format!("the value of `{}` depends on itself", first.text);
    let mut report = Diagnostic::new(Code::E0215, first.span, message);
    for other in members.iter().filter_map(|member| head(globals, *member).name) {
        if other.span != first.span {
            report = report.and(other.span, format!("through `{}`", other.text));
        }
    }
    Some(report)
}
