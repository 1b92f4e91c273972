//! The syntax tree as nodes of one kind: what contains what, in the order of the text.
//!
//! In: the compiler's tree of a declaration. Out: for any node, its span and its children. Features that walk a
//! tree without caring what each node is (hover, selections, folds, hints) start here; spans are those of the tree.

use compiler::source::Span;
use compiler::syntax::ast::{
    Argument, Binder, Body, CollectiveItem, CollectiveItemKind, Dimension, Else, Expr, ExprKind,
    If, Index, Item, ItemKind, Let, LinkEnds, Modifier, Name, Operand, OptionSetting, OptionValue,
    Parameter, ProgramItem, ProgramItemKind, Property, PropertyValue, Require, Stmt, StmtKind,
    TopologyItem, TopologyItemKind, Type,
};

/// A node of the tree.
#[derive(Clone, Copy, Debug)]
pub enum Node<'t> {
    /// A declaration of a file.
    Item(&'t Item),
    /// A clause of a collective.
    Clause(&'t CollectiveItem),
    /// A clause of a topology.
    TopologyItem(&'t TopologyItem),
    /// A part of a program's top level.
    ProgramItem(&'t ProgramItem),
    /// Statements in braces.
    Body(&'t Body),
    /// A statement.
    Stmt(&'t Stmt),
    /// A parameter, with its type and default.
    Parameter(&'t Parameter),
    /// A type.
    Type(&'t Type),
    /// An option with its value.
    Option(&'t OptionSetting),
    /// `p in peers if ..`
    Binder(&'t Binder),
    /// An operand of an operation.
    Operand(&'t Operand),
    /// An argument of a call.
    Argument(&'t Argument),
    /// An expression.
    Expr(&'t Expr),
    /// What is inside index brackets.
    Index(&'t Index),
    /// A name where it is declared, or the name of what is called.
    Name(&'t Name),
}

impl<'t> Node<'t> {
    /// Its span.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Node::Item(item) => item.span,
            Node::Clause(clause) => clause.span,
            Node::TopologyItem(clause) => clause.span,
            Node::ProgramItem(item) => item.span,
            Node::Body(body) => body.span,
            Node::Stmt(statement) => statement.span,
            Node::Parameter(parameter) => cover(parameter.name.span, &self.children()),
            Node::Type(ty) => ty.span,
            Node::Option(setting) => setting.span,
            Node::Binder(binder) => binder.span,
            Node::Operand(Operand::One(value)) => value.span,
            Node::Operand(Operand::Each(_, _, span)) => *span,
            Node::Argument(argument) => cover(argument.value.span, &self.children()),
            Node::Expr(expr) => expr.span,
            Node::Index(index) => match index {
                Index::All(span)
                | Index::Whole(span)
                | Index::To(_, _, span)
                | Index::From(_, span) => *span,
                Index::At(expr) => expr.span,
            },
            Node::Name(name) => name.span,
        }
    }

    /// Its direct children, in the order of the text.
    #[must_use]
    pub fn children(&self) -> Vec<Node<'t>> {
        let mut into = Vec::new();
        match self {
            Node::Item(item) => in_item(&item.kind, &mut into),
            Node::Clause(clause) => in_clause(&clause.kind, &mut into),
            Node::TopologyItem(clause) => in_topology(&clause.kind, &mut into),
            Node::ProgramItem(item) => in_program(&item.kind, &mut into),
            Node::Body(body) => into.extend(body.statements.iter().map(Node::Stmt)),
            Node::Stmt(statement) => in_statement(&statement.kind, &mut into),
            Node::Parameter(parameter) => {
                into.push(Node::Name(&parameter.name));
                into.extend(parameter.ty.as_ref().map(Node::Type));
                into.extend(parameter.default.as_ref().map(Node::Expr));
            }
            Node::Option(setting) => in_option(setting, &mut into),
            Node::Binder(binder) => {
                into.extend([Node::Name(&binder.name), Node::Expr(&binder.list)]);
                into.extend(binder.filter.as_deref().map(Node::Expr));
            }
            Node::Operand(Operand::One(value)) => into.push(Node::Expr(value)),
            Node::Operand(Operand::Each(binders, value, _)) => {
                into.extend(binders.iter().map(Node::Binder));
                into.push(Node::Expr(value));
            }
            Node::Argument(argument) => {
                into.extend(argument.name.as_ref().map(Node::Name));
                into.push(Node::Expr(&argument.value));
            }
            Node::Expr(expr) => in_expr(&expr.kind, &mut into),
            Node::Index(index) => match index {
                Index::All(_) | Index::Whole(_) => {}
                Index::At(expr) | Index::To(expr, ..) | Index::From(expr, _) => {
                    into.push(Node::Expr(expr));
                }
            },
            Node::Type(_) | Node::Name(_) => {}
        }
        into
    }

    /// Visits the node and everything in it, parents before children.
    pub fn walk(self, visit: &mut dyn FnMut(Node<'t>)) {
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            visit(node);
            open.extend(node.children().into_iter().rev());
        }
    }

    /// The nodes that contain an offset, or that end at it, outermost first.
    #[must_use]
    pub fn path(self, offset: u32) -> Vec<Node<'t>> {
        let mut path = vec![self];
        loop {
            let last = path.last().copied().unwrap_or(self);
            let touching = |node: &Node<'t>| {
                let span = node.span();
                span.start <= offset && offset <= span.end
            };
            // If two nodes touch the offset, the later one, which begins there, is taken.
            let Some(next) = last.children().into_iter().rfind(touching) else { return path };
            path.push(next);
        }
    }
}

/// The span from the first to the last of several.
fn cover(first: Span, rest: &[Node<'_>]) -> Span {
    rest.iter().fold(first, |all, node| all.to(node.span()))
}

fn in_item<'t>(kind: &'t ItemKind, into: &mut Vec<Node<'t>>) {
    match kind {
        ItemKind::Use(item) => {
            into.extend(item.path.iter().map(Node::Name));
            for name in &item.names {
                into.push(Node::Name(&name.name));
                into.extend(name.alias.as_ref().map(Node::Name));
            }
        }
        ItemKind::Let(item) => in_let(item, into),
        ItemKind::Function(item) => {
            into.push(Node::Name(&item.name));
            into.extend(item.parameters.iter().map(Node::Parameter));
            into.extend(item.result.as_ref().map(Node::Type));
            into.push(Node::Expr(&item.body));
        }
        ItemKind::Procedure(item) => {
            into.push(Node::Name(&item.name));
            into.extend(item.parameters.iter().map(Node::Parameter));
            into.push(Node::Body(&item.body));
        }
        ItemKind::Collective(item) => {
            into.push(Node::Name(&item.name));
            into.extend(item.parameters.iter().map(Node::Parameter));
            into.extend(item.items.iter().map(Node::Clause));
        }
        ItemKind::Topology(item) => {
            into.push(Node::Name(&item.name));
            into.extend(item.parameters.iter().map(Node::Parameter));
            into.extend(item.items.iter().map(Node::TopologyItem));
        }
        ItemKind::Program(item) => {
            into.push(Node::Name(&item.name));
            into.extend(item.parameters.iter().map(Node::Parameter));
            into.extend(item.items.iter().map(Node::ProgramItem));
        }
    }
}

fn in_let<'t>(item: &'t Let, into: &mut Vec<Node<'t>>) {
    into.push(Node::Name(&item.name));
    into.extend(item.ty.as_ref().map(Node::Type));
    into.push(Node::Expr(&item.value));
}

fn in_require<'t>(require: &'t Require, into: &mut Vec<Node<'t>>) {
    into.push(Node::Expr(&require.condition));
}

fn in_clause<'t>(kind: &'t CollectiveItemKind, into: &mut Vec<Node<'t>>) {
    match kind {
        CollectiveItemKind::Let(item) => in_let(item, into),
        CollectiveItemKind::Require(require) => in_require(require, into),
        CollectiveItemKind::Size(size) => into.push(Node::Expr(&size.chunks)),
        CollectiveItemKind::InPlace(clause) => into.push(Node::Expr(&clause.value)),
        CollectiveItemKind::Ensures(ensures) => {
            into.extend(ensures.binders.iter().map(Node::Binder));
            into.push(Node::Expr(&ensures.promise));
        }
    }
}

fn in_topology<'t>(kind: &'t TopologyItemKind, into: &mut Vec<Node<'t>>) {
    match kind {
        TopologyItemKind::Let(item) => in_let(item, into),
        TopologyItemKind::Require(require) => in_require(require, into),
        TopologyItemKind::Count(count) => into.push(Node::Expr(&count.count)),
        TopologyItemKind::Link(link) => {
            into.extend(link.binders.iter().map(Node::Binder));
            in_ends(&link.ends, into);
            in_properties(&link.properties, into);
        }
        TopologyItemKind::Switch(switch) => {
            into.push(Node::Name(&switch.name));
            into.extend(switch.dimensions.iter().filter_map(dimension));
            in_properties(&switch.properties, into);
            for ports in &switch.ports {
                into.extend(ports.binders.iter().map(Node::Binder));
                into.push(Node::Expr(&ports.vertex));
                in_properties(&ports.properties, into);
            }
        }
    }
}

fn in_ends<'t>(ends: &'t LinkEnds, into: &mut Vec<Node<'t>>) {
    into.push(Node::Expr(&ends.from));
    into.push(Node::Expr(&ends.to));
}

fn in_properties<'t>(properties: &'t [Property], into: &mut Vec<Node<'t>>) {
    for property in properties {
        match &property.value {
            PropertyValue::Value(value) => into.push(Node::Expr(value)),
            PropertyValue::Abilities(_) => {}
        }
    }
}

fn in_program<'t>(kind: &'t ProgramItemKind, into: &mut Vec<Node<'t>>) {
    match kind {
        ProgramItemKind::Implements(item) => {
            into.push(Node::Name(&item.name));
            into.extend(item.arguments.iter().map(Node::Argument));
        }
        ProgramItemKind::Machine(item) => {
            into.push(Node::Name(&item.name));
            into.extend(item.arguments.iter().map(Node::Argument));
            into.extend(item.on.as_ref().map(Node::Expr));
            item.without.iter().for_each(|ends| in_ends(ends, into));
        }
        ProgramItemKind::Options(settings) => into.extend(settings.iter().map(Node::Option)),
        ProgramItemKind::Scratch(item) => {
            into.push(Node::Name(&item.name));
            into.extend(item.dimensions.iter().filter_map(dimension));
        }
        ProgramItemKind::Channel(item) => {
            into.push(Node::Name(&item.name));
            into.extend(item.dimensions.iter().filter_map(dimension));
            into.push(Node::Expr(&item.value));
            if let Some(end) = &item.to {
                into.push(Node::Name(&end.name));
                into.extend(end.indices.iter().map(Node::Expr));
            }
        }
        ProgramItemKind::Semaphore(item) => {
            into.push(Node::Name(&item.name));
            into.extend(item.dimensions.iter().filter_map(dimension));
            into.extend(item.initial.as_ref().map(Node::Expr));
        }
        ProgramItemKind::Statement(statement) => in_statement(statement, into),
    }
}

fn dimension(dimension: &Dimension) -> Option<Node<'_>> {
    match dimension {
        Dimension::Binder(binder) => Some(Node::Binder(binder)),
        Dimension::Value(value) => Some(Node::Expr(value)),
        Dimension::All(_) => None,
    }
}

fn in_option<'t>(setting: &'t OptionSetting, into: &mut Vec<Node<'t>>) {
    match &setting.value {
        OptionValue::Index(index) => into.push(Node::Index(index)),
        OptionValue::Map(entries, _) => {
            for (name, value) in entries {
                into.extend([Node::Name(name), Node::Expr(value)]);
            }
        }
    }
}

fn in_statement<'t>(kind: &'t StmtKind, into: &mut Vec<Node<'t>>) {
    match kind {
        StmtKind::Let(item) => in_let(item, into),
        StmtKind::Require(require) => in_require(require, into),
        StmtKind::For(binders, body) => {
            into.extend(binders.iter().map(Node::Binder));
            into.push(Node::Body(body));
        }
        StmtKind::If(item) => in_if(item, into),
        StmtKind::Block(item) => {
            into.push(Node::Name(&item.name));
            into.extend(item.dimensions.iter().filter_map(dimension));
            into.extend(item.id.as_ref().map(Node::Expr));
            into.extend(item.body.as_ref().map(Node::Body));
        }
        StmtKind::Group(members, body) => {
            into.extend(members.iter().map(Node::Operand));
            into.push(Node::Body(body));
        }
        StmtKind::Pipeline(settings, body) => {
            for (name, value) in settings {
                into.extend([Node::Name(name), Node::Expr(value)]);
            }
            into.push(Node::Body(body));
        }
        StmtKind::Barrier(members) => into.extend(members.iter().map(Node::Operand)),
        StmtKind::Sync => {}
        StmtKind::Transfer(item) => {
            let operands = item.sources.iter().chain(&item.destinations).chain(&item.via);
            into.extend(operands.map(Node::Operand));
            item.modifiers.iter().for_each(|modifier| in_modifier(modifier, into));
        }
        StmtKind::Synchronise(item) => {
            into.extend(item.operands.iter().map(Node::Operand));
            item.modifiers.iter().for_each(|modifier| in_modifier(modifier, into));
        }
        StmtKind::Call(name, arguments) => {
            into.push(Node::Name(name));
            into.extend(arguments.iter().map(Node::Argument));
        }
    }
}

fn in_if<'t>(item: &'t If, into: &mut Vec<Node<'t>>) {
    let mut next = Some(item);
    while let Some(item) = next {
        into.extend([Node::Expr(&item.condition), Node::Body(&item.then)]);
        next = match &item.otherwise {
            Some(Else::If(item)) => Some(item),
            Some(Else::Body(body)) => {
                into.push(Node::Body(body));
                None
            }
            None => None,
        };
    }
}

fn in_modifier<'t>(modifier: &'t Modifier, into: &mut Vec<Node<'t>>) {
    match modifier {
        Modifier::Relaxed(_) | Modifier::Op(_) | Modifier::Sync(_) => {}
        Modifier::Slice(index, count) => into.extend([Node::Expr(index), Node::Expr(count)]),
    }
}

fn in_expr<'t>(kind: &'t ExprKind, into: &mut Vec<Node<'t>>) {
    match kind {
        ExprKind::Int(_)
        | ExprKind::Rate(_)
        | ExprKind::Time(_)
        | ExprKind::Str(_)
        | ExprKind::Bool(_)
        | ExprKind::Name(_)
        | ExprKind::Error => {}
        ExprKind::Unary(_, operand) => into.push(Node::Expr(operand)),
        ExprKind::Binary(_, left, right) | ExprKind::Range(_, left, right) => {
            into.extend([Node::Expr(left), Node::Expr(right)]);
        }
        ExprKind::List(members) | ExprKind::Set(members) => {
            into.extend(members.iter().map(Node::Expr));
        }
        ExprKind::Each(_, binders, value) => {
            into.extend(binders.iter().map(Node::Binder));
            into.extend(value.as_deref().map(Node::Expr));
        }
        ExprKind::If(condition, then, otherwise) => {
            into.extend([condition, then, otherwise].map(|part| Node::Expr(part)));
        }
        ExprKind::Call(name, arguments) => {
            into.push(Node::Name(name));
            into.extend(arguments.iter().map(Node::Argument));
        }
        ExprKind::Fold(name, binders, value) => {
            into.push(Node::Name(name));
            into.extend(binders.iter().map(Node::Binder));
            into.push(Node::Expr(value));
        }
        ExprKind::Field(base, name) => into.extend([Node::Expr(base), Node::Name(name)]),
        ExprKind::Method(base, name, arguments) => {
            into.extend([Node::Expr(base), Node::Name(name)]);
            into.extend(arguments.iter().map(Node::Argument));
        }
        ExprKind::Index(base, indices) => {
            into.push(Node::Expr(base));
            into.extend(indices.iter().map(Node::Index));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compiler::source::FileId;

    const TEXT: &str = "program p(ranks: int = 2) {\n\
        collective c(ranks);\n\
        channel m[q in peers if q > 0] = memory(q);\n\
        block b { for i in 0..2 { put input[i] -> (1 - rank).output[i] via m[*]; } }\n}";

    #[test]
    fn children_lie_in_their_parents_and_in_order() {
        let (file, reports) = compiler::syntax::parse(FileId(0), TEXT);
        assert_eq!(reports, []);
        let mut nodes = 0;
        Node::Item(&file.items[0]).walk(&mut |node| {
            let mut last = node.span().start;
            for child in node.children() {
                assert!(last <= child.span().start, "{child:?}");
                assert!(child.span().end <= node.span().end, "{child:?}");
                last = child.span().end;
                nodes += 1;
            }
        });
        assert!(nodes > 30, "{nodes}");
    }

    #[test]
    fn a_path_leads_to_what_stands_at_an_offset() {
        let (file, _) = compiler::syntax::parse(FileId(0), TEXT);
        let at = TEXT.find("[i] -> ").unwrap() as u32 + 1;
        let path = Node::Item(&file.items[0]).path(at);
        let texts: Vec<&str> = path
            .iter()
            .map(|node| &TEXT[node.span().start as usize..node.span().end as usize])
            .collect();
        assert_eq!(texts[texts.len() - 3..], ["input[i]", "i", "i"]);
    }
}
