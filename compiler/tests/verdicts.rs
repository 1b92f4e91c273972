//! The verdict on every golden plan, and why it is right.
//!
//! The plans were made by MSCCL++'s own tools from its own programs, so the defects are real. Collectives called `test`
//! promise nothing (N0901). All but two state no largest message, though offsets have 32 bits, and those that reuse scratch
//! or count windows serve even less (W0802): that is told only of plans that run.

use compiler::diagnostic::Severity;
use compiler::driver::{self, Known};
use compiler::interrupt::Interrupt;
use compiler::source::FileId;
use compiler::target::Capacity;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Notes on how plans are launched and shared out, which all plans of a kind have.
const LAUNCHES: [&str; 3] = ["N0802", "N0803", "N0804"];

/// A plan, all other codes that are reported for it, and for defects the reason.
type Row = (&'static str, &'static [&'static str], &'static str);

#[rustfmt::skip]
const VERDICTS: &[Row] = &[
    ("default_algos_allgather_multi_nodes__world4_per2_inplace1", &["W0802"], ""),
    ("default_algos_allreduce_multi_nodes__world4_per2_inplace1_tbg1", &["E0807", "W0802"], "a port `ppkt` sends plain bytes, from the wrong memory"),
    ("default_algos_allreduce_multi_nodes__world4_per2_inplace1_tbg4", &["E0807", "W0802"], "a port `ppkt` sends plain bytes, from the wrong memory"),
    ("default_algos_reducescatter_multi_nodes__world4_per2_inplace1_tbg1", &["E0503", "W0802"], "three blocks add the other node's part to one chunk"),
    ("default_algos_reducescatter_multi_nodes__world4_per2_inplace1_tbg4", &["E0503", "W0802"], "three blocks add the other node's part to one chunk"),
    ("executor-tests_reduce__default", &["W0802"], ""),
    ("executor-tests_reduce_nvls__num_gpus_2", &["E0512", "W0802"], "the exit handshake is relaxed after stores to all ranks"),
    ("executor-tests_reduce_nvls__num_gpus_4", &["E0512", "W0802"], "the exit handshake is relaxed after stores to all ranks"),
    ("executor-tests_reduce_nvls_pipeline__num_gpus_2", &["E0512", "W0802"], "the exit handshake is relaxed after stores to all ranks"),
    ("executor-tests_reduce_nvls_pipeline__num_gpus_4", &["E0512", "W0802"], "the exit handshake is relaxed after stores to all ranks"),
    ("executor-tests_reduce_pack__default", &["W0802"], ""),
    ("executor-tests_reduce_pack_tbg__default", &["W0802"], ""),
    ("executor-tests_reduce_tbg__default", &["E0501", "W0802"], "slices of one and of four chunks, and no meeting of the group"),
    ("executor-tests_transfer_pack__default", &["W0802"], ""),
    ("executor-tests_transfer_pack_tbg__default", &["W0802"], ""),
    ("multi_node_allgather__gpus_per_node_2", &["W0802"], ""),
    ("multi_node_allgather__gpus_per_node_4", &["W0802"], ""),
    ("multi_node_allgather_pkt__gpus_per_node_2", &["W0802"], ""),
    ("multi_node_allgather_pkt__gpus_per_node_4", &["W0802"], ""),
    ("multi_node_allgather_tbg__num_gpus_4_gpus_per_node_2_tbg_size_2", &["W0802"], ""),
    ("multi_node_reducescatter__gpus_per_node_2", &["E0512", "W0802"], "the last handshake is relaxed, and puts over ports are not flushed"),
    ("multi_node_reducescatter__gpus_per_node_4", &["E0512", "W0802"], "the last handshake is relaxed, and puts over ports are not flushed"),
    ("multi_node_reducescatter_pkt__gpus_per_node_2", &["W0802"], ""),
    ("multi_node_reducescatter_pkt__gpus_per_node_4", &["W0802"], ""),
    ("multi_node_send_recv__nnodes_2_gpus_per_node_1_instances_1", &["E0512", "W0802"], "the proxy may still read the source when the kernel ends"),
    ("multi_node_send_recv__nnodes_2_gpus_per_node_2_instances_1", &["E0512", "W0802"], "the proxy may still read the source when the kernel ends"),
    ("single_node_allgather__default", &["W0802"], ""),
    ("single_node_allgather_nvls_zero_copy__num_gpus_2_instances_1", &["E0512", "W0802"], "the exit handshake is relaxed after stores to all ranks"),
    ("single_node_allgather_nvls_zero_copy__num_gpus_2_instances_8", &["E0512", "W0802"], "the exit handshake is relaxed after stores to all ranks"),
    ("single_node_allgather_nvls_zero_copy__num_gpus_4_instances_1", &["E0512", "W0802"], "the exit handshake is relaxed after stores to all ranks"),
    ("single_node_allgather_nvls_zero_copy_pkt__num_gpus_2_instances_1", &[], ""),
    ("single_node_allgather_nvls_zero_copy_pkt__num_gpus_4_instances_1", &[], ""),
    ("single_node_allgather_pkt__num_gpus_2", &["W0802"], ""),
    ("single_node_allgather_pkt__num_gpus_4", &["W0802"], ""),
    ("single_node_allgather_pkt_rppkt__num_gpus_2", &["W0802"], ""),
    ("single_node_allgather_pkt_rppkt__num_gpus_4", &["W0802"], ""),
    ("single_node_allgather_tbg__default", &["W0802"], ""),
    ("single_node_allreduce__num_gpus_2", &["W0802"], ""),
    ("single_node_allreduce__num_gpus_4", &["W0802"], ""),
    ("single_node_allreduce_naivy__num_gpus_2", &["W0503", "W0802"], "packets of a larger message may overwrite sums that are still waited for"),
    ("single_node_allreduce_naivy__num_gpus_4", &["W0503", "W0802"], "packets of a larger message may overwrite sums that are still waited for"),
    ("single_node_allreduce_nvls_zero_copy__num_gpus_2", &["E0512", "W0802"], "the exit handshake is relaxed after stores to all ranks"),
    ("single_node_allreduce_nvls_zero_copy__num_gpus_4", &["E0512", "W0802"], "the exit handshake is relaxed after stores to all ranks"),
    ("single_node_allreduce_pipeline__default", &["W0802"], ""),
    ("single_node_allreduce_pkt__num_gpus_2", &["W0802"], ""),
    ("single_node_allreduce_pkt__num_gpus_4", &["W0802"], ""),
    ("single_node_alltoall_alltoall__num_gpus_2", &["W0802"], ""),
    ("single_node_alltoall_alltoall__num_gpus_4", &["W0802"], ""),
    ("single_node_alltoall_alltoall_pipeline__num_gpus_2", &["W0802"], ""),
    ("single_node_alltoall_alltoall_pipeline__num_gpus_4", &["W0802"], ""),
    ("single_node_alltoall_alltoall_ring__num_gpus_2", &["W0802"], ""),
    ("single_node_alltoall_alltoall_ring_oop__num_gpus_2", &["W0802"], ""),
    ("single_node_alltoall_alltoall_ring_peers__num_gpus_2", &["W0802"], ""),
    ("unit_tests_barrier_test__default", &["E0811", "N0901"], "no chunks: the loader divides by zero"),
    ("unit_tests_copy_packet_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_copy_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_flush_flush_fuse_test__default", &["E0807", "E0811", "N0901"], "no chunks; and `flush` waits for nothing"),
    ("unit_tests_flush_flush_test__default", &["E0807", "E0811", "N0901"], "no chunks; and `flush` waits for nothing"),
    ("unit_tests_get_get_fuse_test__default", &["E0504", "E0807", "E0811", "N0901"], "no output; and a `get` between different chunks swaps the offsets; its input is written out of place"),
    ("unit_tests_get_get_test__default", &["E0504", "E0807", "E0811", "N0901"], "no output; and a `get` between different chunks swaps the offsets; its input is written out of place"),
    ("unit_tests_pipeline_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_put_packet_test__default", &["E0811", "N0901"], "no output: the loader divides by zero"),
    ("unit_tests_put_put_fuse_test__default", &["E0501", "E0504", "E0811", "N0901"], "no output; each writes what the other reads at the same time; and its input is written out of place"),
    ("unit_tests_put_put_test__default", &["E0504", "E0811", "N0901"], "no output: the loader divides by zero; and its input is written out of place"),
    ("unit_tests_put_put_with_signal_and_flush_test__default", &["E0504", "E0811", "N0901"], "no output: the loader divides by zero; and its input is written out of place"),
    ("unit_tests_put_put_with_signal_test__default", &["E0504", "E0512", "E0811", "N0901"], "no output; the proxy may still read the source when the kernel ends; and its input is written out of place"),
    ("unit_tests_read_put_packet_test__default", &["E0604", "E0811", "N0901"], "no buffers; both wait for packets in a slot that nobody writes"),
    ("unit_tests_read_reduce_read_reduce_fuse_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_read_reduce_read_reduce_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_read_reduce_send_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_reduce_copy_packet_test__default", &["E0504", "E0604", "E0811", "N0901"], "no output; nobody writes the packets that it takes; and its input is written out of place"),
    ("unit_tests_reduce_copy_send_packet_test__default", &["E0504", "E0604", "E0811", "N0901"], "no output; nobody writes the packets that it takes; and its input is written out of place"),
    ("unit_tests_reduce_packet_reduce_packets_fuse_test__default", &["E0604", "E0811", "N0901"], "no buffers; nobody writes the packets that it takes"),
    ("unit_tests_reduce_packet_reduce_packets_test__default", &["E0604", "E0811", "N0901"], "no buffers; nobody writes the packets that it takes"),
    ("unit_tests_reduce_reduce_fuse_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_reduce_reduce_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_reduce_send_packet_test__default", &["E0604", "E0811", "N0901"], "no buffers; both wait for packets in a slot that nobody writes"),
    ("unit_tests_reduce_send_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_semaphore__default", &["E0811", "N0901"], "no chunks: the loader divides by zero"),
    ("unit_tests_signal_wait_relaxed_signal_wait_fuse_test__default", &["E0602", "E0811", "N0901"], "no chunks; signals on channels 0 and 1, waits on 2 and 3"),
    ("unit_tests_signal_wait_relaxed_signal_wait_test__default", &["E0811", "N0901"], "no chunks: the loader divides by zero"),
    ("unit_tests_signal_wait_signal_wait_fuse_test__default", &["E0602", "E0811", "N0901"], "no chunks; signals on channels 0 and 1, waits on 2 and 3"),
    ("unit_tests_signal_wait_signal_wait_test__default", &["E0811", "N0901"], "no chunks: the loader divides by zero"),
    ("unit_tests_switch_broadcast_test__default", &["E0504", "E0510", "E0811", "N0901"], "it stores to ranks that have not said that they run; rank 1 has no block to launch; and its input is written out of place"),
    ("unit_tests_switch_reduce_test__default", &["E0902"], "the loader knows no load-reduce without a store"),
    ("unit_tests_tbg_tbg_copy_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_tbg_tbg_reduce_fuse_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_tbg_tbg_reduce_send_test__default", &["E0510", "N0901", "W0802"], "only the first block of the group waits for the peer to run"),
    ("unit_tests_tbg_tbg_reduce_test__default", &["N0901", "W0802"], ""),
    ("unit_tests_unpack_packet_test__default", &["N0901", "W0802"], ""),
];

#[test]
fn every_plan_has_its_verdict() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let capacity = Capacity { sms: 132, worst: Severity::Error };
    let mut wrong = Vec::new();
    for (name, expected, _) in VERDICTS {
        let text = fs::read_to_string(folder.join(name).with_extension("json")).expect("a plan");
        let (known, interrupt) = (Known::default(), Interrupt::default());
        let found = driver::verify(FileId(0), &text, &known, capacity, &interrupt);
        let mut codes: BTreeSet<&str> = found.iter().map(|report| report.code.id()).collect();
        codes.retain(|code| !LAUNCHES.contains(code));
        if !codes.iter().eq(*expected) {
            wrong.push(format!("{name}: {codes:?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A plan, a text in it (without blanks), its replacement (made once), and the codes that are then reported.
type Change = (&'static str, &'static str, &'static str, &'static [&'static str]);

#[rustfmt::skip]
const CHANGES: &[Change] = &[
    // Fewer threads than an operation has channels; more threads than a GPU can run.
    ("single_node_allreduce__num_gpus_4", r#""num_threads_per_block":1024"#, r#""num_threads_per_block":2"#, &["E0802"]),
    ("single_node_allreduce__num_gpus_4", r#""num_threads_per_block":1024"#, r#""num_threads_per_block":2048"#, &["E0312"]),
    // Source and destination have different sizes.
    ("single_node_allreduce_pkt__num_gpus_2", r#""index":2,"size":2"#, r#""index":2,"size":1"#, &["E0309"]),
    ("executor-tests_reduce__default", r#"{"type":"i","index":2,"size":2}"#, r#"{"type":"i","index":2,"size":1}"#, &["E0309"]),
    // The peer's operand comes before this rank's.
    ("single_node_allreduce__num_gpus_2", r#"{"type":"i","index":0,"size":1},{"buffer_id":0,"index":0,"size":1}"#, r#"{"buffer_id":0,"index":0,"size":1},{"type":"i","index":0,"size":1}"#, &["E0902"]),
    // Packets outside scratch: on this rank, and on the peer.
    ("single_node_allreduce_pkt__num_gpus_2", r#"{"type":"s","index":0"#, r#"{"type":"o","index":0"#, &["E0210"]),
    ("single_node_allreduce_pkt__num_gpus_2", r#""rank":1,"type":"s""#, r#""rank":1,"type":"i""#, &["E0210"]),
    // A switch group on which its members do not agree.
    ("single_node_allreduce_nvls_zero_copy__num_gpus_2", r#""ranks":[0,1]"#, r#""ranks":[0]"#, &["E0307"]),
    ("single_node_allreduce_nvls_zero_copy__num_gpus_2", r#""buffer_type":"i""#, r#""buffer_type":"o""#, &["E0307"]),
    // A buffer that the loader does not set up for this kind of channel.
    ("single_node_allreduce__num_gpus_4", r#""access_channel_types":["memory"]"#, r#""access_channel_types":[]"#, &["E0902"]),
    ("single_node_allreduce__num_gpus_4", r#""access_channel_types":["memory"]"#, r#""access_channel_types":["port"]"#, &["E0902"]),
];

#[test]
fn what_is_spoiled_is_found() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let capacity = Capacity { sms: 132, worst: Severity::Error };
    for (name, from, to, expected) in CHANGES {
        let text = fs::read_to_string(folder.join(name).with_extension("json")).expect("a plan");
        let text: String = text.split_whitespace().collect();
        assert!(text.contains(from), "{name} has {from}");
        let (known, interrupt) = (Known::default(), Interrupt::default());
        let spoiled = text.replacen(from, to, 1);
        let found = driver::verify(FileId(0), &spoiled, &known, capacity, &interrupt);
        let codes: BTreeSet<&str> = found.iter().map(|report| report.code.id()).collect();
        assert!(codes.iter().eq(*expected), "{name} with {to}: {found:#?}");
    }
}

#[test]
fn what_is_listed_counts_whether_it_is_used_or_not() {
    let channels = |count: usize| vec!["1"; count].join(",");
    let ids = |count: usize| (0..count).map(|id| id.to_string()).collect::<Vec<_>>().join(",");
    let plan = |channel_ids: usize, remote_ids: usize| {
        let idle = r#"{"id":0,"ops":[],"channels":[]}"#;
        let remote =
            vec![r#"{"rank":1,"type":"o","access_channel_types":["memory"]}"#; 20].join(",");
        let block = format!(
            r#"{{"id":0,"ops":[],"channels":[{{"channel_type":"memory","channel_ids":[{}]}}],
"remote_buffer_refs":[{{"access_channel_type":"memory","remote_buffer_ids":[{}]}}]}}"#,
            ids(channel_ids),
            ids(remote_ids)
        );
        let rank = |id: u32, block: &str, peers: &str, remote: &str| {
            format!(
                r#"{{"id":{id},"input_chunks":1,"output_chunks":1,"scratch_chunks":0,"threadblocks":[{block}],
"channels":[{{"channel_type":"memory","connected_to":[{peers}]}}],"remote_buffers":[{remote}]}}"#
            )
        };
        format!(
            r#"{{"name":"x","collective":"test","protocol":"Simple","inplace":false,"gpus":[{},{}]}}"#,
            rank(0, &block, &channels(20), &remote),
            rank(1, idle, &channels(20).replace('1', "0"), "")
        )
    };
    let codes = |text: &str| {
        let capacity = Capacity { sms: 132, worst: Severity::Error };
        let found =
            driver::verify(FileId(0), text, &Known::default(), capacity, &Interrupt::default());
        found.iter().map(|report| report.code.id()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&plan(16, 16)), ["N0901"]);
    assert_eq!(codes(&plan(17, 16)), ["N0901", "E0802"]);
    assert_eq!(codes(&plan(16, 17)), ["N0901", "E0803"]);
    // A rank for which no kernel can be launched.
    let empty = plan(1, 1).replace(r#"{"id":0,"ops":[],"channels":[]}"#, "");
    assert_eq!(codes(&empty), ["N0901", "E0811"]);
}

#[test]
fn no_plan_is_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let plans = entries.filter_map(|entry| {
        let name = entry.expect("a readable entry").file_name().into_string().ok()?;
        Some(name.strip_suffix(".json")?.to_owned())
    });
    let known: BTreeSet<String> = VERDICTS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(plans.collect::<BTreeSet<String>>(), known);
    for (name, codes, why) in VERDICTS {
        let defects = codes.iter().any(|code| !code.starts_with('N') && *code != "W0802");
        assert_eq!(defects, !why.is_empty(), "{name}: a defect has its reason");
    }
}
