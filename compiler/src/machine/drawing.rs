//! A picture of a machine as SVG: its ranks, node by node, its switches, and the links between them.
//!
//! Ranks that are linked directly stand in a circle, others in a row under the switches of their node. Switches of
//! several nodes are above, those that join switches higher. The wider a line, the more it carries.

use super::listing::describe_edge;
use super::{EdgeEnds, Machine};
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;
use std::fmt::Write as _;
use synth::graph::{DirectedEdge, Vertex};
use synth::rational::Rational;

/// The most links that are drawn; nobody can tell more apart.
pub const MOST_LINKS: usize = 4096;

/// How far ranks of a row are apart, the radius of a rank, and the space around everything.
const STEP: f64 = 46.0;
const RADIUS: f64 = 14.0;
const MARGIN: f64 = 24.0;
/// The height of a row of switches, and of a switch.
const ROW: f64 = 64.0;
const SWITCH: f64 = 24.0;
/// The least space between switches of a row, and that between a switch's name and its border.
const GAP: f64 = 8.0;
const PADDING: f64 = 6.0;
/// The width of a character: monospace fonts of 11 pixels have 6.6 to 6.65.
const CHARACTER: f64 = 6.7;
/// How many nodes stand beside each other.
const NODES_IN_ROW: usize = 4;

const STYLE: &str = "text{font:11px monospace;fill:#1f2328;text-anchor:middle}.name{font-weight:bold}\
.node{fill:#f6f8fa;stroke:#c4cad0}.rank{fill:#ddf4ff;stroke:#0969da}.switch{fill:#fff8c5;stroke:#9a6700}\
.memory{stroke:#0969da}.port{stroke:#1a7f37;stroke-dasharray:5 3}.link{fill:none;opacity:.6}";

/// A place in the picture.
#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
}

/// A node of the machine: its ranks, and the switches that lead to these only.
struct NodeParts {
    number: Option<u32>,
    ranks: Vec<Vertex>,
    switches: Vec<Vertex>,
    /// The width of its row of switches.
    switch_row: f64,
    in_circle: bool,
}

impl NodeParts {
    fn radius(&self) -> f64 {
        (self.ranks.len() as f64 * STEP / TAU).max(STEP)
    }

    fn width(&self) -> f64 {
        let ranks =
            if self.in_circle { 2.0 * self.radius() } else { self.ranks.len() as f64 * STEP };
        (ranks + 2.0 * RADIUS).max(self.switch_row)
    }

    fn height(&self) -> f64 {
        let ranks = if self.in_circle { 2.0 * self.radius() } else { 0.0 };
        let switches = if self.switches.is_empty() { 0.0 } else { ROW };
        ranks + switches + 4.0 * RADIUS
    }
}

/// The picture; none if it would have too many links.
#[must_use]
pub fn write_drawing(machine: &Machine) -> Option<String> {
    if machine.graph.edges().len() > MOST_LINKS {
        return None;
    }
    let nodes = collect_nodes(machine);
    let above = collect_above(machine, &nodes);
    let title = format!("{}: {}", machine.name, machine.describe_size());
    let rows: Vec<&[NodeParts]> = nodes.chunks(NODES_IN_ROW).collect();
    let node_widths =
        rows.iter().map(|row| row.iter().map(|node| node.width() + MARGIN).sum::<f64>());
    let inner = node_widths.fold(0.0, f64::max) + MARGIN;
    let widths = above.iter().map(|row| measure_row(machine, row)).chain([text_width(&title)]);
    let width = widths.map(|width| width + 2.0 * MARGIN).fold(inner, f64::max).ceil();
    let mut places: BTreeMap<Vertex, Point> = BTreeMap::new();
    let mut boxes = String::new();
    let top = MARGIN + 20.0;
    for (level, switches) in above.iter().rev().enumerate() {
        let corner = Point { x: 0.0, y: top + level as f64 * ROW };
        place_switches(machine, switches, corner, width, &mut places);
    }
    let mut y = top + above.len() as f64 * ROW;
    for row in rows {
        let mut x = (width - inner) / 2.0 + MARGIN;
        for node in row {
            place_node(machine, node, Point { x, y }, &mut places, &mut boxes);
            x += node.width() + MARGIN;
        }
        y += row.iter().map(NodeParts::height).fold(0.0, f64::max) + MARGIN;
    }
    let height = y.ceil();
    let mut body = boxes;
    draw_links(machine, &places, &mut body);
    draw_vertices(machine, &places, &mut body);
    let title = escape(&title);
    let middle = width / 2.0;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#fff\"/>\n\
         <text class=\"name\" x=\"{middle:.0}\" y=\"18\">{title}</text>\n{body}</svg>\n"
    ))
}

fn collect_nodes(machine: &Machine) -> Vec<NodeParts> {
    let graph = &machine.graph;
    let node_of =
        |rank: Vertex| machine.nodes.as_ref().and_then(|nodes| nodes.get(rank.0 as usize)).copied();
    let mut parts: BTreeMap<Option<u32>, NodeParts> = BTreeMap::new();
    for rank in graph.ranks() {
        let number = node_of(rank);
        let node = parts.entry(number).or_insert_with(|| NodeParts {
            number,
            ranks: Vec::new(),
            switches: Vec::new(),
            switch_row: 0.0,
            in_circle: false,
        });
        node.ranks.push(rank);
    }
    for edge in
        graph.edges().iter().filter(|edge| graph.is_rank(edge.from) && graph.is_rank(edge.to))
    {
        if let Some(node) = parts.get_mut(&node_of(edge.from)) {
            node.in_circle |= node_of(edge.to) == node.number;
        }
    }
    if machine.nodes.is_none() {
        return parts.into_values().collect();
    }
    for switch in (graph.count_ranks()..graph.count_vertices() as u32).map(Vertex) {
        let neighbors = machine.edges_from(switch).iter().map(|edge| edge.to);
        let owners: BTreeSet<Option<Option<u32>>> =
            neighbors.map(|vertex| graph.is_rank(vertex).then(|| node_of(vertex))).collect();
        // Inside is a switch whose neighbors are all of one node.
        let own = if owners.len() == 1 { owners.first().copied().flatten() } else { None };
        if let Some(node) = own.and_then(|number| parts.get_mut(&number)) {
            node.switches.push(switch);
        }
    }
    for node in parts.values_mut() {
        node.switch_row = measure_row(machine, &node.switches);
    }
    parts.into_values().collect()
}

/// The switches of several nodes, row by row: first those that ranks or switches of nodes have ports of.
fn collect_above(machine: &Machine, nodes: &[NodeParts]) -> Vec<Vec<Vertex>> {
    let graph = &machine.graph;
    let inside: BTreeSet<Vertex> =
        nodes.iter().flat_map(|node| node.switches.iter().copied()).collect();
    let mut known: BTreeSet<Vertex> = graph.ranks().chain(inside).collect();
    let mut left: BTreeSet<Vertex> = (graph.count_ranks()..graph.count_vertices() as u32)
        .map(Vertex)
        .filter(|switch| !known.contains(switch))
        .collect();
    let mut rows = Vec::new();
    while !left.is_empty() {
        let near = |switch: &&Vertex| {
            machine.edges_from(**switch).iter().any(|edge| known.contains(&edge.to))
        };
        let mut row: Vec<Vertex> = left.iter().filter(near).copied().collect();
        if row.is_empty() {
            row = left.iter().copied().collect();
        }
        left.retain(|switch| !row.contains(switch));
        known.extend(row.iter().copied());
        rows.push(row);
    }
    rows
}

/// How wide a text is at most.
fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

fn switch_width(machine: &Machine, switch: Vertex) -> f64 {
    text_width(&machine.name_vertex(switch)) + 2.0 * PADDING
}

/// The least width of a row of switches.
fn measure_row(machine: &Machine, switches: &[Vertex]) -> f64 {
    switches.iter().map(|switch| switch_width(machine, *switch) + GAP).sum::<f64>() + GAP
}

/// Places switches side by side, with equal spaces between them; `width` is at least what [`measure_row`] says.
fn place_switches(
    machine: &Machine,
    switches: &[Vertex],
    corner: Point,
    width: f64,
    places: &mut BTreeMap<Vertex, Point>,
) {
    let spaces = switches.len() as f64 + 1.0;
    let gap = GAP + (width - measure_row(machine, switches)) / spaces;
    let mut x = corner.x + gap;
    for switch in switches {
        let own = switch_width(machine, *switch);
        places.insert(*switch, Point { x: x + own / 2.0, y: corner.y + SWITCH });
        x += own + gap;
    }
}

fn place_node(
    machine: &Machine,
    node: &NodeParts,
    corner: Point,
    places: &mut BTreeMap<Vertex, Point>,
    boxes: &mut String,
) {
    let (width, height) = (node.width(), node.height());
    if let Some(number) = node.number {
        let (x, y) = (corner.x, corner.y);
        _ = writeln!(
            boxes,
            "<rect class=\"node\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"6\"/>\n\
             <text x=\"{:.0}\" y=\"{:.0}\">node {number}</text>",
            x + width / 2.0,
            y + height - 6.0,
        );
    }
    place_switches(machine, &node.switches, corner, width, places);
    let below = if node.switches.is_empty() { 0.0 } else { ROW };
    let middle = Point { x: corner.x + width / 2.0, y: corner.y + below + 2.0 * RADIUS - 6.0 };
    let count = node.ranks.len() as f64;
    for (index, rank) in node.ranks.iter().enumerate() {
        let at = index as f64;
        let place = if node.in_circle {
            let (sine, cosine) = (TAU * at / count - TAU / 4.0).sin_cos();
            let radius = node.radius() - RADIUS;
            Point {
                x: middle.x + radius * cosine,
                y: middle.y + node.radius() * (1.0 + sine) - RADIUS * sine,
            }
        } else {
            Point { x: middle.x + (at - (count - 1.0) / 2.0) * STEP, y: middle.y }
        };
        places.insert(*rank, place);
    }
}

fn draw_links(machine: &Machine, places: &BTreeMap<Vertex, Point>, body: &mut String) {
    let edges = machine.graph.edges();
    let most = edges.iter().map(|edge| edge.rate.amount).max().unwrap_or(Rational::ONE);
    // What leads both ways is one line.
    let mut drawn: BTreeMap<EdgeEnds, Vec<&DirectedEdge>> = BTreeMap::new();
    for edge in edges {
        let (from, to) = (edge.from.min(edge.to), edge.from.max(edge.to));
        drawn.entry(EdgeEnds { from, to }).or_default().push(edge);
    }
    for (ends, edges) in drawn {
        let (Some(one), Some(other)) = (places.get(&ends.from), places.get(&ends.to)) else {
            continue;
        };
        let Some(first) = edges.first() else { continue };
        let class = if first.abilities.memory { "memory" } else { "port" };
        let title: Vec<String> = edges
            .iter()
            .map(|edge| {
                let [from, to] = [edge.from, edge.to].map(|vertex| machine.name_vertex(vertex));
                format!("{from} to {to}: {}", describe_edge(edge))
            })
            .collect();
        _ = writeln!(
            body,
            "<path class=\"link {class}\" stroke-width=\"{:.1}\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"><title>{}</title></path>",
            width_of(first.rate.amount, most),
            one.x,
            one.y,
            other.x,
            other.y,
            escape(&title.join("\n")),
        );
    }
}

/// 5 for the largest rate; a tenth of it has 2.5.
fn width_of(rate: Rational, most: Rational) -> f64 {
    let value = |rate: Rational| rate.numerator() as f64 / rate.denominator() as f64;
    (5.0 + 2.5 * (value(rate) / value(most)).log10()).max(1.0)
}

fn draw_vertices(machine: &Machine, places: &BTreeMap<Vertex, Point>, body: &mut String) {
    for (vertex, Point { x, y }) in places {
        let name = machine.name_vertex(*vertex);
        let text = if machine.graph.is_rank(*vertex) {
            _ = writeln!(
                body,
                "<circle class=\"rank\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\"/>"
            );
            vertex.to_string()
        } else {
            let width = switch_width(machine, *vertex);
            let (left, top) = (x - width / 2.0, y - SWITCH / 2.0);
            _ = writeln!(
                body,
                "<rect class=\"switch\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{SWITCH}\" rx=\"3\"/>"
            );
            escape(&name)
        };
        _ = writeln!(body, "<text x=\"{x:.1}\" y=\"{:.1}\">{text}</text>", y + 4.0);
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
