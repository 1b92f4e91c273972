//! The ccl standard library as text, for `use std::...`.
//!
//! Programs cannot be imported; those under `algorithms` are included so that they can be listed,
//! built and copied.

/// Every module of the library: its path below `std`, with `/` for `::`, and its text.
pub const FILES: &[(&str, &str)] = &[
    ("algorithms/allgather_allpairs", include_str!("../ccl/algorithms/allgather_allpairs.ccl")),
    (
        "algorithms/allgather_allpairs_packets",
        include_str!("../ccl/algorithms/allgather_allpairs_packets.ccl"),
    ),
    ("algorithms/allgather_nodes", include_str!("../ccl/algorithms/allgather_nodes.ccl")),
    (
        "algorithms/allgather_nodes_packets",
        include_str!("../ccl/algorithms/allgather_nodes_packets.ccl"),
    ),
    (
        "algorithms/allgather_recursive_doubling",
        include_str!("../ccl/algorithms/allgather_recursive_doubling.ccl"),
    ),
    ("algorithms/allgather_ring", include_str!("../ccl/algorithms/allgather_ring.ccl")),
    ("algorithms/allreduce_allpairs", include_str!("../ccl/algorithms/allreduce_allpairs.ccl")),
    ("algorithms/allreduce_nodes", include_str!("../ccl/algorithms/allreduce_nodes.ccl")),
    ("algorithms/allreduce_nvls", include_str!("../ccl/algorithms/allreduce_nvls.ccl")),
    ("algorithms/allreduce_packets", include_str!("../ccl/algorithms/allreduce_packets.ccl")),
    (
        "algorithms/allreduce_packets_one_phase",
        include_str!("../ccl/algorithms/allreduce_packets_one_phase.ccl"),
    ),
    ("algorithms/allreduce_ring", include_str!("../ccl/algorithms/allreduce_ring.ccl")),
    ("algorithms/alltoall_allpairs", include_str!("../ccl/algorithms/alltoall_allpairs.ccl")),
    ("algorithms/alltoall_packets", include_str!("../ccl/algorithms/alltoall_packets.ccl")),
    (
        "algorithms/barrier_dissemination",
        include_str!("../ccl/algorithms/barrier_dissemination.ccl"),
    ),
    ("algorithms/broadcast_chain", include_str!("../ccl/algorithms/broadcast_chain.ccl")),
    ("algorithms/broadcast_tree", include_str!("../ccl/algorithms/broadcast_tree.ccl")),
    (
        "algorithms/reducescatter_allpairs",
        include_str!("../ccl/algorithms/reducescatter_allpairs.ccl"),
    ),
    (
        "algorithms/reducescatter_packets",
        include_str!("../ccl/algorithms/reducescatter_packets.ccl"),
    ),
    ("algorithms/reducescatter_ring", include_str!("../ccl/algorithms/reducescatter_ring.ccl")),
    ("algorithms/sendrecv_memory", include_str!("../ccl/algorithms/sendrecv_memory.ccl")),
    ("algorithms/sendrecv_port", include_str!("../ccl/algorithms/sendrecv_port.ccl")),
    ("collectives", include_str!("../ccl/collectives.ccl")),
    ("math", include_str!("../ccl/math.ccl")),
    ("patterns", include_str!("../ccl/patterns.ccl")),
    ("topologies", include_str!("../ccl/topologies.ccl")),
];
