"""A stand-in for MSCCL++ 0.9: its Python package as far as registration needs it, and what its NCCL interface does with
algorithms and selectors, as `src/ext/nccl/nccl.cc`, `src/ext/nccl/algorithm_selector.cc` and `src/core/algorithm.cc` have it.

In: requests for collectives, of all ranks. Out: what happens. Nothing is computed: whether a plan does what was asked for follows
from what it is for.
"""

import dataclasses
import enum
import json
import types
from pathlib import Path

# The names of MSCCL++'s `DataType`.
DataType = enum.Enum(
    "DataType",
    "int32 uint32 float16 float32 bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz uint8 float8_e4m3b15",
)
BufferMode = enum.Enum("BufferMode", "ANY IN_PLACE OUT_OF_PLACE")

# The rank of a plan that is added to MSCCL++'s own algorithms: here, one process stands for those of all ranks.
EVERY_RANK = -1


@dataclasses.dataclass
class CollectiveProgram:
    """A program of the Python DSL, as far as it becomes a plan."""

    name: str
    plan: dict

    def to_json(self):
        """The plan. As in MSCCL++, this changes the program, so that a second call gives another plan."""
        text = json.dumps(self.plan)
        for gpu in self.plan["gpus"]:
            gpu["threadblocks"] *= 2
        return text


@dataclasses.dataclass
class ExecutionPlan:
    path: str
    rank: int

    def __post_init__(self):
        assert isinstance(self.path, str) and isinstance(self.rank, int)
        self.plan = json.loads(Path(self.path).read_text())


class CppDslAlgorithm:
    """What C++ knows of an algorithm."""

    mode = None  # a function-local static variable: the mode of the first algorithm that is asked

    def __init__(self, plan, tags, constraint):
        self.plan, self.tags, self.constraint = plan, tags, constraint
        self.name, self.collective = plan.plan["name"], plan.plan["collective"]
        self.range = (plan.plan["min_message_size"], plan.plan["max_message_size"])

    def buffer_mode(self):
        if CppDslAlgorithm.mode is None:
            CppDslAlgorithm.mode = BufferMode.IN_PLACE if self.plan.plan["inplace"] else BufferMode.OUT_OF_PLACE
        return CppDslAlgorithm.mode


class Algorithm:
    @dataclasses.dataclass
    class Constraint:
        world_size: int = 0
        n_ranks_per_node: int = 0

    def __init__(self, id=None, execution_plan=None, native_handle=None, tags=None, constraint=None):
        assert all(isinstance(value, int) and value >= 0 for value in tags.values())
        self.id, self.plan, self.tags, self.constraint = id, execution_plan, tags, constraint
        self._algorithm = CppDslAlgorithm(execution_plan, tags, constraint)

    def is_dsl_algorithm(self):
        return self.plan is not None


class AlgorithmCollectionBuilder:
    """One object, however often it is made; `reset` forgets it."""

    _instance = None

    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance.added, cls._instance.selector = [], None
        return cls._instance

    @classmethod
    def reset(cls):
        cls._instance = None

    def add_algorithm_builder(self, algorithm):
        assert algorithm.is_dsl_algorithm()
        self.added.append(algorithm)

    def set_algorithm_selector(self, selector):
        self.selector = selector


@dataclasses.dataclass
class Request:
    """`CollectiveRequest`, with all that Python sees of it: there is no operator."""

    world_size: int
    n_ranks_per_node: int
    rank: int
    input_buffer: int
    output_buffer: int
    message_size: int
    stream: int
    collective: str
    dtype: DataType
    hints: dict

    def buffer_mode(self):
        if self.input_buffer == self.output_buffer:
            return BufferMode.IN_PLACE
        inside = self.output_buffer + self.rank * self.message_size
        if self.collective == "allgather" and self.input_buffer == inside:
            return BufferMode.IN_PLACE
        return BufferMode.OUT_OF_PLACE


class Communicator:
    """What `ncclCommInitRank` makes on every rank, out of one builder for all."""

    def __init__(self, ranks, ranks_per_node=None):
        builder = AlgorithmCollectionBuilder()
        self.ranks, self.ranks_per_node, self.selector = ranks, ranks_per_node or ranks, builder.selector
        self.algorithms = {}
        for algorithm in builder.added:
            self.algorithms.setdefault(algorithm._algorithm.collective, {})[algorithm._algorithm.name] = algorithm._algorithm

    def ask(self, collective, part, in_place=False, dtype=DataType.float32, op="sum", root=None):
        """A collective in which each rank has `part` bytes of its own: the name of the plan that carries it out and how it ends,
        or how it ends."""
        found = [self.select(request) for request in self.requests(collective, part, in_place, dtype, root)]
        names = {algorithm.name if algorithm else None for algorithm in found}
        if len(names) > 1:
            return "hangs: the ranks disagree"
        if names == {None}:
            return "without a plan"
        outcomes = {self._outcome(algorithm, rank, part, in_place, dtype, op, root) for rank, algorithm in enumerate(found)}
        return f"{names.pop()}: {outcomes.pop() if len(outcomes) == 1 else sorted(outcomes)}"

    def requests(self, collective, part, in_place=False, dtype=DataType.float32, root=None):
        """What MSCCL++ makes of the calls of all ranks."""
        return [self._request(rank, collective, part, in_place, dtype, root) for rank in range(self.ranks)]

    def _request(self, rank, collective, part, in_place, dtype, root):
        whole = part * self.ranks
        given, made = 1 << 40, 1 << 41
        if in_place:
            given, made = {"allgather": (made + rank * part, made), "reducescatter": (given, given + rank * part)}.get(
                collective, (made, made)
            )
        size = {"reducescatter": whole}.get(collective, part)
        hints = {} if root is None else {"root": [root]}
        return Request(self.ranks, self.ranks_per_node, rank, given, made, size, 0, collective, dtype, hints)

    def select(self, request):
        """The algorithm that MSCCL++ takes; None if there is none."""
        chosen = self.selector(self.algorithms, request) if self.selector else None
        return chosen or self._fallback(request)

    def _fallback(self, request):
        """MSCCL++'s own choice: the first plan that `matchExecutionPlan` accepts. Native algorithms have no plan."""
        size = request.message_size * request.world_size if request.collective == "allgather" else request.message_size
        for algorithm in self.algorithms.get(request.collective, {}).values():
            mode, constraint = algorithm.buffer_mode(), algorithm.constraint
            if (
                constraint.world_size == request.world_size
                and constraint.n_ranks_per_node == request.n_ranks_per_node
                and request.buffer_mode() == mode
                and algorithm.range[0] <= size <= algorithm.range[1]
            ):
                return algorithm
        return None

    def _outcome(self, algorithm, rank, part, in_place, dtype, op, root):
        """What an algorithm makes of a rank's call, which the executor is not told the operator and the root of."""
        plan, gpu = algorithm.plan.plan, algorithm.plan.plan["gpus"][rank]
        whole = part * self.ranks
        given, made = {"allgather": (part, whole), "reducescatter": (whole, part)}.get(plan["collective"], (part, part))
        unit = plan["buffer_alignment"]
        if dtype is DataType.uint8:
            return "invalid argument"
        if dtype.name.startswith("float8"):
            return "no kernel starts"
        if given % (unit * gpu["input_chunks"]) or made % (unit * gpu["output_chunks"]):
            return "exception: not aligned with buffer alignment or chunks"
        if not plan["min_message_size"] <= max(given, made) <= plan["max_message_size"]:
            return "exception: not within the valid range"
        if algorithm.plan.rank not in (rank, EVERY_RANK):
            return "the part of another rank"
        if plan["inplace"] != in_place:
            return "wrong: the plan is for the other mode"
        if plan["collective"] in ("allreduce", "reducescatter") and op != "sum":
            return "wrong: a sum"
        # Plans do not say what their root is; the tests' plans have it as a tag.
        if root is not None and algorithm.tags["root"] != root:
            return "wrong: another root's data"
        return "right"


def module():
    """The package, with nothing registered."""
    made, ext = types.ModuleType("mscclpp"), types.ModuleType("mscclpp.ext")
    made.Algorithm, made.ExecutionPlan, made.DataType, made.ext = Algorithm, ExecutionPlan, DataType, ext
    ext.AlgorithmCollectionBuilder = AlgorithmCollectionBuilder
    AlgorithmCollectionBuilder.reset()
    CppDslAlgorithm.mode = None
    return made
