"""Registers the plans of manifests with MSCCL++.

In: manifests. Out: plans that ``ccl.select`` can choose, and ``ccl.select`` as MSCCL++'s selector. A plan that is not what its
manifest says is refused, and so are a plan that could be chosen for a request that it does not carry out right, and two plans that
one request could choose.

The plans are not among the algorithms that MSCCL++ chooses from when a selector returns None: MSCCL++ does not look at all that
matters, and remembers for all collectives of the process whether the first plan that it asks is in place.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
import warnings
import weakref
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ccl._compiler import CclError, PathLike, Plan, refused, run
from ccl._selector import Selector


class _Process:
    """What this process has registered."""

    def __init__(self) -> None:
        self.plans: Dict[str, Tuple[Plan, str]] = {}  # by name, with the manifest that each is from
        self.selector: Optional[Selector] = None
        self.builder: Callable[[], Any] = lambda: None  # the one that has `select`, as long as there is one


_process = _Process()


def load(manifest: PathLike) -> List[Plan]:
    """The plans of a manifest, once it is known that they are what it says of them.

    Raises:
        CclError: if it cannot be read, is not a manifest that ``cclc`` knows, or names a plan that is not there, has other bytes
            than the one that the manifest was written for, or other properties than the manifest says.
    """
    return _checked(manifest, hold=False)


def _checked(manifest: PathLike, hold: bool) -> List[Plan]:
    """The same. If ``hold``, the plans' files are the bytes that were checked, which this process holds from now on."""
    with tempfile.TemporaryDirectory(prefix="ccl-") as folder:
        copies = Path(folder) / "copies"
        written = copies / "manifest.json" if hold else Path(folder) / "manifest.json"
        where = ["--copy", str(copies)] if hold else ["-o", str(written)]
        status, reports, said = run(["manifest", "--check", *where, "--", os.fspath(manifest)])
        if status != 0:
            raise refused(f"{os.fspath(manifest)} cannot be used", reports, said)
        # Written by cclc just now, where nobody else writes: it has all fields, and each has its type.
        entries = json.loads(written.read_text(encoding="utf-8"))["plans"]
        plans = [Plan.of(entry, written.parent) for entry in entries]
        return [dataclasses.replace(plan, path=_held(plan.path)) for plan in plans] if hold else plans


def _held(file: Path) -> Path:
    """A name of a file for this process, which stays when the file is removed.

    A file in a folder for temporary files could be removed or replaced before MSCCL++ reads it again, days later.
    """
    held = Path(f"/proc/self/fd/{os.open(file, os.O_RDONLY)}")
    if not held.exists():
        raise CclError("this system has no /proc/self/fd, by which MSCCL++ would read the plans that were checked")
    return held


def register(manifest: PathLike, rank: int, *, unproved: bool = False, only_sums: bool = False) -> List[Any]:
    """Registers every plan of a manifest with MSCCL++, for this rank.

    Call it before the communicator is created (``torch.distributed.init_process_group`` and the like), with the same
    manifests on all ranks. MSCCL++ then uses a plan if a request fits its collective, number of ranks, ranks in a node, root,
    message sizes and element types, and if the request's buffers are in place exactly if the plan is. Anything else goes the
    way that it goes without plans. All ranks must pass their buffers in the same way: either all in place, or none.

    ``ccl.select`` becomes MSCCL++'s algorithm selector, in place of one that was set before. A process that has its own
    selector sets it after this call, and asks ``ccl.select`` in it.

    ``cclc manifest --check`` compares each plan with what the manifest says of it. MSCCL++ reads plans again for every new
    message size: it is given the bytes that were checked, in open files of this process that have no other name, so that
    nothing that happens to the plans' files afterwards matters. That a plan is proved is the manifest's word: register only
    manifests from builds that you trust, or call ``verify`` first. There is a warning if the size of a plan's messages must not
    change from launch to launch.
    The function returns the ``Algorithm`` objects, in the manifest's order. A plan is registered once, however often it is
    named.

    Args:
        manifest: as ``cclc manifest`` or ``cclc build --emit manifest`` writes it.
        rank: the number of this process's rank.
        unproved: also register plans that have not been shown to be right.
        only_sums: all reductions that reach ``ccl.select`` are sums. MSCCL++ does not tell a selector which operator a
            reduction has, and its executor always adds, so that plans with reductions are refused otherwise.

    Raises:
        CclError: if the manifest is not right, see ``load``; if a plan is not proved, or could be chosen for a request that it does not carry out right; if another plan
            has its name, or fits the same requests. In that case, nothing is registered.
        ImportError: if MSCCL++ is not installed, or has no selectors.
    """
    mscclpp = _mscclpp()
    plans = _checked(manifest, hold=True)
    _refuse_unfit(plans, str(manifest), unproved, only_sums)
    known = dict(_process.plans)
    new = [plan for plan in plans if _is_new(plan, str(manifest), known)]
    if changing := [plan.name for plan in plans if plan.proved and not plan.any_size]:
        warnings.warn(
            f"not shown to be right when the size of the messages changes: {', '.join(changing)}; synchronize the ranks"
            " whenever it does",
            RuntimeWarning,
            stacklevel=2,
        )

    builder = mscclpp.ext.AlgorithmCollectionBuilder()
    selector = _process.selector or Selector(mscclpp)
    algorithms = [selector.algorithm(plan, rank) for plan in plans]
    for plan in new:
        selector.add(plan)
    _process.plans, _process.selector = known, selector
    # Once, so that a selector that was set after the first call stays.
    if _process.builder() is not builder:
        builder.set_algorithm_selector(select)
        _process.builder = weakref.ref(builder)
    return algorithms


def _mscclpp() -> Any:
    """MSCCL++'s Python package."""
    try:
        import mscclpp
    except ImportError as error:
        raise ImportError(
            f"`ccl.register` gives plans to MSCCL++, whose Python package cannot be imported here ({error}): install it as its"
            " documentation says, https://microsoft.github.io/mscclpp; `ccl.build` and `ccl.verify` work without it"
        ) from error
    try:
        import mscclpp.ext
    except ImportError as error:
        raise ImportError(
            f"this version of MSCCL++ has no `mscclpp.ext` ({error}), which selects algorithms: `ccl.register` needs MSCCL++ 0.9"
        ) from error
    return mscclpp


def select(algorithms: Any, request: Any) -> Optional[Any]:
    """The algorithm of the registered plan for a request; None if there is none.

    It is what ``register`` makes MSCCL++'s algorithm selector. A process's own selector calls it where it has no choice of
    its own.

    Args:
        algorithms: what MSCCL++ gives its selector. Registered plans are not among them.
        request: MSCCL++'s ``CollectiveRequest``.
    """
    return None if _process.selector is None else _process.selector.select(algorithms, request)


def _refuse_unfit(plans: Sequence[Plan], manifest: str, unproved: bool, only_sums: bool) -> None:
    """Refuses plans that could be chosen for a request that they do not carry out right."""

    wrong = [plan.name for plan in plans if not plan.proved]
    if wrong and not unproved:
        raise CclError(f"not shown to be right: {', '.join(wrong)}; `unproved=True` registers them all the same")

    def refuse(unfit: Callable[[Plan], bool], why: str) -> None:
        if names := [plan.name for plan in plans if unfit(plan)]:
            raise CclError(f"{manifest}: {', '.join(names)}: {why}")

    refuse(
        lambda plan: plan.operator not in (None, "sum"),
        "MSCCL++'s executor adds, whatever operator a plan has; kernels have others: `cclc build --emit cuda`",
    )
    refuse(
        lambda plan: plan.operator is not None and not only_sums,
        "it reduces, and MSCCL++ does not tell which operator is asked for: a maximum or an average would get this sum. If all"
        " reductions of this process are sums, say so with `only_sums=True`",
    )
    refuse(
        lambda plan: plan.collective == "broadcast" and plan.root is None,
        "the manifest does not say from which root it broadcasts: call the collective's parameter `root`",
    )


def _is_new(plan: Plan, manifest: str, known: "dict[str, tuple[Plan, str]]") -> bool:
    """Adds a plan to those that are known, unless it is among them; refuses one that cannot be told from another."""
    if plan.name in known:
        other, where = known[plan.name]
        if other.hash != plan.hash:
            # The executor stores its setup under the name.
            raise CclError(
                f"another plan named {plan.name} is registered already, from {where}: give the one of {manifest} another name"
            )
        return False
    for other, where in known.values():
        if _fit_one_request(plan, other):
            least = max(plan.min_message_size, other.min_message_size)
            raise CclError(
                f"{plan.name} of {manifest} and {other.name} of {where} both serve {plan.collective} over {plan.world_size} ranks"
                f" for messages of {least} bytes: give each a range of its own (`-O message_size=..`), or register only one"
            )
    known[plan.name] = (plan, manifest)
    return True


def _fit_one_request(a: Plan, b: Plan) -> bool:
    keys = ((plan.collective, plan.world_size, plan.ranks_per_node, plan.in_place, plan.root) for plan in (a, b))
    return (
        len(set(keys)) == 1 and a.min_message_size <= b.max_message_size and b.min_message_size <= a.max_message_size
    )
