"""AllGather, all pairs, LL packets. The same program as ../allpairs_allgather_packets.ccl."""

from mscclpp.language.channel import MemoryChannel
from mscclpp.language.collectives import AllGather
from mscclpp.language.program import CollectiveProgram
from mscclpp.language.rank import Buffer, Rank


def plan(ranks, ranks_per_node, instances):
    collective = AllGather(ranks, 1, True)
    with CollectiveProgram(
        "allpairs_allgather_packets",
        collective,
        ranks,
        instances=instances,
        protocol="LL",
        use_double_scratch_buffer=True,
    ) as program:
        inbox = [Buffer(r, ranks) for r in range(ranks)]
        for r in range(ranks):
            me = Rank(r)
            output = me.get_output_buffer()
            peers = [p for p in range(ranks) if p != r]
            for block, p in enumerate(peers):
                channel = MemoryChannel(p, r)
                channel.put_packets(inbox[p][r : r + 1], output[r : r + 1], tb=block)
            for block, p in enumerate(peers, start=len(peers)):
                me.unpack_packets(output[p : p + 1], inbox[r][p : p + 1], tb=block)
        return program.to_json()
