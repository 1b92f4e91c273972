//! What is read, and what is wrong with a plan.

use super::*;

/// A plan of two ranks with two memory channels and a port channel to each
/// other; the first rank has the given operations.
fn plan(ops: &str) -> String {
    let rank = |id: u32, ops: &str| {
        let peer = 1 - id;
        format!(
            r#"{{"id":{id},"input_chunks":2,"output_chunks":2,"scratch_chunks":1,"threadblocks":[
{{"id":0,"ops":[{ops}],"channels":[{{"channel_type":"memory","channel_ids":[0,1]}},{{"channel_type":"port","channel_ids":[0]}}],
"remote_buffer_refs":[{{"access_channel_type":"memory","remote_buffer_ids":[0]}},{{"access_channel_type":"port","remote_buffer_ids":[0]}}]}}],
"channels":[{{"channel_type":"memory","connected_to":[{peer},{peer}]}},{{"channel_type":"port","connected_to":[{peer}]}}],
"remote_buffers":[{{"rank":{peer},"type":"o","access_channel_types":["memory","port"]}}],"semaphores":[{{"init_value":3}}]}}"#
        )
    };
    format!(
        r#"{{"name":"x","collective":"allreduce","protocol":"LL","inplace":true,"gpus":[{},{}]}}"#,
        rank(0, ops),
        rank(1, "")
    )
}

fn program(ops: &str) -> ir::Program {
    let (program, diagnostics) = read(FileId(7), &plan(ops));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    program.expect("a program")
}

fn wrong(ops: &str) -> Diagnostic {
    let (program, mut diagnostics) = read(FileId(7), &plan(ops));
    assert!(program.is_some() && diagnostics.len() == 1, "{diagnostics:?}");
    diagnostics.remove(0)
}

#[test]
fn the_frame() {
    let program = program("");
    assert_eq!(program.options.protocol, ir::Protocol::Ll);
    assert_eq!((program.options.min_message_size, program.options.max_message_size), (None, None));
    assert_eq!(program.joins, ir::Joins::Explicit);
    let rank = &program.ranks[ir::RankId(0)];
    assert_eq!(rank.semaphores[ir::SemaphoreId(0)].initial, 3);
    let partners: Vec<_> =
        rank.channels.iter().map(|channel| channel.partner.map(|id| id.0)).collect();
    assert_eq!(partners, [Some(0), Some(1), Some(2)]);
}

#[test]
fn a_put_over_memory_takes_the_channel_that_nothing_names() {
    let put = r#"{"name":"put","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"buffer_id":0,"index":1,"size":1}],"channel_type":"memory"}"#;
    let signal = r#"{"name":"signal","channel_ids":[0],"channel_type":"memory"}"#;
    let of = |ops: String| {
        let program = program(&ops);
        let ops = &program.ranks[ir::RankId(0)].blocks[ir::BlockId(0)].ops;
        let channels = ops.iter().filter_map(|op| {
            let ir::Action::Transfer(transfer) = &op.action else { return None };
            Some(transfer.channels[0].0)
        });
        channels.collect::<Vec<u32>>()
    };
    assert_eq!(of(format!("{signal},{put}")), [1]);
    assert_eq!(of(format!("{put},{put},{put}")), [0, 1, 0]);
    let later = signal.replace("[0]", "[1]");
    assert_eq!(of(format!("{signal},{put},{later},{put}")), [0, 0]);
}

#[test]
fn places_count_pipeline_bodies() {
    let nop = r#"{"name":"nop"}"#;
    let pipeline = format!(
        r#"{{"name":"pipeline","iter_context":{{"unit_size":64,"num_chunks":1}},"ops":[{nop},{nop}]}}"#
    );
    let found = wrong(&format!(r#"{pipeline},{{"name":"glre"}}"#));
    assert_eq!(found.message, "MSCCL++'s executor has no operation `glre`");
    let place =
        Place::Plan(PlanPlace { file: FileId(7), rank: Some(0), block: Some(0), op: Some(3) });
    assert_eq!(found.primary.map(|label| label.place), Some(place));
    assert!(
        wrong(&pipeline.replace(nop, &pipeline.clone())).message.contains("is nested in another")
    );
}

#[test]
fn channels_that_the_rank_lacks_are_one_mistake() {
    let ops = r#"{"name":"signal","channel_ids":[1,0],"channel_type":"memory"}"#;
    let (_, found) = read(FileId(7), &plan(ops).replacen("[0,1]", "[7,8]", 1));
    let messages: Vec<&str> = found.iter().map(|report| &*report.message).collect();
    assert_eq!(messages, ["there is no memory channel 7: the rank has 2"]);
}

#[test]
fn a_block_that_lists_no_channels_is_one_mistake() {
    let signal =
        |ids: &str| format!(r#"{{"name":"signal","channel_ids":[{ids}],"channel_type":"memory"}}"#);
    let ops = format!("{},{},{}", signal("1,0"), signal("1"), signal("2"));
    let of = |list: &str| {
        let (_, found) = read(FileId(7), &plan(&ops).replacen("[0,1]", list, 1));
        found.into_iter().map(|report| (report.message, report.notes)).collect::<Vec<_>>()
    };
    let none = "the block lists no channel for `memory`, and this uses one";
    let one = "the block lists 1 channel for `memory`, and this uses one beyond it";
    assert_eq!(of("[]"), [(none.into(), vec!["the same in 2 other places".into()])]);
    assert_eq!(of("[0]"), [(one.into(), vec!["the same in 2 other places".into()])]);
}

#[test]
fn operands_that_do_not_fit() {
    let buffers = |name: &str, from: &str, to: &str| {
        format!(
            r#"{{"name":"{name}","src_buff":[{from}],"dst_buff":[{to}],"channel_type":"memory"}}"#
        )
    };
    let (local, remote) =
        (r#"{"type":"i","index":0,"size":1}"#, r#"{"buffer_id":0,"index":0,"size":1}"#);
    let cases = [
        (buffers("put", local, local), "the operands of a `put` are not where it expects them"),
        (buffers("re", local, remote), "the operands of a `re` are those of a `res`"),
        (
            buffers("put", &format!("{local},{local}"), remote),
            "`put` has 2 sources for 1 destinations",
        ),
        (
            buffers("copy", local, r#"{"type":"o","index":1,"size":2}"#),
            "chunks 1 to 2 are not all inside `output`, which has 2",
        ),
        (
            buffers("put", local, r#"{"buffer_id":4,"index":0,"size":1}"#),
            "the block lists 1 remote buffer for `memory`, and this uses one beyond it",
        ),
        (buffers("copy", local, r#"{"type":"x","index":1,"size":1}"#), "`x` is not a buffer type"),
        (
            buffers("put", local, remote).replace("memory", "port"),
            "`put` does not name a port channel for each destination",
        ),
        (
            r#"{"name":"wait","channel_ids":[5],"channel_type":"port"}"#.into(),
            "the block lists 1 channel for `port`, and this uses one beyond it",
        ),
        (
            r#"{"name":"sem_release","semaphore_ids":[1]}"#.into(),
            "there is no semaphore 1: the rank has 1",
        ),
        (
            r#"{"name":"barrier","barrier_id":9999999,"num_threadblocks":2}"#.into(),
            "9999999 is not a barrier id",
        ),
    ];
    for (ops, message) in cases {
        assert_eq!(wrong(&ops).message, message, "{ops}");
    }
}

#[test]
fn one_source_is_read_once_for_all_peers() {
    let op = r#"{"name":"rppkt","src_buff":[{"type":"s","index":0,"size":1}],"dst_buff":[{"buffer_id":0,"index":0,"size":1},{"buffer_id":0,"index":1,"size":1}],"channel_ids":[0,0],"channel_type":"port"}"#;
    let text = plan(op).replace(r#""type":"o","access"#, r#""type":"s","access"#);
    let (program, found) = read(FileId(7), &text.replace("_chunks\":1", "_chunks\":2"));
    assert!(found.is_empty(), "{found:?}");
    let program = program.expect("a program");
    let action = &program.ranks[ir::RankId(0)].blocks[ir::BlockId(0)].ops[0].action;
    let ir::Action::Transfer(transfer) = action else { panic!("no transfer") };
    assert_eq!((transfer.verb, transfer.sources.len()), (ir::Verb::ReadPutPackets, 1));
    assert_eq!((transfer.destinations.len(), transfer.channels.len()), (2, 2));
}

#[test]
fn a_mistake_is_reported_once() {
    let (_, diagnostics) = read(FileId(0), &plan(r#"{"name":"a"},{"name":"a"},{"name":"a"}"#));
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0].notes, ["the same in 2 other places"]);
}

#[test]
fn a_frame_without_its_ranks_has_no_program() {
    let (program, diagnostics) = read(FileId(0), &plan("").replace("\"rank\":1", "\"rank\":2"));
    assert!(program.is_none());
    assert_eq!(diagnostics[0].message, "there is no rank 2: the plan has 2 ranks");
}

/// The only report about a plan for which there is no program.
fn refused(text: &str) -> Diagnostic {
    let (program, mut found) = read(FileId(0), text);
    assert!(program.is_none() && found.len() == 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_plan_is_for_some_rank() {
    let report = refused(
        r#"{"name":"x","collective":"allreduce","protocol":"LL","inplace":true,"gpus":[]}"#,
    );
    assert_eq!(report.message, "`gpus` is empty: the plan is for no rank");
    let whole = Place::Plan(PlanPlace::whole(FileId(0)));
    assert_eq!(report.primary.map(|label| label.place), Some(whole));
}

#[test]
fn a_group_has_each_rank_once() {
    let with = |ranks: &str| {
        let switch = format!(
            r#""channels":[{{"channel_type":"switch","buffer_type":"i","rank_groups":[{{"size":2,"ranks":{ranks}}}]}},{{"channel_type":"memory","connected"#
        );
        plan("").replace(r#""channels":[{"channel_type":"memory","connected"#, &switch)
    };
    let report = refused(&with("[0,1,1]"));
    assert_eq!(report.message, "a switch channel has rank 1 in its group twice");
    let ranks = |text: &str| {
        let program = read(FileId(0), text).0.expect("a program");
        let mut channels = program.ranks[ir::RankId(0)].channels.iter();
        channels.find_map(|channel| match &channel.link {
            ir::Link::Switch(group) => Some(group.ranks.clone()),
            ir::Link::Memory(_) | ir::Link::Port(_) => None,
        })
    };
    assert_eq!(ranks(&with("[1,0]")), Some(vec![ir::RankId(0), ir::RankId(1)]));
}

/// The loader looks whether a key is there, and then takes what it finds for a value.
#[test]
fn null_is_no_value() {
    let copy = r#"{"name":"copy","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"type":"o","index":0,"size":1}]}"#;
    program(copy);
    for (from, to) in [
        (r#""name":"copy","#, r#""name":"copy","channel_type":null,"#),
        (r#""name":"copy","#, r#""name":"copy","tbg_info":null,"#),
        (r#""name":"copy","#, r#""name":"copy","barrier_id":null,"#),
        (r#"{"type":"i","#, r#"{"type":"i","buffer_id":null,"#),
    ] {
        let report = refused(&plan(&copy.replace(from, to)));
        assert!(report.message.contains("found null, expected"), "{}", report.message);
    }
}
