//! Copies, when they stay out of each other's way, and what is cut so that they do.

use super::{rank, replicable, replicate, spread::spread, undo};
use crate::diagnostic::Code;
use crate::ir::build::{
    all, input, local, memory, on, output, pipeline, program, scratch, signal, sliced, to,
};
use crate::ir::{
    Action, BlockId, Buffer, ChannelId, ChannelKind, Operand, Program, RankId, Replication,
    Transfer, Verb,
};

fn copies(mut program: Program, instances: u32) -> Program {
    program.options.instances = instances;
    program
}

fn copy(from: Operand, into: Operand) -> Action {
    local(Verb::Copy, &[from], &[into])
}

fn first(program: &Program, block: u32) -> Action {
    program.ranks[RankId(0)].blocks[BlockId(block)].ops[0].action.clone()
}

#[test]
fn each_copy_has_its_part_of_every_chunk() {
    let p = program(2, 4, 8, 2).mesh(ChannelKind::Memory).block(|r| {
        vec![
            memory(r, Verb::Put, &[input(2, 2)], &[on(1 - r, output(4, 2))]),
            signal(all(r, 2), false),
        ]
    });
    let p = replicate(copies(p, 3));
    let rank = &p.ranks[RankId(0)];
    assert_eq!((rank.input_chunks, rank.output_chunks, rank.scratch_chunks), (12, 24, 6));
    assert_eq!((rank.blocks.len(), rank.channels.len(), p.instances_done), (3, 3, 3));
    for k in 0..3 {
        let Action::Transfer(Transfer { sources, destinations, channels, .. }) = first(&p, k)
        else {
            panic!()
        };
        assert_eq!(
            (sources[0], destinations[0]),
            (input(6 + 2 * k, 2), on(1, output(12 + 2 * k, 2)))
        );
        assert_eq!(channels.as_slice(), [ChannelId(k)]);
        assert_eq!(rank.blocks[BlockId(k)].ops[1].action, signal([ChannelId(k)], false));
        assert_eq!(rank.channels[ChannelId(k)].partner, Some(ChannelId(k)));
    }
}

#[test]
fn copies_are_undone_where_all_are_alike() {
    let one = program(2, 4, 8, 2).mesh(ChannelKind::Memory).block(|r| {
        vec![
            memory(r, Verb::Put, &[input(2, 2)], &[on(1 - r, output(4, 2))]),
            signal(all(r, 2), false),
        ]
    });
    let mut many = replicate(copies(one.clone(), 6));
    let found = undo(&many).unwrap();
    assert_eq!((found.options.instances, found.instances_done), (6, 1));
    let (rank, wanted) = (&found.ranks[RankId(1)], &one.ranks[RankId(1)]);
    assert_eq!((rank.input_chunks, rank.output_chunks, rank.scratch_chunks), (4, 8, 2));
    assert_eq!((rank.blocks.len(), rank.channels.len()), (1, 1));
    assert_eq!(rank.blocks[BlockId(0)].ops, wanted.blocks[BlockId(0)].ops);
    // The last copy does one thing less.
    many.ranks[RankId(1)].blocks[BlockId(5)].ops.pop();
    assert!(undo(&many).is_none());
}

#[test]
fn copies_of_channels_stand_in_a_row() {
    let p = copies(program(3, 1, 1, 0).mesh(ChannelKind::Memory).semaphores(2), 2);
    let one = rank(&p, RankId(2));
    let peers: Vec<_> =
        one.channels.iter().map(|c| (c.peer().unwrap().0, c.partner.unwrap().0)).collect();
    // Rank 2 is the second peer of ranks 0 and 1.
    assert_eq!(peers, [(0, 2), (0, 3), (1, 2), (1, 3)]);
    assert_eq!(one.semaphores.len(), 4);
}

#[test]
fn one_rank_alone_is_the_same_as_among_all() {
    let p = program(2, 2, 4, 2).mesh(ChannelKind::Memory).in_place(
        Buffer::Input,
        Buffer::Output,
        |r| 2 * r,
    );
    let p = copies(
        p.block(|r| vec![memory(r, Verb::Put, &[input(0, 1)], &[on(1 - r, output(2 * r, 1))])]),
        4,
    );
    let whole = replicate(p.clone());
    let one = rank(&p, RankId(1));
    assert_eq!(one.alias, whole.ranks[RankId(1)].alias);
    assert_eq!(one.alias.unwrap().offset, 8);
    assert_eq!(one.blocks[BlockId(3)].ops, whole.ranks[RankId(1)].blocks[BlockId(3)].ops);
}

#[test]
fn promises_are_of_the_parts() {
    let p = copies(program(2, 1, 2, 0).promise(|_, c| vec![(c, 0)]), 2);
    let promises = &replicate(p).ranks[RankId(0)].promises;
    let flat: Vec<_> =
        promises.iter().map(|p| (p.chunk, p.terms[0].rank, p.terms[0].chunk)).collect();
    assert_eq!(flat, [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)]);
}

#[test]
fn without_replication_there_is_one() {
    let mut p = copies(program(1, 1, 1, 0).block(|_| vec![copy(input(0, 1), output(0, 1))]), 4);
    p.options.replication = Replication::None;
    let p = replicate(p);
    assert_eq!((p.ranks[RankId(0)].input_chunks, p.instances_done), (1, 1));
}

#[test]
fn the_same_chunks_or_others_are_apart() {
    let ops = vec![
        copy(input(0, 4), scratch(0, 4)),
        copy(scratch(0, 4), output(0, 4)),
        copy(input(4, 1), output(4, 1)),
    ];
    let p = copies(program(1, 8, 8, 8).block(|_| ops.clone()), 2);
    assert!(replicable(&p).is_ok());
    assert_eq!(spread(p.clone()).words(0, 0), p.words(0, 0));
}

#[test]
fn reading_alone_meets_nobody() {
    let ops = vec![copy(input(0, 4), output(0, 4)), copy(input(1, 1), output(4, 1))];
    let p = copies(program(1, 8, 8, 8).block(|_| ops.clone()), 2);
    assert_eq!(spread(p.clone()).words(0, 0), p.words(0, 0));
}

#[test]
fn unequal_pieces_are_cut_to_their_common_size() {
    let ops = vec![
        copy(input(0, 4), scratch(0, 4)),
        copy(scratch(2, 2), output(2, 2)),
        copy(input(4, 4), output(4, 4)),
    ];
    let p = copies(program(1, 8, 8, 8).block(|_| ops.clone()), 2);
    assert!(replicable(&p).is_ok());
    let p = spread(p);
    let ops = &p.ranks[RankId(0)].blocks[BlockId(0)].ops;
    let pairs = local(Verb::Copy, &[input(0, 2), input(2, 2)], &[scratch(0, 2), scratch(2, 2)]);
    assert_eq!(ops[0].action, pairs);
    assert_eq!(ops[1].action, copy(scratch(2, 2), output(2, 2)));
    // It touches nothing that the others touch.
    assert_eq!(ops[2].action, copy(input(4, 4), output(4, 4)));
}

#[test]
fn a_cut_spreads_to_what_the_operands_touch_elsewhere() {
    let ops = vec![
        copy(input(0, 4), scratch(0, 4)),
        copy(scratch(1, 1), output(7, 1)),
        local(Verb::Reduce, &[scratch(0, 4), input(4, 4)], &[output(0, 4)]),
    ];
    let p = spread(copies(program(1, 8, 8, 8).block(|_| ops.clone()), 2));
    assert_eq!(p.words(0, 0), "Copy:4>4 Copy:1>1 Reduce:2>1 Reduce:2>1 Reduce:2>1 Reduce:2>1");
}

#[test]
fn peers_and_shared_memory_count() {
    let apart = |p: Program| spread(copies(p, 2)).words(0, 0);
    let peer = program(2, 4, 4, 0).mesh(ChannelKind::Memory).block(|r| match r {
        0 => vec![memory(0, Verb::Put, &[input(0, 2)], &[on(1, output(0, 2))])],
        _ => vec![copy(output(1, 1), output(3, 1))],
    });
    assert_eq!(apart(peer), "Put:2>2");
    let ops = vec![copy(input(0, 2), scratch(0, 2)), copy(scratch(2, 1), output(1, 1))];
    let both = |p: Program| apart(p.block(|_| ops.clone()));
    assert_eq!(both(program(1, 4, 4, 4)), "Copy:1>1 Copy:1>1");
    assert_eq!(
        both(program(1, 4, 4, 4).in_place(Buffer::Input, Buffer::Output, |_| 0)),
        "Copy:2>2 Copy:1>1"
    );
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let refused = |ops: Vec<Action>| {
        let p = copies(program(1, 8, 8, 8).mesh(ChannelKind::Memory).block(|_| ops.clone()), 2);
        let report = replicable(&p).expect_err("copies would meet");
        assert_eq!(report.code, Code::E0808);
        assert_eq!(spread(p.clone()).words(0, 0), p.words(0, 0));
        report.primary.unwrap().text
    };
    let part = || copy(scratch(0, 1), output(0, 1));
    let grouped = sliced(copy(input(0, 2), scratch(0, 2)), 0, 2);
    assert!(refused(vec![grouped, part()]).contains("group"));
    let piped = pipeline(1024, 2, vec![copy(input(0, 2), scratch(0, 2))]);
    assert!(refused(vec![piped, part()]).contains("pipeline"));
    let moved = copy(scratch(0, 2), scratch(1, 2));
    assert!(refused(vec![moved, part()]).contains("overlap but differ"));
}

#[test]
fn a_report_names_both_sides_in_their_regions() {
    let mut p = program(1, 8, 8, 8).block(|_| {
        vec![sliced(copy(input(0, 2), scratch(4, 2)), 0, 2), copy(scratch(5, 1), output(0, 1))]
    });
    for rank in p.ranks.iter_mut() {
        let region = |name: &str, offset| crate::ir::Region {
            name: name.into(),
            offset,
            dimensions: vec![(0..4).collect()],
        };
        rank.regions = vec![region("stage", 0), region("inbox", 4)];
    }
    let report = replicable(&copies(p, 2)).expect_err("copies would meet");
    let texts: Vec<_> = report.secondary.iter().map(|label| label.text.as_str()).collect();
    let expected =
        ["rank 0 writes `inbox[0..+2]` as one piece", "rank 0 reads `inbox[1]` as one piece"];
    assert_eq!(texts, expected);
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let p = copies(program(1, 1 << 20, 1, 0).block(|_| vec![]), 1 << 13);
    assert_eq!(replicable(&p).expect_err("too many").code, Code::E0808);
}

#[test]
fn a_mesh_of_copies_pairs_up() {
    let p = replicate(copies(program(4, 1, 1, 0).mesh(ChannelKind::Memory), 3));
    for (id, rank) in p.ranks.entries() {
        for (row, channel) in rank.channels.entries() {
            let other = &p.ranks[channel.peer().unwrap()].channels[channel.partner.unwrap()];
            assert_eq!((other.peer(), other.partner), (Some(id), Some(row)));
        }
    }
    assert_eq!(to(2, 3), ChannelId(2));
}
