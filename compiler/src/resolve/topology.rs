//! Topologies, and the machine that a program is for. In: trees. Out: resolved topologies.
//!
//! Rules: `ranks` is given once (E1104, E0203); a link and a port have a bandwidth, which is a rate everywhere or a
//! number everywhere (E1101, E1103); a vertex is a rank, or a switch of this topology with all its indices (E1102);
//! only a switch multicasts and reduces (E1101).

use super::body::{Body, Bound, Level, wrong};
use super::call::Callee;
use super::declare::set_twice;
use super::global::{Declared, Entity, declared_twice};
use super::import::Wanted;
use super::name::meant;
use super::program::{
    Ability, AbilityList, CountWord, EndPair, Expr, LinkFamily, MachineUse, PortFamily, Properties,
    RankCount, Stmt, StmtKind, SwitchFamily, SwitchId, Topology, TopologyId, TopologyItem, Type,
    Vertex,
};
use super::signature::Takes;
use super::types::{self, Ty};
use crate::diagnostic::{Code, Diagnostic, listed, nearest};
use crate::source::Span;
use crate::syntax::ast;
use crate::table::{Id, Table};
use std::collections::{BTreeMap, BTreeSet};

/// Resolves a topology whose signature is known.
pub(super) fn topology(
    body: &mut Body,
    declared: Declared<'_, ast::Topology>,
    takes: &[Takes],
) -> Topology {
    let ast = declared.ast;
    let parameters = body.parameters(&ast.parameters, takes, Level::Default);
    let names = SwitchNames::collect(ast, &mut body.reports);
    for (name, switch) in &names.switches {
        let name = ast::Name { text: name.clone(), span: switch.span };
        body.check_hiding(&name, Bound::Let);
    }
    let mut clauses = Clauses::new(names);
    for item in &ast.items {
        let around = body.allow(&item.attributes, item.span);
        body.topology_item(item, &mut clauses);
        body.allowed = around;
    }
    let broken = body.globals.modules.modules[declared.module].is_broken();
    if !broken {
        report_unconnected(body, &clauses);
    }
    if clauses.ranks.is_none() && !broken {
        body.report(without_ranks(&ast.name));
    }
    Topology {
        name: ast.name.text.clone(),
        span: ast.name.span,
        parameters,
        switches: clauses.switches,
        items: clauses.items,
        frame: body.frame(),
    }
}

/// The switches of a topology, which links may name before they are declared.
#[derive(Default)]
struct SwitchNames {
    switches: BTreeMap<String, NamedSwitch>,
}

/// What links have to know about a switch.
#[derive(Clone, Copy)]
struct NamedSwitch {
    id: SwitchId,
    /// How many indices it has.
    arity: usize,
    /// Where its name is declared.
    span: Span,
}

impl SwitchNames {
    fn collect(ast: &ast::Topology, reports: &mut Vec<Diagnostic>) -> SwitchNames {
        let mut names = SwitchNames::default();
        let switches = ast.items.iter().filter_map(|item| match &item.kind {
            ast::TopologyItemKind::Switch(switch) => Some(switch),
            ast::TopologyItemKind::Let(_)
            | ast::TopologyItemKind::Require(_)
            | ast::TopologyItemKind::Count(_)
            | ast::TopologyItemKind::Link(_) => None,
        });
        for (index, switch) in switches.enumerate() {
            let (span, arity) = (switch.name.span, switch.dimensions.len());
            let named = NamedSwitch { id: SwitchId::from_index(index), arity, span };
            match names.switches.get(&switch.name.text) {
                Some(first) => reports.push(declared_twice(&switch.name.text, span, first.span)),
                None => drop(names.switches.insert(switch.name.text.clone(), named)),
            }
        }
        names
    }
}

/// What the clauses of a topology have given so far.
struct Clauses {
    names: SwitchNames,
    items: Vec<TopologyItem>,
    switches: Table<SwitchId, SwitchFamily>,
    ranks: Option<Span>,
    ranks_per_node: Option<Span>,
    /// The first bandwidth, and its type.
    bandwidth: Option<FirstBandwidth>,
}

/// The bandwidth whose type all others have to have.
struct FirstBandwidth {
    ty: Type,
    span: Span,
}

impl Clauses {
    fn new(names: SwitchNames) -> Clauses {
        Clauses {
            names,
            items: Vec::new(),
            switches: Table::default(),
            ranks: None,
            ranks_per_node: None,
            bandwidth: None,
        }
    }
}

/// What properties belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Link,
    Ports,
    Switch,
}

impl Body<'_> {
    fn topology_item(&mut self, item: &ast::TopologyItem, clauses: &mut Clauses) {
        match &item.kind {
            ast::TopologyItemKind::Let(let_) => {
                let kind = self.let_(let_);
                clauses.items.push(self.topology_statement(kind, item.span));
            }
            ast::TopologyItemKind::Require(require) => {
                let kind = self.require_statement(require);
                clauses.items.push(self.topology_statement(kind, item.span));
            }
            ast::TopologyItemKind::Count(count) => {
                let (word, given) = match count.word.text.as_str() {
                    "ranks" => (CountWord::Ranks, &mut clauses.ranks),
                    _ => (CountWord::RanksPerNode, &mut clauses.ranks_per_node),
                };
                if let Some(first) = given.replace(count.word.span) {
                    self.report(set_twice(&count.word, first));
                }
                let count = self.expect(&count.count, &Ty::Int);
                clauses.items.push(TopologyItem::Count(RankCount { word, count }));
            }
            ast::TopologyItemKind::Link(link) => {
                let link = self.scoped(|body| body.link_family(link, clauses));
                clauses.items.push(TopologyItem::Link(Box::new(link)));
            }
            ast::TopologyItemKind::Switch(switch) => {
                let switch = self.scoped(|body| body.switch_family(switch, clauses));
                let id = clauses.switches.push(switch);
                clauses.items.push(TopologyItem::Switch(id));
            }
        }
    }

    fn topology_statement(&self, kind: StmtKind, span: Span) -> TopologyItem {
        TopologyItem::Statement(Box::new(Stmt { kind, span, allowed: self.allowed.clone() }))
    }

    fn link_family(&mut self, link: &ast::Link, clauses: &mut Clauses) -> LinkFamily {
        let binders = self.binders(&link.binders);
        let ends = self.end_pair(&link.ends, &clauses.names);
        let properties = self.properties(&link.properties, Owner::Link, clauses);
        if properties.bandwidth.is_none() && !names_bandwidth(&link.properties) {
            self.report(without_bandwidth(link.ends.span, "this link"));
        }
        LinkFamily { binders, ends, properties }
    }

    fn switch_family(&mut self, switch: &ast::Switch, clauses: &mut Clauses) -> SwitchFamily {
        let dimensions = self.dimensions(&switch.dimensions, "i");
        let properties = self.properties(&switch.properties, Owner::Switch, clauses);
        let mut ports = Vec::new();
        for port in &switch.ports {
            let lacks = !names_bandwidth(&switch.properties) && !names_bandwidth(&port.properties);
            if lacks {
                self.report(without_bandwidth(port.span, "these ports"));
            }
            ports.push(self.scoped(|body| {
                let binders = body.binders(&port.binders);
                let vertex = body.vertex(&port.vertex, &clauses.names);
                let properties = body.properties(&port.properties, Owner::Ports, clauses);
                PortFamily { binders, vertex, properties, span: port.span }
            }));
        }
        let (name, span) = (switch.name.text.clone(), switch.name.span);
        SwitchFamily { name, span, dimensions, ports, properties }
    }

    fn end_pair(&mut self, ends: &ast::LinkEnds, names: &SwitchNames) -> EndPair {
        let from = self.vertex(&ends.from, names);
        let to = self.vertex(&ends.to, names);
        EndPair { from, to, direction: ends.direction, span: ends.span }
    }

    /// A switch if the expression names one, and otherwise a rank.
    fn vertex(&mut self, expr: &ast::Expr, names: &SwitchNames) -> Vertex {
        if let ast::ExprKind::If(condition, then, otherwise) = &expr.kind {
            let condition = self.expect(condition, &Ty::Bool);
            let then = Box::new(self.vertex(then, names));
            return Vertex::If(condition, then, Box::new(self.vertex(otherwise, names)));
        }
        let mut indices = [].as_slice();
        let mut base = expr;
        if let ast::ExprKind::Index(indexed, with) = &expr.kind {
            (base, indices) = (indexed, with);
        }
        let named = if let ast::ExprKind::Name(name) = &base.kind { Some(name) } else { None };
        let named = named.filter(|name| self.local(name).is_none());
        match named.and_then(|name| names.switches.get_key_value(name)) {
            Some((name, switch)) => self.switch_vertex(name, *switch, base.span, indices),
            None => self.rank_vertex(expr, named, names),
        }
    }

    fn switch_vertex(
        &mut self,
        name: &str,
        switch: NamedSwitch,
        place: Span,
        indices: &[ast::Index],
    ) -> Vertex {
        self.uses.add(place, switch.span);
        let span = indices.last().map_or(place, |last| place.to(place_of(last)));
        let mut resolved = Vec::new();
        for index in indices {
            match index {
                ast::Index::At(index) => resolved.push(self.expect(index, &Ty::Int)),
                ast::Index::All(_)
                | ast::Index::Whole(_)
                | ast::Index::To(..)
                | ast::Index::From(..) => {
                    self.report(several_switches(name, place_of(index)));
                    return Vertex::Rank(wrong(span));
                }
            }
        }
        if resolved.len() != switch.arity {
            self.report(wrong_switch_arity(name, span, &switch, resolved.len()));
            return Vertex::Rank(wrong(span));
        }
        Vertex::Switch(switch.id, resolved, span)
    }

    fn rank_vertex(
        &mut self,
        expr: &ast::Expr,
        named: Option<&String>,
        names: &SwitchNames,
    ) -> Vertex {
        let before = self.reports.len();
        let rank = self.expect(expr, &Ty::Rank);
        let known = names.switches.keys().map(String::as_str);
        let is_unknown = self
            .reports
            .get(before)
            .is_some_and(|report| report.code == Code::E0201 && report.fix.is_none());
        if is_unknown
            && let Some(near) = named.and_then(|name| nearest(name, known))
            && let Some(report) = self.reports.pop()
        {
            self.reports.push(meant(report, expr.span, near));
        }
        Vertex::Rank(rank)
    }

    fn properties(
        &mut self,
        properties: &[ast::Property],
        owner: Owner,
        clauses: &mut Clauses,
    ) -> Properties {
        let mut resolved = Properties::default();
        let mut given: BTreeMap<&str, Span> = BTreeMap::new();
        for property in properties {
            let name = property.name.text.as_str();
            if let Some(first) = given.insert(name, property.name.span) {
                self.report(set_twice(&property.name, first));
                continue;
            }
            match (name, &property.value) {
                ("bandwidth", ast::PropertyValue::Value(value)) => {
                    resolved.bandwidth = self.bandwidth(value, clauses);
                }
                ("latency", ast::PropertyValue::Value(value)) => {
                    let value = self.expect_for(
                        value,
                        &Ty::Time,
                        Some((property.name.span, "a latency is a time, such as `350ns`")),
                    );
                    resolved.latency = Some(value);
                }
                ("abilities", ast::PropertyValue::Abilities(names)) => {
                    let abilities = self.abilities(names, owner);
                    resolved.abilities = Some(AbilityList { abilities, span: property.span });
                }
                ("abilities", ast::PropertyValue::Value(value)) => {
                    self.report(no_list_of_abilities(value.span));
                }
                ("bandwidth" | "latency", ast::PropertyValue::Abilities(_)) => {
                    self.report(no_value(property));
                }
                (_, value) => {
                    if let ast::PropertyValue::Value(value) = value {
                        self.expr(value, None);
                    }
                    self.report(unknown_property(&property.name));
                }
            }
        }
        resolved
    }

    /// A bandwidth, whose type must be that of all others of the topology.
    fn bandwidth(&mut self, value: &ast::Expr, clauses: &mut Clauses) -> Option<Expr> {
        let typed = self.expr(value, Some(&Ty::Rate));
        let ty = self.types.close(&typed.ty);
        if ty == Type::Error {
            return None;
        }
        if !matches!(ty, Type::Rate | Type::Int | Type::Rank) {
            self.report(no_bandwidth(value.span, &ty));
            return None;
        }
        let ty = if ty == Type::Rank { Type::Int } else { ty };
        match &clauses.bandwidth {
            Some(first) if first.ty != ty => {
                self.report(mixed_bandwidths(value.span, &ty, first.span));
                return None;
            }
            Some(_) => {}
            None => clauses.bandwidth = Some(FirstBandwidth { ty, span: value.span }),
        }
        Some(typed.expr)
    }

    fn abilities(&mut self, names: &[ast::Name], owner: Owner) -> Vec<Ability> {
        let mut abilities = Vec::new();
        for name in names {
            let found = Ability::ALL.into_iter().find(|ability| ability.word() == name.text);
            let is_of_switch = matches!(found, Some(Ability::Multicast | Ability::Reduce));
            match found {
                None => self.report(unknown_ability(name)),
                Some(_) if is_of_switch && owner != Owner::Switch => {
                    self.report(ability_of_switch(name));
                }
                Some(ability) => abilities.push(ability),
            }
        }
        abilities
    }

    /// `topology dgx_h100(boxes = 2) on [0, 1] without [0 -> 1];`
    pub(super) fn machine(&mut self, ast: &ast::Machine, span: Span) -> Option<MachineUse> {
        self.at_level(Level::Machine, |body| body.resolve_machine(ast, span))
    }

    fn resolve_machine(&mut self, ast: &ast::Machine, span: Span) -> Option<MachineUse> {
        let on = ast.on.as_ref().map(|on| self.expect(on, &Ty::Rank.list()));
        let Some(id) = self.find_topology(&ast.name) else {
            for argument in &ast.arguments {
                self.expr(&argument.value, None);
            }
            return None;
        };
        let takes = self.signatures.topologies[id].parameters.clone();
        let declared = self.globals.topologies[id];
        let (name, place, definition) = (&*ast.name.text, ast.name.span, declared.ast.name.span);
        let callee = Callee { name, place, definition, also: &[] };
        let arguments = self.arguments(callee, &takes, &ast.arguments);
        let names = SwitchNames::collect(declared.ast, &mut Vec::new());
        let without = ast.without.iter().map(|ends| self.end_pair(ends, &names)).collect();
        Some(MachineUse { topology: id, arguments, on, without, span })
    }

    fn find_topology(&mut self, name: &ast::Name) -> Option<TopologyId> {
        let names = self.globals.names.lookup(self.module)?;
        if let Some(named) = names.topologies.get(&name.text).copied() {
            self.use_global(&name.text, named, name.span);
            return match named.entity {
                Entity::Topology(id) => Some(id),
                Entity::Function(_)
                | Entity::Procedure(_)
                | Entity::Constant(_)
                | Entity::Collective(_)
                | Entity::Program(_)
                | Entity::Lost => None,
            };
        }
        if !self.is_lost(&name.text) {
            let near =
                self.globals.nearest(&name.text, names.topologies.keys().map(String::as_str));
            let message = format!("no topology is called `{}`", name.text);
            let report = Diagnostic::new(Code::E0201, name.span, message);
            let report = self.suggest_called(report, (name, Wanted::Topology), near);
            self.report(report);
        }
        None
    }
}

/// Where an index is.
fn place_of(index: &ast::Index) -> Span {
    match index {
        ast::Index::At(expr) => expr.span,
        ast::Index::All(span)
        | ast::Index::Whole(span)
        | ast::Index::To(_, _, span)
        | ast::Index::From(_, span) => *span,
    }
}

/// Whether there is a bandwidth among properties, or something unknown that was meant as one.
fn names_bandwidth(properties: &[ast::Property]) -> bool {
    let others = ["latency", "abilities"];
    properties.iter().any(|property| !others.contains(&property.name.text.as_str()))
}

fn without_ranks(name: &ast::Name) -> Diagnostic {
    let message = format!("the topology `{}` does not say how many ranks it has", name.text);
    Diagnostic::new(Code::E1104, name.span, message).help("add their number: `ranks 8;`")
}

fn without_bandwidth(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new(Code::E1101, span, format!("nothing says how much {what} can carry"))
        .help("add the bandwidth in one direction: `bandwidth = 25GBps`, or a number where only ratios matter")
}

/// Reports switches without ports that no link and no other switch's port leads to or from.
fn report_unconnected(body: &mut Body, clauses: &Clauses) {
    let mut connected = BTreeSet::new();
    for item in &clauses.items {
        if let TopologyItem::Link(link) = item {
            collect_switches(&link.ends.from, &mut connected);
            collect_switches(&link.ends.to, &mut connected);
        }
    }
    for port in clauses.switches.iter().flat_map(|switch| &switch.ports) {
        collect_switches(&port.vertex, &mut connected);
    }
    for (id, switch) in clauses.switches.entries() {
        if switch.ports.is_empty() && !connected.contains(&id.index()) {
            body.report(without_ports(&switch.name, switch.span));
        }
    }
}

/// Adds the switches, by their indices, that a vertex may be.
fn collect_switches(vertex: &Vertex, switches: &mut BTreeSet<usize>) {
    match vertex {
        Vertex::Rank(_) => {}
        Vertex::Switch(id, ..) => drop(switches.insert(id.index())),
        Vertex::If(_, then, otherwise) => {
            collect_switches(then, switches);
            collect_switches(otherwise, switches);
        }
    }
}

fn without_ports(name: &str, span: Span) -> Diagnostic {
    let message = format!("the switch `{name}` has no ports");
    Diagnostic::new(Code::E1101, span, message)
        .help("say what it joins: `ports (r in 0..8: r), bandwidth = 450GBps;`")
}

fn several_switches(name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E1102,
        span,
        format!("a link ends at one switch `{name}`, not at several"),
    )
    .help("bind the index: `link i in 0..4: .. -> leaf[i]`")
}

fn wrong_switch_arity(name: &str, span: Span, switch: &NamedSwitch, given: usize) -> Diagnostic {
    let indices = |count: usize| match count {
        0 => "no index".to_owned(),
        1 => "one index".to_owned(),
        count => format!("{count} indices"),
    };
    let message = format!(
        "the switch `{name}` has {}, and {} given",
        indices(switch.arity),
        match given {
            0 => "none is".to_owned(),
            1 => "one is".to_owned(),
            count => format!("{count} are"),
        }
    );
    Diagnostic::new(Code::E1102, span, message).and(switch.span, "declared here")
}

fn unknown_property(name: &ast::Name) -> Diagnostic {
    const NAMES: [&str; 3] = ["bandwidth", "latency", "abilities"];
    let message = format!("`{}` is no property of a link or a switch", name.text);
    let report = Diagnostic::new(Code::E1101, name.span, message);
    match nearest(&name.text, NAMES) {
        Some(near) => meant(report, name.span, near),
        None => report.help("there are `bandwidth`, `latency` and `abilities`"),
    }
}

fn no_value(property: &ast::Property) -> Diagnostic {
    let name = &property.name.text;
    let message = format!("`{name}` takes one value, not a list");
    Diagnostic::new(Code::E1101, property.span, message)
}

fn no_list_of_abilities(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E1101, span, "abilities are a list of names")
        .help("write them in brackets: `abilities = [memory, port]`")
}

fn unknown_ability(name: &ast::Name) -> Diagnostic {
    let words = Ability::ALL.map(Ability::word);
    let message = format!("no ability is called `{}`", name.text);
    let report = Diagnostic::new(Code::E1101, name.span, message);
    match nearest(&name.text, words) {
        Some(near) => meant(report, name.span, near),
        None => {
            report.help(format!("there are {}", listed(&words.map(|word| format!("`{word}`")))))
        }
    }
}

fn ability_of_switch(name: &ast::Name) -> Diagnostic {
    let message = format!("`{}` is an ability of a switch", name.text);
    Diagnostic::new(Code::E1101, name.span, message)
        .label("a link or a port only carries what it is given")
        .help("give it to the switch: `abilities = [memory, multicast, reduce];` in its braces")
}

fn no_bandwidth(span: Span, ty: &Type) -> Diagnostic {
    let message = format!("a bandwidth is a rate or a number, and this is {}", types::describe(ty));
    Diagnostic::new(Code::E1103, span, message)
        .help("a rate has its unit: `25GBps`, or `400Gbps` in bits")
}

fn mixed_bandwidths(span: Span, ty: &Type, first: Span) -> Diagnostic {
    let (message, first_is) = if *ty == Type::Rate {
        ("this bandwidth is a rate, and another one is a number", "this is a number")
    } else {
        ("this bandwidth is a number, and another one is a rate", "this is a rate")
    };
    Diagnostic::new(Code::E1103, span, message)
        .and(first, first_is)
        .help("give all of them units, such as `25GBps`, or none of them")
}
