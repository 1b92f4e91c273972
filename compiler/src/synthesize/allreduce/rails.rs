//! An AllReduce of two levels, for long messages on nodes with rails: each rank is responsible for its own piece. The ranks
//! of its place on all nodes add up the piece for their nodes, it adds these sums, and the result takes the same ways back.

use crate::synthesize::channels::Channels;
use crate::synthesize::{
    MAX_BLOCK_CHANNELS, ProgramForm, ProgramHead, ProgramNodes, WINDOW, write_head,
    write_requirements,
};
use std::fmt::{self, Write as _};
use synth::graph::Vertex;
use synth::trees::{AllReduceTrees, TreeDirection, WeightedTree};

/// Nodes with rails.
pub(super) struct ReducedRails {
    nodes: ProgramNodes,
}

impl ReducedRails {
    /// Whether trees have this form.
    pub(super) fn find(
        head: &ProgramHead<'_>,
        trees: &AllReduceTrees,
        channels: &Channels,
    ) -> Option<ReducedRails> {
        let Channels::Nodes { ranks_per_node } = *channels else { return None };
        let ranks = head.machine.graph.count_ranks();
        let nodes = ProgramNodes { ranks_per_node, nodes: ranks / ranks_per_node };
        let of_machine = head.machine.nodes.as_ref()?;
        let has_nodes = (0..ranks).map(|rank| rank / ranks_per_node).eq(of_machine.iter().copied());
        let has_form = |trees: &[WeightedTree], direction| {
            let own = trees.iter().map(|tree| (tree.root.0, tree.weight));
            own.eq((0..ranks).map(|rank| (rank, 1)))
                && trees.iter().all(|tree| crosses_rails(tree, direction, nodes))
        };
        let has_room = nodes.nodes.max(ranks_per_node) as usize <= MAX_BLOCK_CHANNELS;
        (head.form == ProgramForm::Shortest
            && has_nodes
            && has_room
            && has_form(&trees.sums, TreeDirection::ToRoot)
            && has_form(&trees.copies, TreeDirection::FromRoot))
        .then_some(ReducedRails { nodes })
    }

    /// Writes the program.
    pub(super) fn write_program(&self, head: &ProgramHead<'_>, text: &mut String) -> fmt::Result {
        write_head(head, text)?;
        // One more import follows those of the head.
        text.truncate(text.trim_end().len());
        writeln!(text, "\nuse std::patterns::{{handshake, meet}};\n")?;
        write_requirements(head, Some(self.nodes), text)?;
        writeln!(
            text,
            "collective allreduce(ranks, in_place = true);
            options {{ instances = instances; }}
            channel near[n in 0..nodes, p in node_peers] = memory(p);
            channel out[q in rail_peers] = port(q) to into[rank];
            channel into[q in rail_peers] = port(q) to out[rank];
            scratch parts[q in rail_peers];

            // The piece of my place on node `n`.
            block piece[n in 0..nodes] {{
                let q = rank_at(n, local_rank);
                handshake(near[n, *]);
                pipeline unit = {WINDOW}, chunks = 1 {{
                    // The sum of my node, and then of all nodes.
                    reduce output[q], (p in node_peers: p.output[q]) -> output[q] via near[n, *];
                    if q == rank {{
                        wait into[*];
                        reduce output[q], parts[*] -> output[q];
                    }} else {{
                        put_with_signal output[q] -> q.parts[rank] via out[q];
                    }}
                }}
                pipeline unit = {WINDOW}, chunks = 1 {{
                    // It goes along the rail, and then to the others of my node.
                    if q == rank {{
                        put_with_signal output[q] -> (p in rail_peers: p.output[q]) via into[*];
                    }} else {{
                        wait out[q];
                    }}
                    put output[q] -> (p in node_peers: p.output[q]) via near[n, *];
                }}
                meet(near[n, *]);    // all has arrived
                if q == rank {{ wait into[*]; }} else {{ signal out[q]; }}
            }}
            }}"
        )
    }
}

/// Whether pieces go from each rank to the one of the root's place on its node, and from there to the root, or back.
fn crosses_rails(tree: &WeightedTree, direction: TreeDirection, nodes: ProgramNodes) -> bool {
    let size = nodes.ranks_per_node.max(1);
    tree.edges.iter().all(|edge| {
        let (child, parent) = match direction {
            TreeDirection::ToRoot => (edge.from, edge.to),
            TreeDirection::FromRoot => (edge.to, edge.from),
        };
        let place = Vertex(child.0 / size * size + tree.root.0 % size);
        parent == if child == place { tree.root } else { place }
    })
}
