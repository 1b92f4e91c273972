"""The Python blocks of `docs/tutorial.md` and `integrations/python/README.md` run as they are, with the files that the pages
have made before them, against the stand-in for MSCCL++."""

import re
import sys
import types
from pathlib import Path

import ccl
from stand_in import Communicator

ROOT = Path(__file__).parents[3]


def blocks(page):
    """The blocks of a page that this file is responsible for."""
    found = re.findall(r"^```python in integrations/python/tests/test_pages.py\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    assert found
    return found


def test_the_tutorial(folder, mscclpp, monkeypatch):
    started = []
    torch = types.ModuleType("torch")
    torch.distributed = types.SimpleNamespace(init_process_group=started.append)
    monkeypatch.setitem(sys.modules, "torch", torch)
    ccl.build("gather.ccl", "plan.json").path.with_name("plan.manifest.json").rename("manifest.json")
    for block in blocks("docs/tutorial.md"):
        exec(block, {"rank": 0, "torch": torch})
    assert Communicator(2).ask("allgather", 64) == "gather: right" and started == ["nccl"]


def test_the_page_of_this_package(folder, mscclpp):
    Path("gather.ccl").rename("allreduce.ccl")
    Path("plans").mkdir()
    build, register, own = blocks("integrations/python/README.md")
    exec(build, {})
    Path("plans/allreduce.manifest.json").rename("plans/manifest.json")
    exec(register, {"rank": 1})
    assert Communicator(8).ask("allgather", 1024).endswith(": right")
    process = {"rank": 1}
    exec(own, process)
    found = []
    for process["reducing_otherwise"] in (False, True):
        found.append(Communicator(8).ask("allgather", 1024).rpartition(": ")[2])
    assert found == ["right", "without a plan"]
