"""Registration with a stand-in for MSCCL++, and with its own Python sources if `MSCCLPP` names a checkout."""

import importlib
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

import ccl
from ccl import _registry
from stand_in import Algorithm, AlgorithmCollectionBuilder, DataType, ExecutionPlan


def manifest(*names):
    subprocess.run([ccl.cclc(), "manifest", *(f"{name}.manifest.json" for name in names), "-o", "all.json"], check=True)
    return "all.json"


def two_sizes():
    ccl.build("gather.ccl", "low.json", option={"name": "low", "message_size": "1KiB..=64KiB", "tags": {"low": 1}})
    ccl.build("gather.ccl", "high.json", option={"name": "high", "message_size": "128KiB.."})
    return manifest("low", "high")


def test_every_plan_is_registered(folder, mscclpp):
    algorithms = ccl.register(two_sizes(), rank=1)
    assert [Path(algorithm.plan.path).read_text() for algorithm in algorithms] == [
        (folder / name).read_text() for name in ("low.json", "high.json")
    ]
    assert all(algorithm.plan.rank == 1 for algorithm in algorithms)
    assert algorithms[0].constraint == Algorithm.Constraint(world_size=2, n_ranks_per_node=2)
    assert (algorithms[0].tags, algorithms[1].tags) == ({"low": 1}, {})
    assert all(algorithm.id.startswith(name) for algorithm, name in zip(algorithms, ("low-", "high-")))
    assert AlgorithmCollectionBuilder().selector is ccl.select


def test_a_plan_is_registered_once(folder, mscclpp):
    name = two_sizes()
    first, again = ccl.register(name, rank=0), ccl.register(name, rank=0)
    assert len(first) == 2 and all(a is b for a, b in zip(first, again))


def test_without_mscclpp_the_error_says_what_is_missing(folder, monkeypatch):
    ccl.build("gather.ccl", "p.json")
    monkeypatch.setitem(sys.modules, "mscclpp", None)
    with pytest.raises(ImportError, match="whose Python package cannot be imported here .*`ccl.verify` work without it"):
        ccl.register("p.manifest.json", 0)
    monkeypatch.setitem(sys.modules, "mscclpp", types.ModuleType("mscclpp"))
    with pytest.raises(ImportError, match="needs MSCCL"):
        ccl.register("p.manifest.json", 0)


def test_another_plan_of_a_name_is_refused(folder, mscclpp):
    ccl.build("gather.ccl", "p.json")
    ccl.register("p.manifest.json", 0)
    ccl.build("gather.ccl", "q.json", option={"message_size": "1KiB..=2KiB"})
    with pytest.raises(ccl.CclError, match="another plan named gather"):
        ccl.register("q.manifest.json", 0)


def test_what_is_not_proved_is_refused(folder, mscclpp):
    ccl.build("racy.ccl", "p.json", unproved=True)
    with pytest.raises(ccl.CclError, match="not shown to be right: gather"):
        ccl.register("p.manifest.json", 0)
    assert len(ccl.register("p.manifest.json", 0, unproved=True)) == 1


def test_sizes_that_must_not_change_are_warned_of(folder, mscclpp):
    ccl.build("gather.ccl", "p.json")
    manifest = json.loads(Path("p.manifest.json").read_text())
    assert manifest["plans"][0]["any_size"]
    manifest["plans"][0]["any_size"] = False
    Path("p.manifest.json").write_text(json.dumps(manifest))
    with pytest.warns(RuntimeWarning, match="when the size of the messages changes: gather"):
        ccl.register("p.manifest.json", 0)


@pytest.mark.skipif("MSCCLPP" not in os.environ, reason="MSCCLPP names no checkout of MSCCL++")
def test_mscclpps_own_python_takes_it(folder, monkeypatch):
    """MSCCL++'s own `Algorithm` and builder, with stand-ins for its C++ module and for what needs a GPU."""
    selectors = []

    class Core(types.ModuleType):
        def __getattr__(self, name):
            return type(name, (), {})

    core = Core("mscclpp._mscclpp")
    core.CppAlgorithmType, core.CppReduceOp = types.SimpleNamespace(DSL="dsl"), types.SimpleNamespace(NOP=0)
    core.CppAlgorithm = type("CppAlgorithm", (), {"Constraint": Algorithm.Constraint})
    core.CppDslAlgorithm = type(
        "CppDslAlgorithm", (), {"__init__": lambda self, id, plan, tags, constraint: setattr(self, "plan", plan), "type": "dsl"}
    )
    builder = types.SimpleNamespace(set_algorithm_selector=selectors.append)
    core.CppAlgorithmCollectionBuilder = types.SimpleNamespace(get_instance=lambda: builder, reset=lambda: None)
    sources = Path(os.environ["MSCCLPP"]) / "python/mscclpp"
    package = types.ModuleType("mscclpp")
    package.__path__ = [str(sources)]
    package._mscclpp, package.ExecutionPlan, package.DataType = core, ExecutionPlan, DataType
    inner = types.ModuleType("mscclpp._core")
    inner.__path__ = [str(sources / "_core")]
    for name, module in (("mscclpp", package), ("mscclpp._mscclpp", core), ("mscclpp._core", inner), ("cupy", types.ModuleType("cupy"))):
        monkeypatch.setitem(sys.modules, name, module)
    package.Algorithm = importlib.import_module("mscclpp._core.algorithm").Algorithm
    importlib.import_module("mscclpp.ext")
    monkeypatch.setattr(_registry, "_process", _registry._Process())

    name = two_sizes()
    algorithms = ccl.register(name, rank=1)
    assert [algorithm._algorithm.plan.rank for algorithm in algorithms] == [1, 1]
    assert selectors == [ccl.select] and all(algorithm.is_dsl_algorithm() for algorithm in algorithms)
