//! Programs of trees, for long messages. Where a group of shifts keeps the trees, they are rules (`levels` and `lanes`);
//! otherwise, a thread block for each tree passes the pieces of its root on, window by window.
//! Away from the root, a rank puts them into the memory of those below it. Towards the root, a rank adds up what those
//! below it have: it reads that over memory channels, and gets it into its scratch memory where there are ports.

use super::channels::{Channels, UsedWay};
use super::lanes::LaneWriter;
use super::levels::find_levels;
use super::shifted::find_tree_rules;
use super::{
    MAX_BLOCKS, ProgramForm, ProgramHead, UnwrittenProgram, WINDOW, format_program,
    refuse_many_pieces, write_declarations, write_head,
};
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;
use synth::collective::CollectiveKind;
use synth::graph::Vertex;
use synth::trees::{TreeDirection, TreeRoots, TreeSet, WeightedTree};

/// Writes the program of trees, formatted.
///
/// # Errors
/// [`UnwrittenProgram`].
pub fn write_tree_program(
    head: &ProgramHead<'_>,
    trees: &TreeSet,
) -> Result<String, UnwrittenProgram> {
    let edges = trees.trees.iter().flat_map(|tree| &tree.edges);
    let ways = edges.map(|edge| UsedWay { from: edge.from, to: edge.to, path: &edge.path });
    let channels = Channels::find(head.machine, head.whole, ways)?;
    let rules = match (head.form, trees.roots) {
        (ProgramForm::Shortest, TreeRoots::EveryRank) => {
            find_tree_rules(head.machine.graph.count_ranks(), trees)
        }
        (ProgramForm::Shortest, TreeRoots::One(_)) | (ProgramForm::Table, _) => None,
    };
    let direction = trees.direction;
    let rules = rules.as_ref();
    let levels = rules.and_then(|rules| find_levels(head, rules, direction, &channels));
    let lanes = rules.and_then(|rules| LaneWriter::new(head, rules, direction, &channels));
    let mut text = String::new();
    let written = if let Some(levels) = levels {
        levels.write_program(head, &mut text)
    } else if let Some(lanes) = lanes {
        lanes.write_program(&mut text)
    } else if trees.trees.len() > MAX_BLOCKS {
        return Err(UnwrittenProgram::TooManyTrees { trees: trees.trees.len() });
    } else {
        refuse_many_pieces(trees.trees.iter().map(|tree| tree.weight))?;
        TreeWriter { head, trees, channels }.fill_program(&mut text)
    };
    written.map_err(|error| UnwrittenProgram::Malformed(error.to_string()))?;
    format_program(&text)
}

struct TreeWriter<'a> {
    head: &'a ProgramHead<'a>,
    trees: &'a TreeSet,
    channels: Channels,
}

impl TreeWriter<'_> {
    fn fill_program(&self, text: &mut String) -> fmt::Result {
        let adds_up = self.trees.direction == TreeDirection::ToRoot;
        let places = (adds_up && !self.channels.can_read()).then(|| self.assign_places());
        write_head(self.head, text)?;
        self.write_trees(text)?;
        self.write_parents(text)?;
        if let Some(places) = &places {
            self.write_places(places, text)?;
        }
        self.channels.write_functions(text)?;
        write_declarations(self.head, true, text)?;
        self.write_channels(text)?;
        if let Some(places) = &places {
            writeln!(text, "scratch parts[{}];", places.count)?;
        }
        let first = match (self.head.kind.root(), self.trees.k) {
            (Some(_), _) => "trees[t][1]".to_owned(),
            (None, 1) => "trees[t][0]".to_owned(),
            (None, pieces) => format!("trees[t][0] * {pieces} + trees[t][1]"),
        };
        writeln!(text, "\nblock tree[t in 0..trees.len()] {{\nlet first = {first};")?;
        match (adds_up, &places) {
            (false, _) => self.write_copies(text)?,
            (true, None) => self.write_reads(text)?,
            (true, Some(_)) => self.write_pushes(text)?,
        }
        writeln!(text, "}}\n}}")
    }

    fn write_trees(&self, text: &mut String) -> fmt::Result {
        writeln!(
            text,
            "/// Tree by tree: its root, the first of the root's pieces that it carries, and how many.\nlet trees = ["
        )?;
        let mut root = None;
        let mut first = 0;
        let mut rows = Vec::new();
        for tree in &self.trees.trees {
            if root.replace(tree.root) != Some(tree.root) {
                first = 0;
            }
            rows.push(format!("[{}, {first}, {}]", tree.root, tree.weight));
            first += tree.weight;
        }
        writeln!(text, "{},\n];\n", rows.join(", "))
    }

    fn write_parents(&self, text: &mut String) -> fmt::Result {
        let ranks = self.head.machine.graph.count_ranks();
        writeln!(
            text,
            "/// Tree by tree: the next rank on the way from each rank to the root; the root is its own.\nlet parents = ["
        )?;
        for tree in &self.trees.trees {
            let parents = self.list_parents(tree);
            let row: Vec<String> = parents.values().map(ToString::to_string).collect();
            writeln!(text, "[{}],", row.join(", "))?;
        }
        writeln!(text, "];\n\n/// The ranks whose next rank in a tree is `r`.")?;
        writeln!(
            text,
            "fn children(t: int, r: rank) -> int[] = {{p in 0..{ranks} if p != r && parents[t][p] == r: p}};\n"
        )?;
        writeln!(text, "/// The next rank from `r` in a tree; none for the root.")?;
        writeln!(
            text,
            "fn parent(t: int, r: rank) -> int[] = {{p in [parents[t][r]] if p != r: p}};\n"
        )
    }

    /// The parent of each rank; the root's is itself.
    fn list_parents(&self, tree: &WeightedTree) -> BTreeMap<Vertex, Vertex> {
        let mut parents: BTreeMap<Vertex, Vertex> =
            self.head.machine.graph.ranks().map(|rank| (rank, tree.root)).collect();
        for edge in &tree.edges {
            match self.trees.direction {
                TreeDirection::FromRoot => parents.insert(edge.to, edge.from),
                TreeDirection::ToRoot => parents.insert(edge.from, edge.to),
            };
        }
        parents
    }

    /// Where the pieces of each rank arrive in the scratch memory of its parent, tree by tree.
    fn assign_places(&self) -> PartPlaces {
        let mut next: BTreeMap<Vertex, u64> = BTreeMap::new();
        let mut rows = Vec::new();
        for tree in &self.trees.trees {
            let mut row = Vec::new();
            for (rank, parent) in self.list_parents(tree) {
                let place = next.entry(parent).or_default();
                row.push(*place);
                if rank != parent {
                    *place += tree.weight;
                }
            }
            rows.push(row);
        }
        PartPlaces { rows, count: next.into_values().max().unwrap_or(0).max(1) }
    }

    fn write_places(&self, places: &PartPlaces, text: &mut String) -> fmt::Result {
        writeln!(
            text,
            "/// Tree by tree: where the pieces of each rank arrive in the scratch memory of the next one.\nlet places = ["
        )?;
        for row in &places.rows {
            let row: Vec<String> = row.iter().map(ToString::to_string).collect();
            writeln!(text, "[{}],", row.join(", "))?;
        }
        writeln!(text, "];\n")
    }

    fn write_channels(&self, text: &mut String) -> fmt::Result {
        let constructor = self.channels.write_constructor();
        writeln!(
            text,
            "channel down[t in 0..trees.len(), p in children(t, rank)] = {constructor} to up[t, rank];"
        )?;
        writeln!(
            text,
            "channel up[t in 0..trees.len(), p in parent(t, rank)] = {constructor} to down[t, rank];"
        )
    }

    fn write_copies(&self, text: &mut String) -> fmt::Result {
        writeln!(
            text,
            "signal up[t, *] relaxed;
            wait down[t, *] relaxed;
            pipeline unit = {WINDOW}, chunks = 1 {{
                wait up[t, *];
                for c in first ..+ trees[t][2], p in children(t, rank) {{
                    put output[c] -> p.output[c] via down[t, p];
                }}
                signal down[t, *];
            }}"
        )?;
        if self.channels.can_read() {
            return Ok(());
        }
        writeln!(text, "signal up[t, *];    // all has arrived\nwait down[t, *];")
    }

    fn write_reads(&self, text: &mut String) -> fmt::Result {
        let buffer = self.find_buffer();
        writeln!(
            text,
            "pipeline unit = {WINDOW}, chunks = 1 {{
                wait down[t, *];
                for c in first ..+ trees[t][2], p in children(t, rank) {{
                    reduce {buffer}[c], p.{buffer}[c] -> {buffer}[c] via down[t, p];
                }}
                signal up[t, *];
            }}
            signal down[t, *];    // all is read
            wait up[t, *];"
        )
    }

    fn write_pushes(&self, text: &mut String) -> fmt::Result {
        let buffer = self.find_buffer();
        writeln!(
            text,
            "signal down[t, *] relaxed;
            wait up[t, *] relaxed;
            pipeline unit = {WINDOW}, chunks = 1 {{
                wait down[t, *];
                for i in 0..trees[t][2], p in children(t, rank) {{
                    reduce {buffer}[first + i], parts[places[t][p] + i] -> {buffer}[first + i];
                }}
                for i in 0..trees[t][2], p in parent(t, rank) {{
                    put {buffer}[first + i] -> p.parts[places[t][rank] + i] via up[t, p];
                }}
                signal up[t, *];
            }}
            signal down[t, *];    // all has arrived
            wait up[t, *];"
        )
    }

    fn find_buffer(&self) -> &'static str {
        if self.head.kind == CollectiveKind::ReduceScatter { "input" } else { "output" }
    }
}

/// Places in scratch memory.
struct PartPlaces {
    /// Tree by tree, for each rank.
    rows: Vec<Vec<u64>>,
    /// The largest number of them on a rank; at least 1.
    count: u64,
}
