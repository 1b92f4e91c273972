"""The Python blocks of `docs/tutorial.md` and `integrations/python/README.md` run as they are, with the files that the pages
have made before them, against the stand-in for MSCCL++."""

import re
import sys
import types
from pathlib import Path

import ccl
from test_registry import Builder, mscclpp  # noqa: F401 (a fixture)

ROOT = Path(__file__).parents[3]


def blocks(page):
    """The blocks of a page that this file is responsible for."""
    found = re.findall(r"^```python in integrations/python/tests/test_pages.py\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    assert found
    return found


def test_the_tutorial(folder, mscclpp, monkeypatch):  # noqa: F811
    started = []
    torch = types.ModuleType("torch")
    torch.distributed = types.SimpleNamespace(init_process_group=started.append)
    monkeypatch.setitem(sys.modules, "torch", torch)
    ccl.build("gather.ccl", "plan.json").path.with_name("plan.manifest.json").rename("manifest.json")
    for block in blocks("docs/tutorial.md"):
        exec(block, {"rank": 0, "torch": torch})
    assert len(Builder.added) == 1 and started == ["nccl"]


def test_the_page_of_this_package(folder, mscclpp):  # noqa: F811
    Path("gather.ccl").rename("allreduce.ccl")
    Path("plans").mkdir()
    build, register = blocks("integrations/python/README.md")
    exec(build, {})
    Path("plans/allreduce.manifest.json").rename("plans/manifest.json")
    exec(register, {"rank": 1})
    assert [algorithm.plan.rank for algorithm in Builder.added] == [1]
