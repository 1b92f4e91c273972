//! What a dump looks like. That it compiles to the same program is tested elsewhere, where there is a front end.

use super::{print, tables::Tables};
use crate::ir::build::{
    copy_of, group, input, local, memory, on, op, output, over, pipeline, program, scratch, signal,
    sliced, to,
};
use crate::ir::{
    Action, BarrierId, BlockId, Buffer, ChannelId, ChannelKind, Joins, Program, RankId,
    SyncOverride, Verb,
};

/// The lines of a dump from the one that holds `first` to the first one after it that is `last`.
fn excerpt(program: &Program, first: &str, last: &str) -> String {
    let text = print(program).text;
    let from = text.lines().skip_while(|line| !line.contains(first));
    let mut lines: Vec<&str> = Vec::new();
    for line in from {
        lines.push(line.trim_end());
        if line.trim() == last {
            break;
        }
    }
    lines.join("\n")
}

#[test]
fn numbers_are_formulas_where_they_can_be() {
    let mut tables = Tables::default();
    let mut text = |values: &[i64]| tables.list("t", values, "i");
    assert_eq!(text(&[]), "0");
    assert_eq!(text(&[7]), "7");
    assert_eq!(text(&[3, 3, 3]), "3");
    assert_eq!(text(&[0, 1, 2]), "i");
    assert_eq!(text(&[0, 4, 8]), "4 * i");
    assert_eq!(text(&[5, 6, 7]), "5 + i");
    assert_eq!(text(&[9, 6, 3]), "9 - 3 * i");
    assert_eq!(text(&[1, 0]), "1 - i");
    assert_eq!(text(&[0, -1]), "-1 * i");
    assert_eq!(text(&[0, 1, 3]), "t[i]");
    assert_eq!(tables.text, "let t = [0, 1, 3];\n");
}

#[test]
fn rows_are_one_list_where_all_ranks_agree() {
    let mut tables = Tables::default();
    assert_eq!(tables.rows("same", &[vec![2, 5], vec![2, 5, 9], vec![]], "i"), "same[i]");
    assert_eq!(tables.rows("other", &[vec![1], vec![], vec![0, 4]], "i"), "other[rank][i]");
    assert_eq!(
        tables.text,
        "let same = [2, 5, 9];\nlet other = [\n    [1],\n    [0],\n    [0, 4],\n];\n"
    );
    assert_eq!(tables.rows("single", &[vec![1], vec![0]], "i"), "1 - rank");
    assert_eq!(tables.whole("ranks", &[vec![2, 3, 4], vec![2, 3, 4]]), "2..5");
    assert_eq!(tables.whole("ranks", &[vec![2, 4], vec![2, 4]]), "[2, 4]");
}

#[test]
fn a_whole_program() {
    let p = program(2, 1, 2, 0)
        .in_place(Buffer::Input, Buffer::Output, |r| r)
        .mesh(ChannelKind::Memory)
        .promise(|_, chunk| vec![(chunk, 0)])
        .block(|r| {
            let put = memory(r, Verb::Put, &[output(r, 1)], &[on(1 - r, output(r, 1))]);
            vec![signal([to(r, 1 - r)], true), put]
        });
    let expected = "\
//! `test` for 2 ranks, operation by operation: a dump, not meant to be edited.

/// What a rank has, and what it must end with.
collective test() {
    input[1];
    output[2];
    in_place { input = output[rank ..+ 1]; }
    ensures for i in 0..2 { output[i] == (i).input[0] }
}

/// Made for 2 ranks.
program test_dump(ranks: int = 2) {
    require ranks == 2, \"a dump is made for one number of ranks\";
    collective test(in_place = true, op = sum);
    options {
        name = \"test\";
        protocol = Simple;
        threads = 1024;
        instances = 1;
        replication = interleaved;
        alignment = 16;
        double_scratch = false;
        reuse_resources = false;
        fuse = true;
        auto_sync = true;
    }
    #[allow(W0202, shared)]
    channel mem[i in 0..1] = memory(1 - rank) to mem[0];
    #[allow(W0301)]
    block b[i in 0..1] = i;

    if rank == 0 {
        block b[0] {    // b0
            signal mem[0] relaxed;
            put output[0] -> (1).output[0] via mem[0];
        }
    }

    if rank == 1 {
        block b[0] {    // b0
            signal mem[0] relaxed;
            put output[1] -> (0).output[1] via mem[0];
        }
    }
}
";
    assert_eq!(print(&p).text, expected);
}

#[test]
fn barriers_stand_where_all_their_blocks_have_come() {
    let mut p = program(1, 4, 4, 0);
    for i in 0..3 {
        p = p.block(|_| vec![copy_of(i)]);
    }
    let meet = |id| op(Action::Barrier { id: BarrierId(id), arrivals: 2 });
    let rank = &mut p.ranks[RankId(0)];
    rank.barriers = vec![vec![BlockId(0), BlockId(2)], vec![BlockId(0), BlockId(1)]].into();
    rank.blocks[BlockId(0)].ops.extend([meet(0), meet(1), op(copy_of(3))]);
    rank.blocks[BlockId(1)].ops.insert(0, meet(1));
    rank.blocks[BlockId(2)].ops.push(meet(0));
    let expected = "    if rank == 0 {
        block b[0] {    // b0
            copy input[0] -> output[0];
        }
        block b[2] {    // b2
            copy input[2] -> output[2];
        }
        barrier b[0], b[2];
        barrier b[0], b[1];
        block b[0] {
            copy input[3] -> output[3];
        }
        block b[1] {    // b1
            copy input[1] -> output[1];
        }
    }";
    assert_eq!(excerpt(&p, "if rank == 0", "}\n"), format!("{expected}\n}}"));
}

#[test]
fn blocks_that_meet_in_a_pipeline_share_it() {
    let mut p = program(1, 2, 2, 0);
    for i in 0..2 {
        p = p.block(|_| vec![pipeline(64, 1, vec![copy_of(i)])]);
    }
    let rank = &mut p.ranks[RankId(0)];
    rank.barriers = vec![vec![BlockId(0), BlockId(1)]].into();
    for block in rank.blocks.iter_mut() {
        let Action::Pipeline(pipeline) = &mut block.ops[0].action else { panic!() };
        pipeline.body.push(op(Action::Barrier { id: BarrierId(0), arrivals: 2 }));
    }
    let expected = "        pipeline unit = 64, chunks = 1 {
            block b[0] {    // b0
                copy input[0] -> output[0];
            }
            block b[1] {    // b1
                copy input[1] -> output[1];
            }
            barrier b[0], b[1];
        }";
    assert_eq!(
        excerpt(&p, "pipeline", "}\n").lines().take(9).collect::<Vec<_>>().join("\n"),
        expected
    );
}

#[test]
fn a_barrier_that_nobody_comes_to_ends() {
    let mut p = program(1, 1, 1, 0).block(|_| vec![copy_of(0)]).block(|_| vec![copy_of(0)]);
    let rank = &mut p.ranks[RankId(0)];
    rank.barriers = vec![vec![BlockId(0), BlockId(1)], vec![]].into();
    rank.blocks[BlockId(0)].ops.push(op(Action::Barrier { id: BarrierId(0), arrivals: 2 }));
    rank.blocks[BlockId(1)].ops.push(op(Action::Barrier { id: BarrierId(1), arrivals: 2 }));
    assert!(print(&p).text.ends_with("}\n"));
}

#[test]
fn each_part_of_a_statement_is_told() {
    let nvls = ChannelId(1);
    let mut p =
        program(2, 4, 4, 4).mesh(ChannelKind::Memory).switch(Buffer::Scratch, 2).block(|r| {
            let mut least =
                memory(r, Verb::Reduce, &[input(0, 1), on(1 - r, input(0, 1))], &[output(0, 1)]);
            if let Action::Transfer(transfer) = &mut least {
                transfer.reduce = crate::ir::ReduceOp::Min;
            }
            let cell = group(nvls, scratch(1, 2));
            vec![
                least,
                sliced(local(Verb::Copy, &[input(1, 3)], &[output(1, 3)]), 1, 4),
                over(Verb::Broadcast, Some(ChannelKind::Switch), &[output(0, 2)], &[cell], &[nvls]),
                local(Verb::Copy, &[output(0, 1)], &[input(0, 1)]),
                Action::Sync,
                signal([to(r, 1 - r)], false),
            ]
        });
    for rank in p.ranks.iter_mut() {
        rank.blocks[BlockId(0)].ops[5].sync = Some(SyncOverride::None);
    }
    let expected = "        block b[0] {    // b0
            reduce input[0], (1).input[0] -> output[0] via mem[0] op = min;
            copy input[1..+3] -> output[1..+3] slice = 1 of 4;
            broadcast output[0..+2] -> nvls_0000_cells.cells[1..+2];
            #[allow(clobber)]
            copy output[0] -> input[0];
            sync;
            signal mem[0] sync = none;
        }";
    assert_eq!(excerpt(&p, "block b[0] {", "}"), expected);
    assert!(print(&p).text.contains("channel nvls_0000_cells = switch(0..2, cells);"));
}

#[test]
fn what_passes_have_done_is_not_asked_for_again() {
    let mut p = program(1, 1, 1, 0);
    p.options.instances = 4;
    p.options.min_message_size = Some(1024);
    p.options.tags = vec![("nvls".into(), 1)];
    let option = |p: &Program, name: &str| {
        excerpt(p, &format!(" {name} = "), "}").lines().next().unwrap().trim().to_owned()
    };
    assert_eq!(option(&p, "instances"), "instances = 4;");
    assert_eq!(option(&p, "message_size"), "message_size = 1024..;");
    assert_eq!(option(&p, "tags"), "tags = { nvls = 1 };");
    p.instances_done = 4;
    p.joins = Joins::Explicit;
    p.options.max_message_size = Some(4096);
    assert_eq!(option(&p, "instances"), "instances = 1;");
    assert_eq!(option(&p, "auto_sync"), "auto_sync = false;");
    assert_eq!(option(&p, "message_size"), "message_size = 1024..=4096;");
}

#[test]
fn names_that_are_none_are_changed() {
    let mut p = program(1, 1, 1, 0);
    p.options.name = "2 \"nodes\"".into();
    p.collective.name = "all-gather".into();
    let text = print(&p).text;
    assert!(
        text.contains("program _2__nodes__dump(") && text.contains("name = \"2 \\\"nodes\\\"\";")
    );
    assert!(text.contains("collective all_gather() {"));
}
