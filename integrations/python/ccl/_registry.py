"""Gives the plans of a manifest to MSCCL++."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, List

from ccl._compiler import CclError, PathLike, Plan

# The version of the manifest's form that is read here.
_VERSION = 1

# How much of a plan's hash its algorithm's id carries: enough that an edited plan is another algorithm.
_ID_DIGITS = 16

# Every algorithm that was registered, by the plan's name: the executor keeps what it sets up under that name, and a
# second object for it would find tables that were never filled.
_registered: "dict[tuple[str, int], tuple[str, Any]]" = {}


def load(manifest: PathLike) -> List[Plan]:
    """The plans of a manifest.

    Raises:
        CclError: if it cannot be read, is of a form that is not known, or names a file that is not there.
    """
    path = Path(manifest).absolute()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CclError(f"{manifest} is not a manifest: {error}") from error
    if not isinstance(data, dict) or data.get("version") != _VERSION:
        raise CclError(f"{manifest} is not a manifest of version {_VERSION}")
    try:
        plans = [Plan.of(entry, path.parent) for entry in data["plans"]]
    except (KeyError, TypeError) as error:
        raise CclError(f"{manifest} is not a manifest: {_lack(error)}") from error
    for plan in plans:
        if not plan.path.is_file():
            raise CclError(f"{manifest} names {plan.path}, which is not there: build the plans again")
    return plans


def _lack(error: Exception) -> str:
    return f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)


def register(manifest: PathLike, rank: int, *, unproved: bool = False) -> List[Any]:
    """Registers every plan of a manifest with MSCCL++, for this rank; its ``Algorithm`` objects, in the manifest's order.

    It is called once a process, before the communicator is made (``torch.distributed.init_process_group`` and the
    like). MSCCL++ then takes a plan where a request fits its collective, number of ranks, ranks in a node and message sizes.
    Plans are read again at every new message size: their files stay where they are, unchanged.

    Args:
        manifest: as ``cclc manifest`` or ``cclc build --emit manifest`` writes it.
        rank: the number of this process's rank.
        unproved: also register plans that were not shown to be right.

    Raises:
        CclError: if a plan was not proved, or another plan of its name is registered already.
        ImportError: if MSCCL++ is not installed.
    """
    plans = load(manifest)
    wrong = [plan.name for plan in plans if not plan.proved]
    if wrong and not unproved:
        raise CclError(f"not shown to be right: {', '.join(wrong)}; `unproved=True` registers them all the same")
    for collective in sorted({plan.collective for plan in plans}):
        if len({plan.in_place for plan in plans if plan.collective == collective}) > 1:
            # A function-static of MSCCL++ remembers the mode of the first algorithm that is asked.
            warnings.warn(
                f"{manifest} has plans for {collective} in place and out of place; MSCCL++ decides by the first that it"
                " asks whether all of them are: register one kind in a process",
                RuntimeWarning,
                stacklevel=2,
            )

    import mscclpp
    import mscclpp.ext

    builder = mscclpp.ext.AlgorithmCollectionBuilder()
    return [_register(mscclpp, builder, plan, rank) for plan in plans]


def _register(mscclpp: Any, builder: Any, plan: Plan, rank: int) -> Any:
    key = (plan.name, rank)
    if key in _registered:
        digest, algorithm = _registered[key]
        if digest != plan.hash:
            raise CclError(f"another plan named {plan.name} is registered already: give one of them another name")
        return algorithm
    digits = plan.hash.rpartition(":")[2][:_ID_DIGITS]
    algorithm = mscclpp.Algorithm(
        id=f"{plan.name}-{digits}",
        execution_plan=mscclpp.ExecutionPlan(str(plan.path), rank),
        tags=dict(plan.tags),
        constraint=mscclpp.Algorithm.Constraint(world_size=plan.world_size, n_ranks_per_node=plan.ranks_per_node),
    )
    builder.add_algorithm_builder(algorithm)
    _registered[key] = (plan.hash, algorithm)
    return algorithm
