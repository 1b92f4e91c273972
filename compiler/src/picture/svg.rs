//! The picture as SVG. It is self-contained, uses a font that exists everywhere, and has its content as text, too.

use super::event::{Arrow, Column, Event, Order, Scene, Step, Who};
use super::label;
use super::layout::Layout;
use super::{Agent, Mark};
use crate::bytes;
use crate::ir::{BlockId, ChannelId, Program, RankId};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Width of a character, height of a line, padding around text, gaps between columns and between rows, margin.
const CHARACTER: f64 = 6.7;
const LINE: usize = 14;
const PAD: usize = 7;
const ASIDE: usize = 26;
const BELOW: usize = 14;
const MARGIN: usize = 8;

/// From the operations of a pipeline to the frame around them.
const FRAME: usize = 4;

const STYLE: &str = "text{font:11px monospace;fill:#1f2328}.name{font-weight:bold}.box{fill:#f3f5f7;stroke:#6e7781}\
.stuck{fill:#fff;stroke-dasharray:4 3}.bar{fill:#dfe3e8;stroke:none}.window{fill:none;stroke:#6e7781}.mark{stroke:#cf222e;stroke-width:2.5}.red{fill:#cf222e}\
.life{stroke:#c4cad0}path{fill:none}.memory{stroke:#0969da;stroke-width:1.6}.execution{stroke:#6e7781;stroke-width:1.4;\
stroke-dasharray:6 4}.packet{stroke:#1a7f37;stroke-width:1.6;stroke-dasharray:2 3}.meeting{stroke:#8250df;stroke-width:3}\
.race{stroke:#cf222e;stroke-width:1.6;stroke-dasharray:2 2}";

/// A box: its upper left corner, its width and height.
#[derive(Clone, Copy)]
struct Area {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// Where everything is.
struct Sheet<'a> {
    program: &'a Program,
    scene: &'a Scene,
    layout: &'a Layout,
    /// For each column, its left edge and its width.
    columns: Vec<(usize, usize)>,
    /// For each row, its upper edge.
    rows: Vec<usize>,
    /// The lower edge of the last row.
    bottom: usize,
    width: usize,
}

/// Writes the picture.
pub(super) fn write(program: &Program, scene: &Scene, layout: &Layout, marks: &[Mark]) -> String {
    let sheet = sheet(program, scene, layout);
    let mut body = String::new();
    let marked: Vec<Area> = marks.iter().filter_map(|mark| sheet.marked(mark)).collect();
    if let [one, other] = marked.as_slice() {
        let ((x, y), (u, v)) = (one.middle(), other.middle());
        _ = writeln!(body, "<path class=\"race\" d=\"M{x} {y}L{u} {v}\"/>");
    }
    sheet.ranks(marks, &mut body);
    scene.columns.iter().for_each(|column| sheet.windows(column, &mut body));
    scene.arrows.iter().for_each(|arrow| sheet.arrow(arrow, &mut body));
    (0..scene.events.len()).for_each(|event| sheet.event(event, marks, &mut body));
    let height = sheet.legend(!marked.is_empty(), &mut body);
    let width = sheet.width;
    let name = &program.options.name;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>{}</title>\n<desc>{}</desc>\n<style>{STYLE}</style>\n<defs>{}</defs>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{body}</svg>\n",
        escaped(&format!("{name}: what its thread blocks do, and what orders them")),
        escaped(&sheet.told()),
        heads(),
    )
}

fn sheet<'a>(program: &'a Program, scene: &'a Scene, layout: &'a Layout) -> Sheet<'a> {
    let mut columns = Vec::new();
    let mut x = MARGIN;
    let mut before: Option<RankId> = None;
    for column in &scene.columns {
        if before.is_some_and(|rank| rank != column.rank) {
            x += ASIDE / 2;
        }
        before = Some(column.rank);
        let events = column.events.iter().filter_map(|event| scene.events.get(*event));
        let texts = events.flat_map(|event| event.lines.iter()).chain([&column.name]);
        let bar = label::rank(column.rank) + " starts";
        let longest =
            texts.chain([&bar]).map(|text| text.chars().count()).max().unwrap_or_default();
        let width = (longest as f64 * CHARACTER).ceil() as usize + 2 * PAD;
        columns.push((x, width));
        x += width + ASIDE;
    }
    let mut rows = Vec::new();
    // Above are the bars for the starts of ranks, and the names of columns.
    let mut y = MARGIN + LINE + 2 * PAD + LINE + BELOW;
    for row in 0..layout.count {
        let here = || scene.events.iter().zip(&layout.rows).filter(|(_, at)| **at == row);
        // Above a pipeline is the size of its window.
        if here().any(|(event, _)| event.step.inner == Some(0)) {
            y += LINE;
        }
        rows.push(y);
        let lines = here().map(|(event, _)| event.lines.len()).max().unwrap_or(1).max(1);
        y += lines * LINE + PAD + BELOW;
    }
    let column = |event: usize| scene.events.get(event).map(|event| event.column);
    let around = scene.arrows.iter().any(|arrow| column(arrow.from) == column(arrow.to));
    Sheet {
        program,
        scene,
        layout,
        columns,
        rows,
        bottom: y,
        width: (x + MARGIN).saturating_sub(if around { 0 } else { ASIDE }).max(260),
    }
}

impl Area {
    fn middle(self) -> (usize, usize) {
        (self.x + self.width / 2, self.y + self.height / 2)
    }
}

impl Sheet<'_> {
    /// The bars above and below the blocks of each rank, the names of columns, and their vertical lines.
    fn ranks(&self, marks: &[Mark], body: &mut String) {
        for (column, (x, width)) in self.scene.columns.iter().zip(&self.columns) {
            let middle = x + width / 2;
            let (top, name) = (MARGIN + LINE + 2 * PAD, escaped(&column.name));
            _ = writeln!(
                body,
                "<path class=\"life\" d=\"M{middle} {}V{}\"/>",
                top + LINE + 4,
                self.bottom
            );
            _ = writeln!(
                body,
                "<text class=\"name\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{name}</text>",
                top + LINE
            );
        }
        for rank in self.program.ranks.ids() {
            for (agent, says) in [(Agent::Before, "starts"), (Agent::After, "ends")] {
                let Some(area) = self.bar(rank, agent) else { continue };
                let mark = marks.iter().find(|mark| mark.rank == rank.0 && mark.agent == agent);
                let class = if mark.is_some() { "bar mark" } else { "bar" };
                rectangle(area, class, body);
                let text = format!("{} {says}", label::rank(rank));
                let (x, y) = (area.x + area.width / 2, area.y + LINE + 1);
                _ = writeln!(
                    body,
                    "<text class=\"name\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>"
                );
            }
        }
    }

    /// The bar of a rank's start or end, as wide as its blocks: the work of proxies does not end with them.
    fn bar(&self, rank: RankId, agent: Agent) -> Option<Area> {
        let own = || {
            let columns = self.scene.columns.iter().zip(&self.columns);
            let blocks = columns.filter(|(column, _)| matches!(column.who, Who::Block(_)));
            blocks.filter(move |(column, _)| column.rank == rank).map(|(_, place)| *place)
        };
        let (x, end) = (own().next()?.0, own().next_back().map(|(x, width)| x + width)?);
        let y = if agent == Agent::Before { MARGIN } else { self.bottom };
        Some(Area { x, y, width: end - x, height: LINE + PAD })
    }

    fn area(&self, event: usize) -> Option<Area> {
        let content = self.scene.events.get(event)?;
        let (x, width) = *self.columns.get(content.column)?;
        let y = *self.rows.get(*self.layout.rows.get(event)?)?;
        Some(Area { x, y, width, height: content.lines.len() * LINE + PAD })
    }

    /// The area that a mark is about.
    fn marked(&self, mark: &Mark) -> Option<Area> {
        match mark.agent {
            Agent::Before | Agent::After => self.bar(RankId(mark.rank), mark.agent),
            Agent::Block { .. } | Agent::Proxy { .. } => self.area(self.found(mark)?),
        }
    }

    fn found(&self, mark: &Mark) -> Option<usize> {
        let (who, block, operation, inner) = match mark.agent {
            Agent::Block { block, operation, inner } => {
                (Who::Block(BlockId(block)), block, operation, inner)
            }
            Agent::Proxy { channel, block, operation, inner } => {
                (Who::Proxy(ChannelId(channel)), block, operation, inner)
            }
            Agent::Before | Agent::After => return None,
        };
        let (block, operation) = (BlockId(block), operation as usize);
        let step = Step { block, operation, inner: inner.map(|inner| inner as usize) };
        self.scene.find(RankId(mark.rank), who, step)
    }

    /// Frames around the pipelines of a block.
    fn windows(&self, column: &Column, body: &mut String) {
        let events = column.events.iter().filter_map(|event| {
            let content = self.scene.events.get(*event)?;
            Some((content, self.area(*event)?))
        });
        let inside = events
            .filter(|(content, _)| matches!(column.who, Who::Block(_)) && content.unit.is_some());
        let inside: Vec<(&Event, Area)> = inside.collect();
        for window in
            inside.chunk_by(|(one, _), (next, _)| one.step.operation == next.step.operation)
        {
            let ([(first, Area { x, y, width, .. }), ..], Some((_, last))) =
                (window, window.last())
            else {
                continue;
            };
            let (top, bottom) = (y - LINE - FRAME, last.y + last.height + FRAME);
            let area =
                Area { x: x - FRAME, y: top, width: width + 2 * FRAME, height: bottom - top };
            rectangle(area, "window", body);
            let text = first.unit.map(every).unwrap_or_default();
            _ = writeln!(body, "<text x=\"{x}\" y=\"{}\">{text}</text>", y - FRAME);
        }
    }

    fn event(&self, event: usize, marks: &[Mark], body: &mut String) {
        let (Some(area), Some(content)) = (self.area(event), self.scene.events.get(event)) else {
            return;
        };
        let mark = marks.iter().find(|mark| self.found(mark) == Some(event));
        let mut class = "box".to_owned();
        class.push_str(if mark.is_some() { " mark" } else { "" });
        class.push_str(if self.layout.stuck.get(event) == Some(&true) { " stuck" } else { "" });
        rectangle(area, &class, body);
        for (number, line) in content.lines.iter().enumerate() {
            let y = area.y + (number + 1) * LINE - 1;
            _ = writeln!(body, "<text x=\"{}\" y=\"{y}\">{}</text>", area.x + PAD, escaped(line));
        }
        if let Some(launch) = mark.and_then(|mark| mark.launch) {
            let (x, y) = (area.x + area.width, area.y.saturating_sub(3));
            _ = writeln!(
                body,
                "<text class=\"red\" x=\"{x}\" y=\"{y}\" text-anchor=\"end\">launch {launch}</text>"
            );
        }
    }

    fn arrow(&self, arrow: &Arrow, body: &mut String) {
        let (Some(from), Some(to)) = (self.area(arrow.from), self.area(arrow.to)) else { return };
        let class = class(arrow.order);
        let (y, v) = (from.y + from.height / 2, to.y + to.height / 2);
        // Where it leaves and arrives, and to which side of both; in one column it stays on the right.
        let (x, u, out, back) = match from.x.cmp(&to.x) {
            Ordering::Less => (from.x + from.width, to.x, 1, -1),
            Ordering::Equal => (from.x + from.width, to.x + to.width, 1, 1),
            Ordering::Greater => (from.x, to.x + to.width, -1, 1),
        };
        let reach = |at: usize, way: i64| (at as i64 + way * (ASIDE as i64)).max(0);
        let head = if arrow.order == Order::Meeting {
            String::new()
        } else {
            format!(" marker-end=\"url(#{class})\"")
        };
        _ = writeln!(
            body,
            "<path class=\"{class}\" d=\"M{x} {y}C{} {y} {} {v} {u} {v}\"{head}/>",
            reach(x, out),
            reach(u, back),
        );
    }

    /// Adds the legend; returns the height of the picture.
    fn legend(&self, marked: bool, body: &mut String) -> usize {
        let mut y = self.bottom + LINE + PAD + BELOW;
        let mut orders: Vec<Order> = self.scene.arrows.iter().map(|arrow| arrow.order).collect();
        orders.sort_unstable();
        orders.dedup();
        let kinds = orders.into_iter().map(|order| (class(order), meaning(order)));
        let red = marked.then_some(("race", "what the report is about"));
        for (class, says) in kinds.chain(red) {
            _ = writeln!(body, "<path class=\"{class}\" d=\"M{MARGIN} {y}h28\"/>");
            _ = writeln!(body, "<text x=\"{}\" y=\"{}\">{says}</text>", MARGIN + 36, y + 4);
            y += LINE + 2;
        }
        y
    }

    /// The picture in words.
    fn told(&self) -> String {
        let mut text = String::new();
        let name = |event: usize| {
            let content = self.scene.events.get(event)?;
            let column = self.scene.columns.get(content.column)?;
            let number = column.events.iter().position(|own| *own == event)? + 1;
            Some(format!("{}, {}, {number}", label::rank(column.rank), column.name))
        };
        for column in &self.scene.columns {
            let events = column.events.iter().filter_map(|event| self.scene.events.get(*event));
            let steps: Vec<String> = events
                .enumerate()
                .map(|(number, event)| {
                    let every = event.unit.map(|unit| every(unit) + ": ").unwrap_or_default();
                    format!("{}. {every}{}", number + 1, event.lines.join(" "))
                })
                .collect();
            _ = writeln!(
                text,
                "{}, {}: {}.",
                label::rank(column.rank),
                column.name,
                steps.join("; ")
            );
        }
        for arrow in &self.scene.arrows {
            if let (Some(from), Some(to)) = (name(arrow.from), name(arrow.to)) {
                _ = writeln!(text, "From {from} to {to}: {}.", meaning(arrow.order));
            }
        }
        text
    }
}

/// What is above a pipeline with windows of this size.
fn every(unit: u64) -> String {
    format!("every {}", bytes::text(unit))
}

fn class(order: Order) -> &'static str {
    match order {
        Order::Memory => "memory",
        Order::Execution => "execution",
        Order::Packet => "packet",
        Order::Meeting => "meeting",
    }
}

fn meaning(order: Order) -> &'static str {
    match order {
        Order::Memory => "orders memory",
        Order::Execution => "orders execution only",
        Order::Packet => "a packet",
        Order::Meeting => "they synchronize",
    }
}

/// The heads of arrows.
fn heads() -> String {
    [("memory", "#0969da"), ("execution", "#6e7781"), ("packet", "#1a7f37")]
        .map(|(name, color)| {
            format!(
                "<marker id=\"{name}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
                 markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" style=\"fill:{color}\"/></marker>"
            )
        })
        .concat()
}

fn rectangle(area: Area, class: &str, body: &mut String) {
    let Area { x, y, width, height } = area;
    _ = writeln!(
        body,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\"/>"
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
