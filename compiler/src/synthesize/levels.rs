//! Programs of two levels, for long messages on nodes with rails: each chunk crosses the network once for each node, to
//! the same place there, and goes to the others of the node from there. Sums take the same ways back.
//!
//! Trees of machines whose network cards are slow have exactly this form. Where a few pieces go otherwise, the program
//! has lanes (`lanes`).

use super::channels::Channels;
use super::shifted::ShiftRules;
use super::{
    MAX_BLOCK_CHANNELS, MAX_BLOCKS, ProgramHead, ProgramNodes, WINDOW, write_head, write_opening,
};
use std::fmt::{self, Write as _};
use synth::trees::TreeDirection;

/// Nodes with rails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TwoLevels {
    nodes: ProgramNodes,
    direction: TreeDirection,
}

/// Whether trees have this form: ranks send their own chunk to the others of their node, and to the same place of all
/// other nodes, and from there it goes to the others of that node.
pub(super) fn find_levels(
    head: &ProgramHead<'_>,
    rules: &ShiftRules,
    direction: TreeDirection,
    channels: &Channels,
) -> Option<TwoLevels> {
    let Channels::Nodes { ranks_per_node } = *channels else { return None };
    let ranks = head.machine.graph.count_ranks();
    let nodes = ProgramNodes { ranks_per_node, nodes: ranks / ranks_per_node };
    let near: Vec<u32> = (1..ranks_per_node).collect();
    let far: Vec<u32> = (1..nodes.nodes).map(|node| node * ranks_per_node).collect();
    let table = rules.tables.first().filter(|table| head.chunks == 1 && !table.has_parts())?;
    let [first, second] = table.0.as_slice() else { return None };
    let has_form = rules.ways.iter().eq(near.iter().chain(&far))
        && rules.group.digits().iter().any(|digit| digit.stride == ranks_per_node)
        && first.iter().all(|load| load.wholes == [0])
        && second.iter().zip(&rules.ways).all(|(load, way)| {
            if *way < ranks_per_node { load.wholes == far } else { load.is_empty() }
        });
    let of_machine = head.machine.nodes.as_ref()?;
    let has_nodes = (0..ranks).map(|rank| rank / ranks_per_node).eq(of_machine.iter().copied());
    // One block reads from all others of the node, and waits for all that come along the rail.
    let has_room = near.len() <= MAX_BLOCK_CHANNELS
        && match direction {
            TreeDirection::FromRoot => 2 * far.len() < MAX_BLOCKS,
            TreeDirection::ToRoot => far.len() <= MAX_BLOCK_CHANNELS,
        };
    (has_form && has_nodes && has_room).then_some(TwoLevels { nodes, direction })
}

impl TwoLevels {
    /// Writes the program.
    pub(super) fn write_program(self, head: &ProgramHead<'_>, text: &mut String) -> fmt::Result {
        write_head(head, text)?;
        if self.direction == TreeDirection::ToRoot {
            // One more import follows those of the head.
            text.truncate(text.trim_end().len());
            writeln!(text, "\nuse std::patterns::{{handshake, meet}};\n")?;
        }
        write_opening(head, true, Some(self.nodes), text)?;
        writeln!(
            text,
            "options {{ instances = instances; }}
            channel near[n in 0..nodes, p in node_peers] = memory(p);
            channel out[q in rail_peers] = port(q) to into[rank];
            channel into[q in rail_peers] = port(q) to out[rank];"
        )?;
        match self.direction {
            TreeDirection::FromRoot => self.write_copies(text)?,
            TreeDirection::ToRoot => self.write_sums(text)?,
        }
        writeln!(text, "}}")
    }

    fn write_copies(self, text: &mut String) -> fmt::Result {
        writeln!(
            text,
            "
            // My chunk, along the rail.
            block send[q in rail_peers] {{
                wait out[q] relaxed;
                pipeline unit = {WINDOW}, chunks = 1 {{
                    put_with_signal output[rank] -> q.output[rank] via out[q];
                }}
                wait out[q];    // all has arrived
            }}
            // The chunk of my place on node `n`, to the others of my node.
            block hand[n in 0..nodes] {{
                let q = rank_at(n, local_rank);
                if q != rank {{ signal into[q] relaxed; }}
                signal near[n, *] relaxed;
                wait near[n, *] relaxed;
                pipeline unit = {WINDOW}, chunks = 1 {{
                    if q != rank {{ wait into[q]; }}
                    put output[q] -> (p in node_peers: p.output[q]) via near[n, *];
                }}
                signal near[n, *];
                wait near[n, *];
                if q != rank {{ signal into[q]; }}
            }}"
        )
    }

    fn write_sums(self, text: &mut String) -> fmt::Result {
        writeln!(
            text,
            "scratch parts[q in rail_peers];

            // My chunk: what the others of my node have, and then what has come along the rail.
            block own {{
                signal into[*] relaxed;
                handshake(near[node, *]);
                pipeline unit = {WINDOW}, chunks = 1 {{
                    reduce input[rank], (p in node_peers: p.input[rank]) -> input[rank] via near[node, *];
                    wait into[*];
                    reduce input[rank], parts[*] -> input[rank];
                }}
                meet(near[node, *]);    // all is read
                signal into[*];
            }}
            // The chunk of `q`: what my node has, along the rail.
            block rail[q in rail_peers] {{
                handshake(near[q.node, *]);
                wait out[q] relaxed;
                pipeline unit = {WINDOW}, chunks = 1 {{
                    reduce input[q], (p in node_peers: p.input[q]) -> input[q] via near[q.node, *];
                    put_with_signal input[q] -> q.parts[rank] via out[q];
                }}
                meet(near[q.node, *]);    // all is read
                wait out[q];
            }}"
        )
    }
}
