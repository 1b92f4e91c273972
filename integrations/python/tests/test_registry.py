"""Registration with a stand-in for MSCCL++, and with its own Python sources if `MSCCLPP` names a checkout.

The stand-in has the interface of MSCCL++ 0.9's Python package as far as registration needs it, and checks the arguments
that the C++ parts check.
"""

import dataclasses
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


@dataclasses.dataclass
class ExecutionPlan:
    path: str
    rank: int

    def __post_init__(self):
        assert isinstance(self.path, str) and isinstance(self.rank, int)
        self.plan = json.loads(Path(self.path).read_text())
        assert self.rank < len(self.plan["gpus"])


class Algorithm:
    @dataclasses.dataclass
    class Constraint:
        world_size: int = 0
        n_ranks_per_node: int = 0

    def __init__(self, id=None, execution_plan=None, native_handle=None, tags=None, constraint=None):
        assert all(isinstance(value, int) and value >= 0 for value in tags.values())
        self.id, self.plan, self.tags, self.constraint = id, execution_plan, tags, constraint

    def is_dsl_algorithm(self):
        return self.plan is not None


class Builder:
    added = []

    def add_algorithm_builder(self, algorithm):
        assert algorithm.is_dsl_algorithm()
        Builder.added.append(algorithm)


@pytest.fixture
def mscclpp(monkeypatch):
    """The stand-in, with nothing registered."""
    module, ext = types.ModuleType("mscclpp"), types.ModuleType("mscclpp.ext")
    module.Algorithm, module.ExecutionPlan, module.ext = Algorithm, ExecutionPlan, ext
    ext.AlgorithmCollectionBuilder = Builder
    monkeypatch.setitem(sys.modules, "mscclpp", module)
    monkeypatch.setitem(sys.modules, "mscclpp.ext", ext)
    monkeypatch.setattr(_registry, "_registered", {})
    monkeypatch.setattr(Builder, "added", [])
    return module


def manifest(*names):
    subprocess.run([ccl.cclc(), "manifest", *(f"{name}.manifest.json" for name in names), "-o", "all.json"], check=True)
    return "all.json"


def two_sizes():
    ccl.build("gather.ccl", "low.json", option={"name": "low", "message_size": "1KiB..=64KiB", "tags": {"low": 1}})
    ccl.build("gather.ccl", "high.json", option={"name": "high", "message_size": "128KiB.."})
    return manifest("low", "high")


def test_every_plan_is_registered(folder, mscclpp):
    algorithms = ccl.register(two_sizes(), rank=1)
    assert algorithms == Builder.added
    assert [algorithm.plan.path for algorithm in algorithms] == [str(folder / "low.json"), str(folder / "high.json")]
    assert all(algorithm.plan.rank == 1 for algorithm in algorithms)
    assert algorithms[0].constraint == Algorithm.Constraint(world_size=2, n_ranks_per_node=2)
    assert (algorithms[0].tags, algorithms[1].tags) == ({"low": 1}, {})
    assert all(algorithm.id.startswith(name) for algorithm, name in zip(algorithms, ("low-", "high-")))


def test_a_plan_is_registered_once(folder, mscclpp):
    name = two_sizes()
    assert ccl.register(name, rank=0) == ccl.register(name, rank=0)
    assert len(Builder.added) == 2


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


def test_modes_that_mscclpp_mixes_up_are_warned_of(folder, mscclpp):
    text = Path("gather.ccl").read_text().replace("        copy input[0] -> output[rank];\n", "").replace("input[0]", "output[rank]")
    Path("inside.ccl").write_text(text.replace("allgather(ranks)", "allgather(ranks, in_place = true)"))
    ccl.build("gather.ccl", "p.json")
    ccl.build("inside.ccl", "q.json", option={"name": "inside"})
    with pytest.warns(RuntimeWarning, match="in place and out of place"):
        ccl.register(manifest("p", "q"), 0)


@pytest.mark.parametrize(
    "text, says", [("{", "not a manifest"), ("[]", "not a manifest of version 1"), ('{"version": 2, "plans": []}', "of version 1")]
)
def test_what_is_no_manifest(folder, text, says):
    Path("m.json").write_text(text)
    with pytest.raises(ccl.CclError, match=says):
        ccl.load("m.json")


def test_a_plan_that_is_gone(folder):
    name = two_sizes()
    Path("low.json").unlink()
    with pytest.raises(ccl.CclError, match="low.json, which is not there"):
        ccl.load(name)


@pytest.mark.skipif("MSCCLPP" not in os.environ, reason="MSCCLPP names no checkout of MSCCL++")
def test_mscclpps_own_python_takes_it(folder, monkeypatch):
    """MSCCL++'s own `Algorithm` and builder, with stand-ins for its C++ module and for what needs a GPU."""
    added = []

    class Core(types.ModuleType):
        def __getattr__(self, name):
            return type(name, (), {})

    core = Core("mscclpp._mscclpp")
    core.CppAlgorithmType, core.CppReduceOp = types.SimpleNamespace(DSL="dsl"), types.SimpleNamespace(NOP=0)
    core.CppAlgorithm = type("CppAlgorithm", (), {"Constraint": Algorithm.Constraint})
    core.CppDslAlgorithm = type(
        "CppDslAlgorithm", (), {"__init__": lambda self, id, plan, tags, constraint: setattr(self, "plan", plan), "type": "dsl"}
    )
    builder = types.SimpleNamespace(add_dsl_algorithm_builder=added.append)
    core.CppAlgorithmCollectionBuilder = types.SimpleNamespace(get_instance=lambda: builder, reset=lambda: None)
    sources = Path(os.environ["MSCCLPP"]) / "python/mscclpp"
    package = types.ModuleType("mscclpp")
    package.__path__ = [str(sources)]
    package._mscclpp, package.ExecutionPlan = core, ExecutionPlan
    inner = types.ModuleType("mscclpp._core")
    inner.__path__ = [str(sources / "_core")]
    for name, module in (("mscclpp", package), ("mscclpp._mscclpp", core), ("mscclpp._core", inner), ("cupy", types.ModuleType("cupy"))):
        monkeypatch.setitem(sys.modules, name, module)
    package.Algorithm = importlib.import_module("mscclpp._core.algorithm").Algorithm
    importlib.import_module("mscclpp.ext")
    monkeypatch.setattr(_registry, "_registered", {})

    name = two_sizes()
    algorithms = ccl.register(name, rank=1)
    assert [algorithm._algorithm.plan.rank for algorithm in algorithms] == [1, 1]
    assert len(added) == 2 and all(algorithm.is_dsl_algorithm() for algorithm in algorithms)


@pytest.mark.parametrize("text", ['{"version": 1}', '{"version": 1, "plans": [{}]}', '{"version": 1, "plans": 3}'])
def test_a_manifest_that_is_not_whole(folder, text):
    Path("m.json").write_text(text)
    with pytest.raises(ccl.CclError, match="m.json is not a manifest"):
        ccl.load("m.json")
