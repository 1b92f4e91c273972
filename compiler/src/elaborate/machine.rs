//! Evaluates topologies: from a declaration and its arguments to a machine.
//!
//! First the `let`s, the counts and the members of switches are evaluated, in order; then the links and ports, which may
//! name switches that come later. The rules: 1 to 16,384 ranks and switches, at most 262,144 links (E1104, E1105); the
//! ends of a link are two vertices that exist (E1102); a bandwidth is above zero (E1103).

mod reports;

use super::arithmetic::amount;
use super::domain::Domain;
use super::eval::{Eval, Evaluated, Failed, Shared};
use super::value::Value;
use super::world::{Declared, World};
use super::{Settings, contract, fuel, new_eval};
use crate::bytes;
use crate::diagnostic::{Code, Diagnostic};
use crate::interrupt::Interrupt;
use crate::machine::{EdgeEnds, Machine, MachineReach};
use crate::resolve::program::{
    Ability, CountWord, EndPair, Expr, LinkFamily, MachineUse, PortFamily, Program, Properties,
    Stmt, StmtKind, SwitchFamily, SwitchId, Topology, TopologyId, TopologyItem, Type, Unit, Vertex,
};
use crate::source::Span;
use crate::syntax::ast::Direction;
use crate::table::Id;
use reports::{
    bad_count, no_rate, no_such_link, no_such_rank, no_such_switch, self_loop, too_many_links,
    too_many_vertices, unusable_link, wrong_domains, wrong_graph, wrong_nodes, wrong_rank_count,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use synth::graph::{
    self, DirectedEdge, EdgeAbilities, EdgeRate, MAX_EDGES, MAX_VERTICES, RateUnit, SwitchAbilities,
};
use synth::rational::Rational;

/// A topology with arguments, as a command names it.
#[derive(Clone, Debug)]
pub struct TopologyQuestion {
    /// The topology.
    pub topology: TopologyId,
    /// The arguments: the parameter's position, and its value.
    pub arguments: Vec<(usize, Expr)>,
    /// The ranks that are used; none for all.
    pub on: Option<Expr>,
    /// Where it is named.
    pub span: Span,
}

/// The machine that a topology is with these arguments; none if something is wrong, which is reported.
#[must_use]
pub fn evaluate_topology(
    unit: &Unit,
    question: &TopologyQuestion,
    interrupt: &Interrupt,
) -> (Option<Machine>, Vec<Diagnostic>) {
    let context = Program::without_items(question.span);
    let used = MachineUse {
        topology: question.topology,
        arguments: question.arguments.clone(),
        on: question.on.clone(),
        without: Vec::new(),
        span: question.span,
    };
    let mut shared = Shared::new(fuel(&Settings::default()), interrupt);
    let world = World { unit, program: &context, ranks: 1, ranks_per_node: 1 };
    let own = Rc::new(Declared::new(&context));
    let mut eval = new_eval(world, &mut shared, None, Vec::new(), own);
    let machine = eval.machine(&used).ok();
    let machine = if shared.reports.has_errors() { None } else { machine };
    (machine, shared.reports.finish(1))
}

/// The machine that a topology is without arguments, and what is wrong with it; nothing if it needs arguments.
#[must_use]
pub fn evaluate_alone(
    unit: &Unit,
    topology: TopologyId,
    interrupt: &Interrupt,
) -> (Option<Machine>, Vec<Diagnostic>) {
    let row = &unit.topologies[topology];
    if row.parameters.iter().any(|parameter| parameter.default.is_none()) {
        return (None, Vec::new());
    }
    let question = TopologyQuestion { topology, arguments: Vec::new(), on: None, span: row.span };
    let (machine, mut reports) = evaluate_topology(unit, &question, interrupt);
    // Nothing calls it.
    for report in &mut reports {
        report.secondary.retain(|label| label.place != row.span.into());
    }
    (machine, reports)
}

/// What is known of a topology while it is evaluated.
struct Draft<'a> {
    topology: &'a Topology,
    ranks: Option<i64>,
    ranks_per_node: Option<i64>,
    /// The members of each switch family, and the number of the first one among all switches.
    switches: Vec<SwitchRows>,
    /// How many switches there are.
    count: u64,
    abilities: Vec<SwitchAbilities>,
    names: Vec<String>,
    edges: Vec<DraftEdge>,
}

/// A switch family's members among all switches.
struct SwitchRows {
    domain: Domain,
    first: u64,
}

/// An edge with its place.
#[derive(Clone, Copy)]
struct DraftEdge {
    edge: DirectedEdge,
    place: Span,
    /// Where its bandwidth is given.
    bandwidth: Span,
}

/// The values of properties.
#[derive(Clone, Copy)]
struct Traits {
    rate: EdgeRate,
    /// Where the rate is given.
    place: Span,
    /// In nanoseconds.
    latency: u64,
    abilities: EdgeAbilities,
}

impl<'a> Draft<'a> {
    fn new(topology: &'a Topology) -> Draft<'a> {
        Draft {
            topology,
            ranks: None,
            ranks_per_node: None,
            switches: Vec::new(),
            count: 0,
            abilities: Vec::new(),
            names: Vec::new(),
            edges: Vec::new(),
        }
    }

    /// How many ranks there are.
    fn ranks(&self) -> u64 {
        self.ranks.unwrap_or(0).unsigned_abs()
    }
}

impl<'a> Eval<'_, 'a> {
    /// The machine of the program: that of the settings, or its own one. It must have the ranks, nodes and domains of the
    /// program.
    pub(super) fn find_machine(
        &mut self,
        settings: &'a Settings,
        ranks_per_domain: u32,
    ) -> Evaluated<Option<Arc<Machine>>> {
        let program = self.world.program;
        let (machine, place) = match (&settings.machine, &program.machine) {
            (Some(machine), _) => (Arc::clone(machine), None),
            (None, Some(used)) => (Arc::new(self.machine(used)?), Some(used.span)),
            (None, None) => return Ok(None),
        };
        let domains = program.ranks_per_domain.map(|_| ranks_per_domain);
        let nodes = program.ranks_per_node.map(|_| self.world.ranks_per_node);
        let place = place.unwrap_or(program.span);
        let report = wrong_rank_count(&machine, self.world.ranks, place)
            .or_else(|| nodes.and_then(|width| wrong_nodes(&machine, width, place)))
            .or_else(|| domains.and_then(|width| wrong_domains(&machine, width, place)));
        match report {
            Some(report) => Err(self.fail_at(String::new(), report)),
            None => Ok(Some(machine)),
        }
    }

    /// Evaluates a topology with the arguments that a program gives it.
    fn machine(&mut self, used: &'a MachineUse) -> Evaluated<Machine> {
        let world = self.world;
        let topology = &world.unit.topologies[used.topology];
        let frame =
            self.arguments(&topology.parameters, &used.arguments, topology.frame.len(), used.span)?;
        let arguments: Vec<String> = topology
            .parameters
            .iter()
            .zip(&frame)
            .filter_map(|(parameter, value)| {
                Some(format!("{} = {}", parameter.name, write_argument(value)?))
            })
            .collect();
        let mut draft = Draft::new(topology);
        self.nested(frame, &topology.frame, used.span, |eval| eval.draft(&mut draft))?;
        let mut removed = BTreeSet::new();
        for ends in &used.without {
            self.remove_links(&mut draft, &mut removed, ends)?;
        }
        let kept = match &used.on {
            Some(on) => self.kept_ranks(&draft, on)?,
            None => (0..draft.ranks() as u32).collect(),
        };
        let removed_links = used.without.first().map(|ends| ends.span);
        let machine = self.build(draft, &kept, name_machine(topology, &arguments))?;
        Ok(Machine { removed_links, ..machine })
    }

    fn draft(&mut self, draft: &mut Draft<'a>) -> Evaluated<()> {
        let topology = draft.topology;
        for item in &topology.items {
            match item {
                TopologyItem::Statement(statement) => self.draft_statement(statement)?,
                TopologyItem::Count(count) => {
                    let number = self.rank_count(&count.count, count.word)?;
                    match count.word {
                        CountWord::Ranks => draft.ranks = Some(number),
                        CountWord::RanksPerNode => draft.ranks_per_node = Some(number),
                    }
                }
                TopologyItem::Switch(id) => self.draft_switches(draft, &topology.switches[*id])?,
                TopologyItem::Link(_) => {}
            }
        }
        self.check_nodes(draft)?;
        for item in &topology.items {
            match item {
                TopologyItem::Link(link) => self.draft_links(draft, link)?,
                TopologyItem::Switch(id) => self.draft_ports(draft, *id)?,
                TopologyItem::Statement(_) | TopologyItem::Count(_) => {}
            }
        }
        Ok(())
    }

    fn draft_statement(&mut self, statement: &'a Stmt) -> Evaluated<()> {
        if let StmtKind::Let(local, value) = &statement.kind {
            let value = self.value(value)?;
            self.bind(*local, value);
        }
        if let StmtKind::Require(condition, message) = &statement.kind {
            self.require(condition, message.as_deref(), statement.span)?;
        }
        Ok(())
    }

    fn rank_count(&mut self, expr: &'a Expr, word: CountWord) -> Evaluated<i64> {
        let count = self.int(expr)?;
        if (1..=MAX_VERTICES as i64).contains(&count) {
            Ok(count)
        } else {
            Err(self.fail(expr, bad_count(expr.span, count, word)))
        }
    }

    fn check_nodes(&mut self, draft: &Draft) -> Evaluated<()> {
        let Some(ranks) = draft.ranks else { return Err(Failed) };
        let Some(width) = draft.ranks_per_node.filter(|width| ranks % width != 0) else {
            return Ok(());
        };
        let message = format!("{ranks} ranks cannot be split into nodes of {width}");
        let report = Diagnostic::new(Code::E1104, draft.topology.span, message);
        Err(self.fail_at(String::new(), report))
    }

    fn draft_switches(&mut self, draft: &mut Draft, switch: &'a SwitchFamily) -> Evaluated<()> {
        let domain = self.domain(&switch.dimensions, switch.span)?;
        let first = draft.count;
        draft.count = first.saturating_add(domain.len());
        if draft.count > MAX_VERTICES as u64 {
            return Err(self.fail_at(String::new(), too_many_vertices(switch.span)));
        }
        let members = domain.members();
        draft
            .names
            .extend(members.iter().map(|member| super::world::indexed(&switch.name, member)));
        draft.switches.push(SwitchRows { domain, first });
        let given = switch.properties.abilities.iter().flat_map(|list| &list.abilities);
        let mut abilities = SwitchAbilities::default();
        for ability in given {
            match ability {
                Ability::Multicast => abilities.multicast = true,
                Ability::Reduce => abilities.reduce = true,
                Ability::Memory | Ability::Port => {}
            }
        }
        draft.abilities.extend(members.iter().map(|_| abilities));
        Ok(())
    }

    fn draft_links(&mut self, draft: &mut Draft<'a>, link: &'a LinkFamily) -> Evaluated<()> {
        let _ = self.for_each(&link.binders, &mut |eval| {
            let EdgeEnds { from, to } = eval.ends(draft, &link.ends)?;
            let traits = eval.traits(&link.properties, None)?;
            eval.add_edge(draft, from, to, traits, link.ends.span)?;
            if link.ends.direction == Direction::Both {
                eval.add_edge(draft, to, from, traits, link.ends.span)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    fn draft_ports(&mut self, draft: &mut Draft<'a>, id: SwitchId) -> Evaluated<()> {
        let family = &draft.topology.switches[id];
        let Some(rows) = draft.switches.get(id.index()) else { return Ok(()) };
        let first = draft.ranks() + rows.first;
        for (row, member) in rows.domain.members().iter().enumerate() {
            self.bind_member(&family.dimensions, member);
            let switch = graph::Vertex((first + row as u64) as u32);
            // The ports lead both ways; what comes out of a switch has passed it.
            let through = match &family.properties.latency {
                Some(latency) => self.latency(latency)?,
                None => 0,
            };
            for ports in &family.ports {
                self.draft_port(draft, ports, &family.properties, switch, through)?;
            }
        }
        Ok(())
    }

    fn draft_port(
        &mut self,
        draft: &mut Draft<'a>,
        ports: &'a PortFamily,
        all: &'a Properties,
        switch: graph::Vertex,
        through: u64,
    ) -> Evaluated<()> {
        let _ = self.for_each(&ports.binders, &mut |eval| {
            let vertex = eval.vertex(draft, &ports.vertex)?;
            let traits = eval.traits(&ports.properties, Some(all))?;
            eval.add_edge(draft, vertex, switch, traits, ports.span)?;
            let latency = traits.latency.saturating_add(through);
            eval.add_edge(draft, switch, vertex, Traits { latency, ..traits }, ports.span)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    fn ends(&mut self, draft: &Draft, ends: &'a EndPair) -> Evaluated<EdgeEnds> {
        Ok(EdgeEnds { from: self.vertex(draft, &ends.from)?, to: self.vertex(draft, &ends.to)? })
    }

    fn vertex(&mut self, draft: &Draft, vertex: &'a Vertex) -> Evaluated<graph::Vertex> {
        match vertex {
            Vertex::Rank(expr) => {
                let rank = self.int(expr)?;
                if (0..draft.ranks() as i64).contains(&rank) {
                    Ok(graph::Vertex(rank as u32))
                } else {
                    Err(self.fail(expr, no_such_rank(expr.span, rank, draft)))
                }
            }
            Vertex::Switch(id, indices, span) => {
                let values: Evaluated<Vec<i64>> =
                    indices.iter().map(|index| self.int(index)).collect();
                let values = values?;
                let Some(rows) = draft.switches.get(id.index()) else { return Err(Failed) };
                match rows.domain.position(&values) {
                    Ok(row) => Ok(graph::Vertex((draft.ranks() + rows.first + row) as u32)),
                    Err(_) => {
                        let name =
                            super::world::indexed(&draft.topology.switches[*id].name, &values);
                        let report =
                            no_such_switch(*span, &name, draft.topology.switches[*id].span);
                        Err(self.fail_at(String::new(), report))
                    }
                }
            }
            Vertex::If(condition, then, otherwise) => {
                let chosen = if self.boolean(condition)? { then } else { otherwise };
                self.vertex(draft, chosen)
            }
        }
    }

    /// The values of properties; what they do not say, those of the whole switch do, if they are of a port.
    fn traits(&mut self, own: &'a Properties, all: Option<&'a Properties>) -> Evaluated<Traits> {
        let bandwidth = own.bandwidth.as_ref().or(all.and_then(|all| all.bandwidth.as_ref()));
        let bandwidth = bandwidth.ok_or(Failed)?;
        let value = self.value(bandwidth)?;
        let amount = amount(&value).ok_or(Failed)?;
        let is_rate = bandwidth.ty == Type::Rate;
        let unit = if is_rate { RateUnit::BytesPerSecond } else { RateUnit::ChunksPerRound };
        if amount <= 0 {
            return Err(self.fail(bandwidth, no_rate(bandwidth.span, amount, unit)));
        }
        let latency = match &own.latency {
            Some(latency) => self.latency(latency)?,
            None => 0,
        };
        let abilities = own.abilities.as_ref().or(all.and_then(|all| all.abilities.as_ref()));
        let has = |ability: Ability| abilities.is_none_or(|list| list.abilities.contains(&ability));
        let edge = EdgeAbilities { memory: has(Ability::Memory), port: has(Ability::Port) };
        if let Some(list) = abilities
            && !edge.memory
            && !edge.port
        {
            return Err(self.fail_at(String::new(), unusable_link(list.span)));
        }
        let rate = EdgeRate { amount: Rational::from_integer(amount.unsigned_abs()), unit };
        Ok(Traits { rate, place: bandwidth.span, latency, abilities: edge })
    }

    fn latency(&mut self, expr: &'a Expr) -> Evaluated<u64> {
        let value = self.value(expr)?;
        let time = amount(&value).ok_or(Failed)?;
        u64::try_from(time).map_err(|_| {
            let report = Diagnostic::new(Code::E1103, expr.span, "a latency cannot be below zero");
            self.fail(expr, report)
        })
    }

    fn add_edge(
        &mut self,
        draft: &mut Draft,
        from: graph::Vertex,
        to: graph::Vertex,
        traits: Traits,
        place: Span,
    ) -> Evaluated<()> {
        if from == to {
            return Err(self.fail_at(String::new(), self_loop(place, from, draft)));
        }
        if draft.edges.len() >= MAX_EDGES {
            return Err(self.fail_at(String::new(), too_many_links(place)));
        }
        let Traits { rate, place: bandwidth, latency, abilities } = traits;
        let edge = DirectedEdge { from, to, rate, latency_ns: latency, abilities };
        draft.edges.push(DraftEdge { edge, place, bandwidth });
        Ok(())
    }

    fn remove_links(
        &mut self,
        draft: &mut Draft,
        removed: &mut BTreeSet<EdgeEnds>,
        ends: &'a EndPair,
    ) -> Evaluated<()> {
        let EdgeEnds { from, to } = self.ends(draft, ends)?;
        let before = draft.edges.len();
        let back = ends.direction == Direction::Both;
        draft.edges.retain(|row| {
            let forward = row.edge.from == from && row.edge.to == to;
            let backward = back && row.edge.from == to && row.edge.to == from;
            if forward || backward {
                removed.insert(EdgeEnds { from: row.edge.from, to: row.edge.to });
            }
            !forward && !backward
        });
        if draft.edges.len() < before {
            Ok(())
        } else if removed.contains(&EdgeEnds { from, to }) {
            let message = "this link is taken away already";
            let report = Diagnostic::new(Code::E1111, ends.span, message);
            Err(self.fail_at(String::new(), report.help("name each link once")))
        } else {
            Err(self.fail_at(String::new(), no_such_link(ends.span, draft)))
        }
    }

    fn kept_ranks(&mut self, draft: &Draft, on: &'a Expr) -> Evaluated<Vec<u32>> {
        let mut kept: Vec<u32> = Vec::new();
        for value in self.list(on)?.iter() {
            self.spend(on.span)?;
            let Value::Int(rank) = value else { return Err(Failed) };
            if !(0..draft.ranks() as i64).contains(&rank) {
                return Err(self.fail(on, no_such_rank(on.span, rank, draft)));
            }
            if kept.contains(&(rank as u32)) {
                let message = format!("rank {rank} of the topology is named twice");
                let report = Diagnostic::new(Code::E1111, on.span, message);
                return Err(self.fail(on, report));
            }
            kept.push(rank as u32);
        }
        if kept.is_empty() {
            let message = "a program runs on at least one rank of the topology";
            Err(self.fail(on, Diagnostic::new(Code::E1111, on.span, message)))
        } else {
            Ok(kept)
        }
    }

    /// The machine of the ranks that are kept: the others neither send nor forward.
    fn build(&mut self, draft: Draft, kept: &[u32], name: String) -> Evaluated<Machine> {
        let mut numbers: BTreeMap<graph::Vertex, graph::Vertex> = BTreeMap::new();
        for (new, old) in (0..).zip(kept) {
            numbers.insert(graph::Vertex(*old), graph::Vertex(new));
        }
        let (all, own) = (draft.ranks() as u32, kept.len() as u32);
        for switch in 0..draft.abilities.len() as u32 {
            numbers.insert(graph::Vertex(all + switch), graph::Vertex(own + switch));
        }
        let mut rows = Vec::new();
        let mut places = BTreeMap::new();
        for row in &draft.edges {
            let ends = (numbers.get(&row.edge.from), numbers.get(&row.edge.to));
            let (Some(from), Some(to)) = ends else { continue };
            let (from, to) = (*from, *to);
            places.entry(EdgeEnds { from, to }).or_insert(row.place);
            rows.push(DraftEdge { edge: DirectedEdge { from, to, ..row.edge }, ..*row });
        }
        let edges: Vec<DirectedEdge> = rows.iter().map(|row| row.edge).collect();
        let graph = match graph::Topology::new(own, draft.abilities, &edges) {
            Ok(graph) => graph,
            Err(error) => {
                let report = wrong_graph(&error, &rows, draft.topology.span);
                return Err(self.fail_at(String::new(), report));
            }
        };
        let name = if own == all { name } else { format!("{name} with {own} of its {all} ranks") };
        let width = draft.ranks_per_node.and_then(|width| u32::try_from(width).ok());
        let nodes = width.map(|width| kept.iter().map(|rank| rank / width).collect());
        Ok(Machine {
            name,
            declared: draft.topology.span,
            removed_links: None,
            graph,
            nodes,
            switches: draft.names,
            places,
            reach: MachineReach::default(),
        })
    }
}

/// `dgx_h100(boxes = 2)`
fn name_machine(topology: &Topology, arguments: &[String]) -> String {
    if arguments.is_empty() {
        return topology.name.clone();
    }
    format!("{}({})", topology.name, arguments.join(", "))
}

/// An argument as it is written in source; none if it has no such form.
fn write_argument(value: &Value) -> Option<String> {
    match value {
        Value::Rate(rate) => Some(bytes::rate_text(*rate)),
        Value::Time(time) => Some(bytes::time_text(*time)),
        Value::List(list) => {
            let members: Option<Vec<String>> =
                list.iter().map(|member| write_argument(&member)).collect();
            Some(format!("[{}]", members?.join(", ")))
        }
        Value::Unset
        | Value::Int(_)
        | Value::Bool(_)
        | Value::Str(_)
        | Value::Chunk(_)
        | Value::Buffer(_)
        | Value::Channel(_)
        | Value::Semaphore(_)
        | Value::Block(_) => contract::written(value),
    }
}
