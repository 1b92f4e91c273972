"""Chooses a registered plan for a request of MSCCL++.

In: the plans of the process, and a request. Out: the algorithm that carries it out right, or None, with which MSCCL++ goes
on to its own algorithms, or to NCCL.

MSCCL++ 0.9 would choose by collective, numbers of ranks, bytes, and the mode of whichever plan it asks first, in place or
not. Whatever the executor refuses or gets wrong must therefore be decided here: the mode of this request's buffers, the root,
the type of the elements, and whether the bytes are a multiple of the plan's grid. All ranks must decide alike, or they wait for
each other forever. The operator of a reduction is not in a request; registration asks for it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from ccl._compiler import Plan

# The types of a manifest that MSCCL++'s algorithms take, and MSCCL++'s names for them. They refuse bytes, which the executor
# itself would run, and start no kernel for 8-bit floats.
_TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "i32": "int32", "u32": "uint32"}

Key = Tuple[str, int, int]


class Selector:
    """The plans of the process, and the choice among them."""

    def __init__(self, mscclpp: Any) -> None:
        self._mscclpp = mscclpp
        self._types = {getattr(mscclpp.DataType, theirs): ours for ours, theirs in _TYPES.items()}
        self._plans: Dict[Key, List[Plan]] = {}
        # One for each plan and rank: the executor stores its setup under the plan's name, and a second object with the same
        # name would find tables that were never filled.
        self._algorithms: Dict[Tuple[str, str, int], Any] = {}

    def add(self, plan: Plan) -> None:
        """Makes a plan eligible."""
        self._plans.setdefault((plan.collective, plan.world_size, plan.ranks_per_node), []).append(plan)

    def select(self, algorithms: Any, request: Any) -> Optional[Any]:
        """The algorithm for a request, as MSCCL++'s C++ parts know it."""
        plans = self._plans.get((request.collective, request.world_size, request.n_ranks_per_node))
        if plans is None:
            return None
        size, in_place, kind = _size(request), _is_in_place(request), self._types.get(request.dtype)
        for plan in plans:
            if (
                plan.in_place == in_place
                and plan.min_message_size <= size <= plan.max_message_size
                and size % plan.grid == 0
                and kind in plan.types
                and (plan.root is None or plan.root == _root(request))
            ):
                return self.algorithm(plan, request.rank)._algorithm
        return None

    def algorithm(self, plan: Plan, rank: int) -> Any:
        """The plan for one rank: a process may have another one in each of its communicators."""
        key = (plan.name, plan.hash, rank)
        if key not in self._algorithms:
            self._algorithms[key] = self._mscclpp.Algorithm(
                id=f"{plan.name}-{plan.hash.rpartition(':')[2][:_ID_DIGITS]}",
                execution_plan=self._mscclpp.ExecutionPlan(str(plan.path), rank),
                tags=dict(plan.tags),
                constraint=self._mscclpp.Algorithm.Constraint(world_size=plan.world_size, n_ranks_per_node=plan.ranks_per_node),
            )
        return self._algorithms[key]


# How much of a plan's hash is part of its algorithm's id: enough that an edited plan is another algorithm.
_ID_DIGITS = 16


def _size(request: Any) -> int:
    """The bytes of the whole message, which is what plans are limited in: requests for an AllGather give one rank's part."""
    return request.message_size * request.world_size if request.collective == "allgather" else request.message_size


def _is_in_place(request: Any) -> bool:
    """Whether the buffers are in place as the collective has it: the smaller one is the rank's part of the larger one.

    ``request.buffer_mode()`` does not know this of a ReduceScatter, so that rank 0 alone would find it in place.
    """
    given, made = request.input_buffer, request.output_buffer
    if request.collective == "allgather":
        return given == made + request.rank * request.message_size
    if request.collective == "reducescatter":
        return made == given + request.rank * (request.message_size // request.world_size)
    return given == made


def _root(request: Any) -> Optional[int]:
    return next(iter(request.hints.get("root", ())), None)
