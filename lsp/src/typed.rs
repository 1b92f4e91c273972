//! Types of expressions: the resolved program by places of the text.
//!
//! In: a declaration and everything that it needs, resolved. Out: the type of the expression at a
//! place.

use compiler::resolve::program::{
    Binder, BlockIndex, Claim, Dimension, EndPair, Ensures, Expr, ExprKind, Index, Link, Operand,
    OptionValue, Program, ProgramItem, Promised, Properties, Stmt, StmtKind, SwitchFamily,
    Topology, TopologyItem, Type, Unit, Vertex,
};
use compiler::source::Span;

/// The type of the expression with exactly this span.
#[must_use]
pub fn type_of(unit: &Unit, span: Span) -> Option<Type> {
    let mut found = None;
    each(unit, &mut |expr| {
        if expr.span == span && expr.ty != Type::Error {
            found = Some(expr.ty.clone());
        }
    });
    found
}

/// Visits every expression, in bodies, defaults and declarations.
pub fn each<'u>(unit: &'u Unit, visit: &mut dyn FnMut(&'u Expr)) {
    let mut roots = Roots::default();
    for constant in unit.constants.iter() {
        roots.exprs.push(&constant.value);
    }
    for function in unit.functions.iter() {
        roots.exprs.push(&function.body);
    }
    for procedure in unit.procedures.iter() {
        roots.stmts.extend(&procedure.body);
    }
    for collective in unit.collectives.iter() {
        roots.exprs.extend([&collective.input, &collective.output]);
        roots.exprs.extend(collective.in_place.as_ref().map(|clause| &clause.value));
        roots.stmts.extend(&collective.body);
        collective.ensures.iter().for_each(|ensures| roots.ensures(ensures));
    }
    unit.topologies.iter().for_each(|topology| roots.topology(topology));
    let parameters = unit.functions.iter().flat_map(|row| &row.parameters);
    let parameters = parameters.chain(unit.procedures.iter().flat_map(|row| &row.parameters));
    let parameters = parameters.chain(unit.collectives.iter().flat_map(|row| &row.parameters));
    let parameters = parameters.chain(unit.topologies.iter().flat_map(|row| &row.parameters));
    let parameters = parameters.chain(unit.programs.iter().flat_map(|row| &row.parameters));
    roots.exprs.extend(parameters.filter_map(|parameter| parameter.default.as_ref()));
    unit.programs.iter().for_each(|program| roots.program(program));
    roots.visit(visit);
}

/// The expressions and statements still to be visited.
#[derive(Default)]
struct Roots<'u> {
    exprs: Vec<&'u Expr>,
    stmts: Vec<&'u Stmt>,
}

impl<'u> Roots<'u> {
    fn visit(mut self, visit: &mut dyn FnMut(&'u Expr)) {
        loop {
            if let Some(expr) = self.exprs.pop() {
                visit(expr);
                self.expr(expr);
            } else if let Some(statement) = self.stmts.pop() {
                self.statement(statement);
            } else {
                return;
            }
        }
    }

    fn ensures(&mut self, ensures: &'u Ensures) {
        self.binders(&ensures.binders);
        match &ensures.claim {
            Claim::Begun(expr) | Claim::Same(expr) => self.exprs.push(expr),
            Claim::Holds { output, value: Promised::Chunk(value) } => {
                self.exprs.extend([output, value]);
            }
            Claim::Holds { output, value: Promised::Reduce(binders, value) } => {
                self.exprs.push(output);
                self.binders(binders);
                self.exprs.push(value);
            }
        }
    }

    fn topology(&mut self, topology: &'u Topology) {
        topology.switches.iter().for_each(|switch| self.switch(switch));
        for item in &topology.items {
            match item {
                TopologyItem::Statement(statement) => self.stmts.push(statement),
                TopologyItem::Count(count) => self.exprs.push(&count.count),
                TopologyItem::Link(link) => {
                    self.binders(&link.binders);
                    self.ends(&link.ends);
                    self.properties(&link.properties);
                }
                TopologyItem::Switch(_) => {}
            }
        }
    }

    fn switch(&mut self, switch: &'u SwitchFamily) {
        self.dimensions(&switch.dimensions);
        self.properties(&switch.properties);
        for port in &switch.ports {
            self.binders(&port.binders);
            self.vertex(&port.vertex);
            self.properties(&port.properties);
        }
    }

    fn ends(&mut self, ends: &'u EndPair) {
        self.vertex(&ends.from);
        self.vertex(&ends.to);
    }

    fn vertex(&mut self, vertex: &'u Vertex) {
        match vertex {
            Vertex::Rank(rank) => self.exprs.push(rank),
            Vertex::Switch(_, indices, _) => self.exprs.extend(indices),
            Vertex::If(condition, then, otherwise) => {
                self.exprs.push(condition);
                self.vertex(then);
                self.vertex(otherwise);
            }
        }
    }

    fn properties(&mut self, properties: &'u Properties) {
        self.exprs.extend(properties.bandwidth.iter().chain(&properties.latency));
    }

    fn program(&mut self, program: &'u Program) {
        if let Some(machine) = &program.machine {
            self.exprs.extend(machine.arguments.iter().map(|(_, value)| value));
            self.exprs.extend(&machine.on);
            machine.without.iter().for_each(|ends| self.ends(ends));
        }
        if let Some(implements) = &program.collective {
            self.exprs.extend(implements.arguments.iter().map(|(_, value)| value));
            self.exprs.extend(&implements.in_place);
        }
        for setting in &program.options {
            match &setting.value {
                OptionValue::Value(value) => self.exprs.push(value),
                OptionValue::Word(_) => {}
                OptionValue::Bytes { from, to, .. } => self.exprs.extend(from.iter().chain(to)),
                OptionValue::Map(entries) => self.exprs.extend(entries.iter().map(|(_, v)| v)),
            }
        }
        for region in program.scratch.iter() {
            self.dimensions(&region.dimensions);
        }
        for channel in program.channels.iter() {
            self.dimensions(&channel.dimensions);
            self.link(&channel.link);
            self.exprs.extend(channel.to.iter().flat_map(|end| &end.indices));
        }
        for semaphore in program.semaphores.iter() {
            self.dimensions(&semaphore.dimensions);
            self.exprs.extend(&semaphore.initial);
        }
        for block in program.blocks.iter() {
            self.dimensions(block.dimensions.as_deref().unwrap_or_default());
            self.exprs.extend(&block.id);
        }
        for item in &program.body {
            match item {
                ProgramItem::Statement(statement) => self.stmts.push(statement),
                ProgramItem::Scratch(_)
                | ProgramItem::Channel(_)
                | ProgramItem::Semaphore(_)
                | ProgramItem::Block(_) => {}
            }
        }
    }

    fn link(&mut self, link: &'u Link) {
        match link {
            Link::Memory(peer) | Link::Port(peer) => self.exprs.push(&peer.rank),
            Link::Switch(ranks, _) => self.exprs.push(ranks),
            Link::If(condition, then, otherwise) => {
                self.exprs.push(condition);
                self.link(then);
                self.link(otherwise);
            }
        }
    }

    fn dimensions(&mut self, dimensions: &'u [Dimension]) {
        for dimension in dimensions {
            match dimension {
                Dimension::Binder(binder) => self.binders(std::slice::from_ref(binder)),
                Dimension::Count(count) => self.exprs.push(count),
            }
        }
    }

    fn binders(&mut self, binders: &'u [Binder]) {
        for binder in binders {
            self.exprs.push(&binder.list);
            self.exprs.extend(&binder.filter);
        }
    }

    fn operands(&mut self, operands: &'u [Operand]) {
        for operand in operands {
            match operand {
                Operand::One(value) => self.exprs.push(value),
                Operand::Each(binders, value) => {
                    self.binders(binders);
                    self.exprs.push(value);
                }
            }
        }
    }

    fn statement(&mut self, statement: &'u Stmt) {
        match &statement.kind {
            StmtKind::Let(_, value) | StmtKind::Require(value, _) => self.exprs.push(value),
            StmtKind::For(binders, body) => {
                self.binders(binders);
                self.stmts.extend(body);
            }
            StmtKind::If(condition, then, otherwise) => {
                self.exprs.push(condition);
                self.stmts.extend(then.iter().chain(otherwise));
            }
            StmtKind::Block { indices, body, .. } => {
                for index in indices {
                    match index {
                        BlockIndex::Binder(binder) => self.binders(std::slice::from_ref(binder)),
                        BlockIndex::At(value) => self.exprs.push(value),
                        BlockIndex::All(_) => {}
                    }
                }
                self.stmts.extend(body);
            }
            StmtKind::Group(members, body) => {
                self.operands(members);
                self.stmts.extend(body);
            }
            StmtKind::Pipeline { unit, chunks, body } => {
                self.exprs.extend([unit, chunks]);
                self.stmts.extend(body);
            }
            StmtKind::Barrier(members) => self.operands(members),
            StmtKind::Sync => {}
            StmtKind::Transfer(transfer) => {
                self.operands(&transfer.sources);
                self.operands(&transfer.destinations);
                self.operands(&transfer.via);
                self.exprs.extend(transfer.slice.iter().flat_map(|(index, count)| [index, count]));
            }
            StmtKind::Synchronise(operation) => self.operands(&operation.operands),
            StmtKind::Call(_, arguments) => {
                self.exprs.extend(arguments.iter().map(|(_, value)| value));
            }
        }
    }

    fn expr(&mut self, expr: &'u Expr) {
        match &expr.kind {
            ExprKind::Int(_)
            | ExprKind::Rate(_)
            | ExprKind::Time(_)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Local(_)
            | ExprKind::Constant(_)
            | ExprKind::Builtin(_, None)
            | ExprKind::Buffer(_)
            | ExprKind::Error => {}
            ExprKind::Builtin(_, Some(of)) | ExprKind::Unary(_, of) => self.exprs.push(of),
            ExprKind::RankAt(a, b)
            | ExprKind::RemoteBuffer(a, b)
            | ExprKind::SwitchBuffer(a, b)
            | ExprKind::Element(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::Range(_, a, b) => self.exprs.extend([&**a, &**b]),
            ExprKind::If(a, b, c) => self.exprs.extend([&**a, &**b, &**c]),
            ExprKind::Channels(_, indices)
            | ExprKind::Semaphores(_, indices)
            | ExprKind::Blocks(_, indices) => self.indices(indices),
            ExprKind::Slice(base, indices) => {
                self.exprs.push(base);
                self.indices(indices);
            }
            ExprKind::List(members) | ExprKind::Set(members) | ExprKind::Intrinsic(_, members) => {
                self.exprs.extend(members);
            }
            ExprKind::Each(_, binders, value) | ExprKind::Fold(_, binders, value) => {
                self.binders(binders);
                self.exprs.push(value);
            }
            ExprKind::Call(_, arguments) => {
                self.exprs.extend(arguments.iter().map(|(_, value)| value));
            }
            ExprKind::Method(_, base, arguments) => {
                self.exprs.push(base);
                self.exprs.extend(arguments);
            }
        }
    }

    fn indices(&mut self, indices: &'u [Index]) {
        for index in indices {
            match index {
                Index::At(value) | Index::To(value, _) | Index::From(value) => {
                    self.exprs.push(value);
                }
                Index::All(_) | Index::Whole(_) => {}
            }
        }
    }
}
