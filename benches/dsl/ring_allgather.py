"""AllGather around a ring, in one thread block. The same program as ../ring_allgather.ccl."""

from mscclpp.language.channel import MemoryChannel
from mscclpp.language.collectives import AllGather
from mscclpp.language.program import CollectiveProgram
from mscclpp.language.rank import Rank


def plan(ranks, ranks_per_node, instances):
    collective = AllGather(ranks, 1, True)
    with CollectiveProgram("ring_allgather", collective, ranks, instances=instances) as program:
        ahead = [MemoryChannel((r + 1) % ranks, r) for r in range(ranks)]
        behind = [MemoryChannel((r - 1) % ranks, r) for r in range(ranks)]
        outputs = [Rank(r).get_output_buffer() for r in range(ranks)]
        for r in range(ranks):
            behind[r].signal(tb=0, relaxed=True)
            ahead[r].wait(tb=0, relaxed=True)
            for step in range(ranks - 1):
                c = (r - step) % ranks
                ahead[r].put(outputs[(r + 1) % ranks][c : c + 1], outputs[r][c : c + 1], tb=0)
                ahead[r].signal(tb=0)
                behind[r].wait(tb=0)
        return program.to_json()
