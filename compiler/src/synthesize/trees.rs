//! Programs of trees, for long messages: a thread block for each tree passes the pieces of its root on, window by window.

use super::channels::{Channels, UsedWay};
use super::{ProgramHead, UnwrittenProgram, format_program, write_declarations, write_head};
use std::fmt;
use std::fmt::Write as _;
use synth::graph::Vertex;
use synth::trees::{TreeSet, WeightedTree};

/// How many trees a program has at most: each has a thread block of its own, and an H100 runs 132 at once.
pub const MAX_TREES: usize = 128;

/// How many bytes of a piece a block passes on at a time.
const WINDOW: &str = "64KiB";

/// Writes the program of trees that lead from each rank to all others, for an AllGather, formatted.
///
/// # Errors
/// [`UnwrittenProgram`].
pub fn write_tree_program(
    head: &ProgramHead<'_>,
    trees: &TreeSet,
) -> Result<String, UnwrittenProgram> {
    if trees.trees.len() > MAX_TREES {
        return Err(UnwrittenProgram::TooManyTrees { trees: trees.trees.len() });
    }
    let paths = trees.trees.iter().flat_map(|tree| &tree.edges);
    let channels = Channels::find(
        head.machine,
        paths.map(|edge| UsedWay { from: edge.from, to: edge.to, path: &edge.path }),
    )?;
    let mut text = String::new();
    let written = fill_program(head, trees, &channels, &mut text);
    written.map_err(|error| UnwrittenProgram::Malformed(error.to_string()))?;
    format_program(&text)
}

fn fill_program(
    head: &ProgramHead<'_>,
    trees: &TreeSet,
    channels: &Channels,
    text: &mut String,
) -> fmt::Result {
    let (pieces, ranks) = (trees.k, head.machine.graph.count_ranks());
    write_head(head, text)?;
    writeln!(
        text,
        "/// Tree by tree: its root, the first of the root's pieces that it carries, and how many."
    )?;
    writeln!(text, "let trees = [")?;
    let mut root = None;
    let mut first = 0;
    let mut rows = Vec::new();
    for tree in &trees.trees {
        if root.replace(tree.root) != Some(tree.root) {
            first = 0;
        }
        rows.push(format!("[{}, {first}, {}]", tree.root, tree.weight));
        first += tree.weight;
    }
    writeln!(text, "{},\n];\n", rows.join(", "))?;
    writeln!(
        text,
        "/// Tree by tree: from which rank each rank gets the pieces; the root is its own."
    )?;
    writeln!(text, "let parents = [")?;
    for tree in &trees.trees {
        writeln!(text, "[{}],", list_parents(tree, ranks).join(", "))?;
    }
    writeln!(text, "];\n")?;
    writeln!(text, "/// The ranks that get the pieces of a tree from `r`.")?;
    writeln!(
        text,
        "fn children(t: int, r: rank) -> int[] = {{p in 0..{ranks} if p != r && parents[t][p] == r: p}};\n"
    )?;
    writeln!(text, "/// The rank from which `r` gets them; none for the root.")?;
    writeln!(
        text,
        "fn parent(t: int, r: rank) -> int[] = {{p in [parents[t][r]] if p != r: p}};\n"
    )?;
    channels.write_functions(text)?;
    write_declarations(head, true, text)?;
    let constructor = channels.write_constructor();
    writeln!(
        text,
        "channel down[t in 0..trees.len(), p in children(t, rank)] = {constructor} to up[t, rank];"
    )?;
    writeln!(
        text,
        "channel up[t in 0..trees.len(), p in parent(t, rank)] = {constructor} to down[t, rank];\n"
    )?;
    let first = if pieces == 1 {
        "trees[t][0]".to_owned()
    } else {
        format!("trees[t][0] * {pieces} + trees[t][1]")
    };
    writeln!(
        text,
        "block tree[t in 0..trees.len()] {{
            let first = {first};
            signal up[t, *] relaxed;
            wait down[t, *] relaxed;
            pipeline unit = {WINDOW}, chunks = 1 {{
                wait up[t, *];
                for c in first ..+ trees[t][2], p in children(t, rank) {{
                    put output[c] -> p.output[c] via down[t, p];
                }}
                signal down[t, *];
            }}
        }}
        }}"
    )
}

/// The parent of each rank; the root's is itself.
fn list_parents(tree: &WeightedTree, ranks: u32) -> Vec<String> {
    let find_parent = |rank: Vertex| {
        let edge = tree.edges.iter().find(|edge| edge.to == rank);
        edge.map_or(tree.root, |edge| edge.from).to_string()
    };
    (0..ranks).map(|rank| find_parent(Vertex(rank))).collect()
}
