"""AllGather around a ring, ten steps in each thread block. The same program as ../ring_allgather_legal.ccl."""

from mscclpp.language.channel import MemoryChannel
from mscclpp.language.collectives import AllGather
from mscclpp.language.program import CollectiveProgram
from mscclpp.language.rank import Rank, Semaphore

STEPS_PER_BLOCK = 10


def plan(ranks, ranks_per_node, instances):
    parts = -(-(ranks - 1) // STEPS_PER_BLOCK)
    collective = AllGather(ranks, 1, True)
    with CollectiveProgram("ring_allgather_legal", collective, ranks, instances=instances) as program:
        ahead = [[MemoryChannel((r + 1) % ranks, r) for _ in range(parts)] for r in range(ranks)]
        behind = [[MemoryChannel((r - 1) % ranks, r) for _ in range(parts)] for r in range(ranks)]
        reached = [[Semaphore(r, 0) for _ in range(parts - 1)] for r in range(ranks)]
        outputs = [Rank(r).get_output_buffer() for r in range(ranks)]
        for r in range(ranks):
            for part in range(parts):
                if part == 0:
                    behind[r][0].signal(tb=0, relaxed=True)
                    ahead[r][0].wait(tb=0, relaxed=True)
                else:
                    reached[r][part - 1].acquire(tb=part)
                for step in range(part * STEPS_PER_BLOCK, min((part + 1) * STEPS_PER_BLOCK, ranks - 1)):
                    c = (r - step) % ranks
                    ahead[r][part].put(outputs[(r + 1) % ranks][c : c + 1], outputs[r][c : c + 1], tb=part)
                    ahead[r][part].signal(tb=part)
                    behind[r][part].wait(tb=part)
                if part + 1 < parts:
                    reached[r][part].release(tb=part)
        return program.to_json()
