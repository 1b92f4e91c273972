"""The stand-in against MSCCL++'s own C++ code and Python package, for requests of all kinds: both must choose alike, with the
registered plans' selector and without.

`MSCCLPP` names a checkout of MSCCL++ 0.9, and `CUDA_HOME` a folder with CUDA's headers; g++ compiles the parts of the checkout that
choose, with nanobind 1.9, which MSCCL++ is bound with. No GPU is needed.
"""

import importlib.util
import itertools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import ccl
from stand_in import AlgorithmCollectionBuilder, Communicator, CppDslAlgorithm, DataType
from test_selector import build, leave_it_to_mscclpp

HERE = Path(__file__).parent / "selection"
LACKING = [name for name in ("MSCCLPP", "CUDA_HOME") if name not in os.environ]
if importlib.util.find_spec("nanobind") is None:
    LACKING.append("nanobind")

CHOOSING = ("src/core/algorithm.cc", "src/ext/nccl/algorithm_selector.cc", "python/csrc/algorithm.cpp")
BINDINGS = "python/csrc/ext/algorithm_collection_builder_py.cpp"
NANOBIND = ("common", "error", "implicit", "nb_enum", "nb_func", "nb_internals", "nb_static_property", "nb_type", "trampoline")
PACKAGE = """\
from ._mscclpp import CppDataType as DataType, CppExecutionPlan as ExecutionPlan
from ._core.algorithm import Algorithm
"""


def assemble(folder):
    """A package `mscclpp` of the checkout's Python files, with what `selection.cpp` and the checkout's C++ files make."""
    import nanobind

    checkout, core = Path(os.environ["MSCCLPP"]), Path(nanobind.include_dir()).parent
    package = folder / "mscclpp"
    (package / "_core").mkdir(parents=True)
    shutil.copy(checkout / "python/mscclpp/_core/algorithm.py", package / "_core")
    shutil.copytree(checkout / "python/mscclpp/ext", package / "ext")
    (package / "_core/__init__.py").touch()
    (package / "__init__.py").write_text(PACKAGE)
    (folder / "cupy.py").write_text("ndarray = None\n")
    sources = [HERE / "selection.cpp", *(checkout / name for name in (*CHOOSING, BINDINGS, "src/core/errors.cc"))]
    includes = [checkout / "include", checkout / "src/core/include", checkout / "src/ext/nccl"]
    includes += [checkout / "src/ext/collectives/include", core / "include", core / "ext/robin_map/include"]
    includes += [sysconfig.get_paths()["include"], Path(os.environ["CUDA_HOME"]) / "include"]
    command = ["g++", "-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-DMSCCLPP_USE_CUDA"]
    command += [part for include in includes for part in ("-I", str(include))]
    command += [*map(str, sources), *(str(core / f"src/{name}.cpp") for name in NANOBIND)]
    subprocess.run([*command, "-Wl,-z,lazy", "-o", str(package / "_mscclpp.so")], check=True)


def calls():
    """Calls of every collective: sizes on the grids and off them, both modes, types that plans run and others, all roots."""
    for collective, part, in_place, dtype in itertools.product(
        ("allgather", "allreduce", "reducescatter", "broadcast"),
        (16, 4096, 4096 + 16, 1 << 20),
        (False, True),
        ("float32", "int32", "uint8", "float8_e4m3fn"),
    ):
        for root in range(4) if collective == "broadcast" else (None,):
            yield collective, part, in_place, DataType[dtype], root


@pytest.mark.skipif(bool(LACKING), reason=f"not there: {', '.join(LACKING)}")
def test_mscclpps_own_code_chooses_alike(folder, mscclpp):
    names = ["gather", "sum", "scatter", "tree"]
    build("gather", "allgather_allpairs", in_place=False, option={"message_size": "..=64KiB"})
    build("sum", "allreduce_allpairs", in_place=True)
    build("scatter", "reducescatter_allpairs", in_place=True)
    build("tree", "broadcast_tree", root=2)
    assemble(folder / "package")

    chosen = {}
    for how in ("alone", "registered"):
        AlgorithmCollectionBuilder.reset()
        CppDslAlgorithm.mode = None
        if how == "alone":
            group = leave_it_to_mscclpp(*names)
        else:
            for name in names:
                ccl.register(f"{name}.manifest.json", 0, only_sums=True)
            group = Communicator(4)
        requests = [request for call in calls() for request in group.requests(*call)]
        expected = [algorithm.name if algorithm else "" for algorithm in map(group.select, requests)]
        arguments = [how, *(f"{name}.manifest.json" for name in names)]
        chosen[how] = json.loads(asked(folder / "package", arguments, requests))
        assert chosen[how] == expected
        assert set(expected) >= {"", "gather", "scatter"}
    assert chosen["alone"] != chosen["registered"]


def asked(package, arguments, requests):
    """What `selection.py` prints."""
    rows = [
        [
            *(request.world_size, request.n_ranks_per_node, request.rank, request.input_buffer, request.output_buffer),
            *(request.message_size, request.collective, request.dtype.name, request.hints.get("root", [-1])[0]),
        ]
        for request in requests
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, str(HERE / "selection.py"), str(package), *arguments]
    return subprocess.run(command, input=json.dumps(rows), text=True, capture_output=True, check=True, env=environment).stdout
