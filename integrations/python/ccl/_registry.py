"""Registers the plans of a manifest with MSCCL++."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, List

from ccl._compiler import CclError, PathLike, Plan

# The version of the manifest format that this code reads.
_VERSION = 1

# How much of a plan's hash is part of its algorithm's id: enough that an edited plan is another algorithm.
_ID_DIGITS = 16

# All registered algorithms, by plan name: the executor stores its setup under that name, and a second object with
# the same name would find tables that were never filled.
_registered: "dict[tuple[str, int], tuple[str, Any]]" = {}


def load(manifest: PathLike) -> List[Plan]:
    """The plans of a manifest.

    Raises:
        CclError: if it cannot be read, has an unknown format, or names a file that does not exist.
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
    """Registers every plan of a manifest with MSCCL++, for this rank.

    Call it once per process, before the communicator is created (``torch.distributed.init_process_group`` and the
    like). MSCCL++ then uses a plan if a request fits its collective, number of ranks, ranks in a node and message sizes.
    Plans are read again for every new message size, so their files must stay where they are, unchanged. There is a warning
    if the size of a plan's messages must not change from launch to launch.
    The function returns the ``Algorithm`` objects, in the manifest's order.

    Args:
        manifest: as ``cclc manifest`` or ``cclc build --emit manifest`` writes it.
        rank: the number of this process's rank.
        unproved: also register plans that have not been shown to be right.

    Raises:
        CclError: if a plan is not proved, or another plan with its name is already registered.
        ImportError: if MSCCL++ is not installed.
    """
    plans = load(manifest)
    wrong = [plan.name for plan in plans if not plan.proved]
    if wrong and not unproved:
        raise CclError(f"not shown to be right: {', '.join(wrong)}; `unproved=True` registers them all the same")
    if changing := [plan.name for plan in plans if plan.proved and not plan.any_size]:
        warnings.warn(
            f"not shown to be right when the size of the messages changes: {', '.join(changing)}; synchronize the ranks"
            " whenever it does",
            RuntimeWarning,
            stacklevel=2,
        )
    for collective in sorted({plan.collective for plan in plans}):
        if len({plan.in_place for plan in plans if plan.collective == collective}) > 1:
            # A function-local static variable of MSCCL++ remembers the mode of the first algorithm that it asks.
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
