"""Shared fixtures: a program, a folder to work in, and the stand-in for MSCCL++."""

import sys

import pytest

import stand_in
from ccl import _registry

GATHER = """\
use std::collectives::allgather;

program gather(ranks: int = 2, twice: bool = false) {
    collective allgather(ranks);
    options { double_scratch = twice; }
    channel mem[p in peers] = memory(p);
    block main {
        signal mem[*] relaxed;
        wait mem[*] relaxed;
        copy input[0] -> output[rank];
        put input[0] -> (p in peers: p.output[rank]) via mem[*];
        signal mem[*];
        wait mem[*];
    }
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with `gather.ccl`, and with `racy.ccl`, in which a wait orders nothing."""
    (tmp_path / "gather.ccl").write_text(GATHER)
    (tmp_path / "racy.ccl").write_text(GATHER.replace("wait mem[*];", "wait mem[*] relaxed;"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def mscclpp(monkeypatch):
    """The stand-in, with nothing registered."""
    module = stand_in.module()
    monkeypatch.setitem(sys.modules, "mscclpp", module)
    monkeypatch.setitem(sys.modules, "mscclpp.ext", module.ext)
    monkeypatch.setattr(_registry, "_process", _registry._Process())
    return module
