//! Programs of trees of an AllReduce, for long messages. For each tree, one thread block adds the pieces up towards the
//! root, window by window, and another one passes the sums on from there. Rails have formulas (`rails`), and so have
//! switches that add and copy for all ranks (`stars`).

mod rails;
mod stars;

use super::channels::{Channels, UsedWay};
use super::{
    MAX_BLOCKS, ProgramHead, UnwrittenProgram, WINDOW, format_program, refuse_many_pieces,
    write_head, write_requirements,
};
use rails::ReducedRails;
use stars::are_stars;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use synth::graph::Vertex;
use synth::trees::{AllReduceTrees, TreeDirection};

/// Writes the program of trees of an AllReduce, formatted.
///
/// # Errors
/// [`UnwrittenProgram`].
pub fn write_allreduce_tree_program(
    head: &ProgramHead<'_>,
    trees: &AllReduceTrees,
) -> Result<String, UnwrittenProgram> {
    let graph = &head.machine.graph;
    let edges = || trees.sums.iter().chain(&trees.copies).flat_map(|tree| &tree.edges);
    let mut text = String::new();
    let written = if are_stars(graph, trees) {
        stars::write_program(head, &mut text)
    } else if edges().any(|edge| !graph.is_rank(edge.from) || !graph.is_rank(edge.to)) {
        return Err(UnwrittenProgram::SwitchSums);
    } else {
        let ways = edges().map(|edge| UsedWay { from: edge.from, to: edge.to, path: &edge.path });
        let channels = Channels::find(head.machine, head.whole, ways)?;
        if let Some(rails) = ReducedRails::find(head, trees, &channels) {
            rails.write_program(head, &mut text)
        } else {
            let pairs = pair_trees(trees);
            if 2 * pairs.len() > MAX_BLOCKS {
                return Err(UnwrittenProgram::TooManyTrees { trees: 2 * pairs.len() });
            }
            refuse_many_pieces(pairs.iter().map(|pair| pair.count))?;
            PairWriter { head, trees, channels: &channels, pairs: &pairs }.fill_program(&mut text)
        }
    };
    written.map_err(|error| UnwrittenProgram::Malformed(error.to_string()))?;
    format_program(&text)
}

/// Pieces that are added up along one tree, and go back along another one.
struct TreePair {
    root: Vertex,
    /// The first of the pieces.
    first: u64,
    /// How many they are.
    count: u64,
    /// Which of the trees for sums.
    sums: usize,
    /// Which of the trees for copies.
    copies: usize,
}

/// A tree that is partly used up.
struct OpenTree {
    index: usize,
    /// How many of its pieces are left.
    left: u64,
}

/// Divides the pieces so that all of a part have the same trees. Those of each root weigh the same in both halves, and both
/// are in the order of the roots.
fn pair_trees(trees: &AllReduceTrees) -> Vec<TreePair> {
    let mut pairs = Vec::new();
    let mut first = 0;
    let mut copies = trees.copies.iter().enumerate();
    let mut open: Option<OpenTree> = None;
    for (sums, tree) in trees.sums.iter().enumerate() {
        let mut left = tree.weight;
        while left > 0 {
            let next = open
                .take()
                .filter(|own| own.left > 0)
                .or_else(|| copies.next().map(|(index, own)| OpenTree { index, left: own.weight }));
            let Some(own) = next else { return pairs };
            let count = left.min(own.left);
            pairs.push(TreePair { root: tree.root, first, count, sums, copies: own.index });
            first += count;
            left -= count;
            open = Some(OpenTree { left: own.left - count, ..own });
        }
    }
    pairs
}

struct PairWriter<'a> {
    head: &'a ProgramHead<'a>,
    trees: &'a AllReduceTrees,
    channels: &'a Channels,
    pairs: &'a [TreePair],
}

impl PairWriter<'_> {
    fn fill_program(&self, text: &mut String) -> fmt::Result {
        let sums = self.list_parents(TreeDirection::ToRoot);
        let copies = self.list_parents(TreeDirection::FromRoot);
        let names = HalfNames::find(&sums, &copies);
        let places = (!self.channels.can_read()).then(|| self.assign_places(&sums));
        write_head(self.head, text)?;
        self.write_pairs(text)?;
        writeln!(
            text,
            "/// Tree by tree: the next rank on the way from each rank to the root; the root is its own."
        )?;
        write_rows(names.sums, &sums, text)?;
        if names.sums != names.copies {
            writeln!(
                text,
                "/// Tree by tree: the rank before each rank on the way from the root."
            )?;
            write_rows(names.copies, &copies, text)?;
        }
        if let Some(places) = &places {
            places.write(text)?;
        }
        self.write_functions(text)?;
        self.channels.write_functions(text)?;
        self.write_items(names, places.as_ref(), text)?;
        self.write_sums(names, places.is_some(), text)?;
        self.write_copies(names, text)?;
        writeln!(text, "}}")
    }

    /// Pair by pair, for each rank the one on the way to the root; the root's is itself.
    fn list_parents(&self, direction: TreeDirection) -> Vec<Vec<Vertex>> {
        let rows = self.pairs.iter().map(|pair| {
            let tree = match direction {
                TreeDirection::ToRoot => self.trees.sums.get(pair.sums),
                TreeDirection::FromRoot => self.trees.copies.get(pair.copies),
            };
            let edges = tree.map_or(&[][..], |tree| &tree.edges);
            let mut row = vec![pair.root; self.head.machine.graph.count_ranks() as usize];
            for edge in edges {
                let (child, parent) = match direction {
                    TreeDirection::ToRoot => (edge.from, edge.to),
                    TreeDirection::FromRoot => (edge.to, edge.from),
                };
                if let Some(entry) = row.get_mut(child.0 as usize) {
                    *entry = parent;
                }
            }
            row
        });
        rows.collect()
    }

    fn write_pairs(&self, text: &mut String) -> fmt::Result {
        let rows: Vec<String> = self
            .pairs
            .iter()
            .map(|pair| format!("[{}, {}, {}]", pair.root, pair.first, pair.count))
            .collect();
        writeln!(
            text,
            "/// Tree by tree: its root, the first of the pieces that it carries, and how many.\nlet trees = [\n{},\n];\n",
            rows.join(", ")
        )
    }

    /// Where the pieces of each rank arrive in the scratch memory of its parent, tree by tree.
    fn assign_places(&self, parents: &[Vec<Vertex>]) -> PartPlaces {
        let mut next: BTreeMap<Vertex, u64> = BTreeMap::new();
        let mut rows = Vec::new();
        for (pair, parents) in self.pairs.iter().zip(parents) {
            let mut row = Vec::new();
            for (rank, parent) in (0..).map(Vertex).zip(parents) {
                let place = next.entry(*parent).or_default();
                row.push(*place);
                if rank != *parent {
                    *place += pair.count;
                }
            }
            rows.push(row);
        }
        PartPlaces { rows, count: next.into_values().max().unwrap_or(0).max(1) }
    }

    fn write_functions(&self, text: &mut String) -> fmt::Result {
        let ranks = self.head.machine.graph.count_ranks();
        writeln!(
            text,
            "/// The ranks whose next rank, in a row of such a table, is `r`.
            fn children(row: int[], r: rank) -> int[] = {{p in 0..{ranks} if p != r && row[p] == r: p}};\n
            /// The next rank from `r` on; none for the root.
            fn parent(row: int[], r: rank) -> int[] = {{p in [row[r]] if p != r: p}};\n"
        )
    }

    fn write_items(
        &self,
        names: HalfNames,
        places: Option<&PartPlaces>,
        text: &mut String,
    ) -> fmt::Result {
        let HalfNames { sums, copies } = names;
        let constructor = self.channels.write_constructor();
        write_requirements(self.head, None, text)?;
        writeln!(
            text,
            "collective allreduce(ranks, total = {}, in_place = true);
            options {{ instances = instances; }}
            channel lower[t in 0..trees.len(), p in children({sums}[t], rank)] = {constructor} to upper[t, rank];
            channel upper[t in 0..trees.len(), p in parent({sums}[t], rank)] = {constructor} to lower[t, rank];
            channel down[t in 0..trees.len(), p in children({copies}[t], rank)] = {constructor} to up[t, rank];
            channel up[t in 0..trees.len(), p in parent({copies}[t], rank)] = {constructor} to down[t, rank];
            semaphore ready[t in 0..trees.len() if trees[t][0] == rank];",
            self.head.chunks,
        )?;
        match places {
            Some(places) => writeln!(text, "scratch parts[{}];", places.count),
            None => Ok(()),
        }
    }

    fn write_sums(&self, names: HalfNames, pushes: bool, text: &mut String) -> fmt::Result {
        let sums = names.sums;
        writeln!(
            text,
            "\n// Sums, towards the roots.
            block add[t in 0..trees.len()] {{
                let first = trees[t][1];
                pipeline unit = {WINDOW}, chunks = 1 {{
                    wait lower[t, *];"
        )?;
        if pushes {
            writeln!(
                text,
                "for i in 0..trees[t][2], p in children({sums}[t], rank) {{
                    reduce output[first + i], parts[places[t][p] + i] -> output[first + i];
                }}
                for i in 0..trees[t][2], p in parent({sums}[t], rank) {{
                    put output[first + i] -> p.parts[places[t][rank] + i] via upper[t, p];
                }}"
            )?;
        } else {
            writeln!(
                text,
                "for c in first ..+ trees[t][2], p in children({sums}[t], rank) {{
                    reduce output[c], p.output[c] -> output[c] via lower[t, p];
                }}"
            )?;
        }
        writeln!(
            text,
            "signal upper[t, *];
                    if trees[t][0] == rank {{ release ready[t]; }}
                }}
            }}"
        )
    }

    fn write_copies(&self, names: HalfNames, text: &mut String) -> fmt::Result {
        let copies = names.copies;
        writeln!(
            text,
            "// The sums, from the roots.
            block copy[t in 0..trees.len()] {{
                let first = trees[t][1];
                pipeline unit = {WINDOW}, chunks = 1 {{
                    if trees[t][0] == rank {{ acquire ready[t]; }}
                    wait up[t, *];"
        )?;
        writeln!(
            text,
            "for c in first ..+ trees[t][2], p in children({copies}[t], rank) {{
                put output[c] -> p.output[c] via down[t, p];
            }}"
        )?;
        writeln!(text, "signal down[t, *];\n}}")?;
        if !self.channels.can_read() {
            writeln!(text, "signal up[t, *];    // all has arrived\nwait down[t, *];")?;
        }
        writeln!(text, "}}")
    }
}

/// What the tables of both halves are called: one name if they are the same.
#[derive(Clone, Copy)]
struct HalfNames {
    sums: &'static str,
    copies: &'static str,
}

impl HalfNames {
    fn find(sums: &[Vec<Vertex>], copies: &[Vec<Vertex>]) -> HalfNames {
        if sums == copies {
            HalfNames { sums: "parents", copies: "parents" }
        } else {
            HalfNames { sums: "sums", copies: "copies" }
        }
    }
}

/// Places in scratch memory.
struct PartPlaces {
    /// Tree by tree, for each rank.
    rows: Vec<Vec<u64>>,
    /// The largest number of them on a rank; at least 1.
    count: u64,
}

impl PartPlaces {
    fn write(&self, text: &mut String) -> fmt::Result {
        writeln!(
            text,
            "/// Tree by tree: where the pieces of each rank arrive in the scratch memory of the next one."
        )?;
        write_rows("places", &self.rows, text)
    }
}

fn write_rows<T: ToString>(name: &str, rows: &[Vec<T>], text: &mut String) -> fmt::Result {
    writeln!(text, "let {name} = [")?;
    for row in rows {
        let row: Vec<String> = row.iter().map(ToString::to_string).collect();
        writeln!(text, "[{}],", row.join(", "))?;
    }
    writeln!(text, "];\n")
}
