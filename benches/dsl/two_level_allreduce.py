"""AllReduce in two levels with LL packets and groups of thread blocks. The same program as ../two_level_allreduce.ccl."""

from mscclpp.language.channel import MemoryChannel, PortChannel
from mscclpp.language.collectives import AllReduce
from mscclpp.language.program import CollectiveProgram
from mscclpp.language.rank import Buffer, Rank
from mscclpp.language.thread_block_group import ThreadBlockGroup

WIDTH = 4


def plan(ranks, ranks_per_node, instances):
    nodes = ranks // ranks_per_node
    collective = AllReduce(ranks, 1, True)
    with CollectiveProgram(
        "two_level_allreduce",
        collective,
        ranks,
        instances=instances,
        protocol="LL",
        reuse_resources=True,
        use_double_scratch_buffer=True,
    ) as program:
        gather = [Buffer(r, ranks_per_node * nodes) for r in range(ranks)]
        cross = [Buffer(r, nodes * nodes) for r in range(ranks)]
        spread = [Buffer(r, ranks_per_node * nodes) for r in range(ranks)]
        for r in range(ranks):
            rank_plan(r, ranks_per_node, nodes, gather, cross, spread)
        return program.to_json()


def rank_plan(r, width, nodes, gather, cross, spread):
    """The operations of one rank."""

    def row(buffer, i):
        return buffer[i * nodes : (i + 1) * nodes]

    me, node, local = Rank(r), r // width, r % width
    input_buffer = me.get_input_buffer()
    node_peers = [node * width + i for i in range(width) if i != local]
    rail_peers = [n * width + local for n in range(nodes) if n != node]
    near = {p: MemoryChannel(p, r) for p in node_peers}
    far = {q: PortChannel(q, r) for q in rail_peers}
    groups = {}
    for i, p in enumerate(node_peers):
        groups[p] = ThreadBlockGroup(tb_list=list(range(1 + i * WIDTH, 1 + (i + 1) * WIDTH)))
    blocks = list(range(1, 1 + len(node_peers) * WIDTH))
    everybody = ThreadBlockGroup(tb_list=blocks)
    mine = row(input_buffer, local)

    for p in node_peers:
        near[p].put_packets(row(gather[p], local), row(input_buffer, p % width), tb_group=groups[p])
    me.reduce(mine, [row(gather[r], p % width) for p in node_peers], tb_group=everybody, packet=True)
    me.copy_packets(row(gather[r], local), mine, tb_group=everybody)
    me.barrier([0, *blocks])
    for q in rail_peers:
        far[q].read_put_packets(row(cross[q], node), row(gather[r], local), tb=0)
    me.reduce(mine, [row(cross[r], q // width) for q in rail_peers], tb_group=everybody, packet=True)
    me.copy_packets(row(cross[r], node), mine, tb_group=everybody)
    for p in node_peers:
        near[p].read_put_packets(row(spread[p], local), row(cross[r], node), tb_group=groups[p])
    for p in node_peers:
        me.unpack_packets(row(input_buffer, p % width), row(spread[r], p % width), tb_group=groups[p])
