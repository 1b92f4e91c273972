"""The Python blocks of `docs/tutorial.md` and `integrations/python/README.md` run as they are, with the files that the pages
have made before them, against the stand-in for MSCCL++."""

import json
import re
import sys
import types
from pathlib import Path

import pytest

import ccl
import stand_in
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
    monkeypatch.setenv("RANK", "0")
    ccl.build("gather.ccl", "plan.json").path.with_name("plan.manifest.json").rename("manifest.json")
    for block in blocks("docs/tutorial.md"):
        exec(block, {})
    assert Communicator(2).ask("allgather", 64) == "gather: right" and started == ["nccl"]


def test_the_page_of_this_package(tmp_path, mscclpp, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANK", "1")
    build, register, check, own = blocks("integrations/python/README.md")
    exec(build, {})
    exec(register, {})
    assert Communicator(8).ask("allreduce", 1024, in_place=True).endswith(": right")
    process = {}
    exec(own, process)
    found = []
    for process["reducing_otherwise"] in (False, True):
        found.append(Communicator(8).ask("allreduce", 1024, in_place=True).rpartition(": ")[2])
    assert found == ["right", "without a plan"]
    described = {}
    exec(check, described)
    text = Path("plans/allreduce.json").read_text()
    program = stand_in.CollectiveProgram("allreduce", json.loads(text))
    assert json.loads(described["checked"](program)) == json.loads(text)
    del program.plan["gpus"][0]["threadblocks"][0]["ops"][0]
    with pytest.raises(SystemExit, match="error"):
        described["checked"](program)
