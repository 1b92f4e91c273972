//! An AllReduce through a switch that adds and copies, for long messages: each rank is responsible for its own piece.

use crate::synthesize::{MAX_BLOCK_CHANNELS, ProgramHead, write_head, write_requirements};
use std::fmt::{self, Write as _};
use synth::graph::Topology;
use synth::trees::{AllReduceTrees, TreeEdge, WeightedTree};

/// Whether one switch, which can add and copy, joins all ranks over memory in all trees, and each rank is the root of one
/// piece.
pub(super) fn are_stars(graph: &Topology, trees: &AllReduceTrees) -> bool {
    let halves = [&trees.sums, &trees.copies];
    let mut edges = halves.into_iter().flatten().flat_map(|tree| &tree.edges);
    let find_center = |edge: &TreeEdge| if graph.is_rank(edge.from) { edge.to } else { edge.from };
    let Some(center) = edges.clone().next().map(find_center) else { return false };
    let index = center.0.checked_sub(graph.count_ranks());
    let switch = index.and_then(|index| graph.switches().get(index as usize));
    let is_able = switch.is_some_and(|switch| switch.multicast && switch.reduce);
    let is_memory = |edge: &TreeEdge| {
        let mut path = edge.path.iter().filter_map(|index| graph.edges().get(index.0 as usize));
        path.all(|edge| edge.abilities.memory)
    };
    is_able
        && edges.all(|edge| find_center(edge) == center && is_memory(edge))
        && halves.into_iter().all(|trees| {
            let roots = trees.iter().map(|tree| (tree.root, tree.weight));
            let spans = |tree: &WeightedTree| tree.edges.len() == graph.count_ranks() as usize;
            roots.eq(graph.ranks().map(|rank| (rank, 1))) && trees.iter().all(spans)
        })
}

/// Writes the program.
pub(super) fn write_program(head: &ProgramHead<'_>, text: &mut String) -> fmt::Result {
    let meeting = Meeting::find(head.machine.graph.count_ranks());
    write_head(head, text)?;
    // One more import follows those of the head.
    text.truncate(text.trim_end().len());
    writeln!(text, "\n{};\n", meeting.import)?;
    write_requirements(head, None, text)?;
    let Meeting { channels, before, after, .. } = meeting;
    writeln!(
        text,
        "collective allreduce(ranks, in_place = true);
        options {{ instances = instances; tags = {{ nvls = 1 }}; }}
        channel nvls = switch(0..ranks, output);
        {channels}

        // The switch adds up what it reads, and writes the sum to all ranks at once.
        block main {{
            {before}
            reduce nvls.output[rank] -> output[rank];
            broadcast output[rank] -> nvls.output[rank];
            {after}
        }}
        }}"
    )
}

/// How all ranks tell each other that they have begun, and that all is read and written.
struct Meeting {
    import: &'static str,
    channels: &'static str,
    before: &'static str,
    after: &'static str,
}

impl Meeting {
    /// Each with each other, or by dissemination, if a block has no room for so many channels.
    fn find(ranks: u32) -> Meeting {
        if ranks as usize <= MAX_BLOCK_CHANNELS + 1 {
            return Meeting {
                import: "use std::patterns::{handshake, meet}",
                channels: "channel mem[p in peers] = memory(p);",
                before: "handshake(mem);",
                after: "meet(mem);",
            };
        }
        Meeting {
            import: "use std::math::log2_ceil",
            channels:
                "let distances = [k in 0..log2_ceil(ranks): 1 << k];
        channel mem[p in {d in distances, sign in [1, -1]: (rank + sign * d) % ranks}] = memory(p);",
            before: "for d in distances {
                signal mem[(rank + d) % ranks] relaxed;
                wait mem[(rank - d) % ranks] relaxed;
            }",
            after: "for d in distances {
                signal mem[(rank + d) % ranks];
                wait mem[(rank - d) % ranks];
            }",
        }
    }
}
