"""Tests `release/advisories`: which versions meet a requirement, and what is said of a lock file with old crates."""

import contextlib
import importlib.machinery
import importlib.util
import io
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).with_name("advisories")
loader = importlib.machinery.SourceFileLoader("advisories", str(FILE))
advisories = importlib.util.module_from_spec(importlib.util.spec_from_loader("advisories", loader))
loader.exec_module(advisories)

LOCK = """
[[package]]
name = "tokio"
version = "1.8.3"
source = "registry+somewhere"

[[package]]
name = "never-seen"
version = "0.1.0"
source = "registry+somewhere"
"""
LIST = """
date = "2026-01-31"
commit = "0"
crates = ["tokio"]

[[advisory]]
id = "RUSTSEC-0000-0001"
crate = "tokio"
kind = "vulnerability"
patched = [">= 1.8.4, < 1.9.0", ">= 1.13.1"]
unaffected = ["< 0.1.14"]
"""


def said(lock: str, rules: str = "") -> tuple[int, str]:
    """The exit status and the output for a lock file."""
    with tempfile.TemporaryDirectory() as folder:
        advisories.ROOT, advisories.LIST, advisories.LOCKS = Path(folder), Path(folder) / "list.toml", ("Cargo.lock",)
        (advisories.ROOT / "Cargo.lock").write_text(lock)
        (advisories.ROOT / "deny.toml").write_text(rules)
        advisories.LIST.write_text(LIST)
        sys.argv, out = ["advisories"], io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                advisories.main()
            except SystemExit as end:
                return int(end.code), out.getvalue()
    raise AssertionError("there is no exit status")


for requirement, inside, outside in [
    (">= 1.8.4, < 1.9.0", "1.8.4 1.8.9", "1.8.3 1.9.0"),
    ("^1.2", "1.2.0 1.9.9", "1.1.9 2.0.0"),
    ("^0.10.4", "0.10.4 0.10.9", "0.10.3 0.11.0"),
    ("^0.0.3", "0.0.3", "0.0.4 0.0.2"),
    ("~1.2.3", "1.2.3 1.2.9", "1.3.0 1.2.2"),
    ("1.2", "1.2.0 1.3.0", "2.0.0"),
    ("= 1.2.3", "1.2.3", "1.2.4"),
    (">= 1.0.0-alpha.1", "1.0.0-alpha.1 1.0.0", "0.9.9"),
    (">= 1.0.0", "1.0.0", "1.0.0-alpha.1"),
]:
    for number in inside.split():
        assert advisories.meets(advisories.version(number), requirement), (number, requirement)
    for number in outside.split():
        assert not advisories.meets(advisories.version(number), requirement), (number, requirement)

status, text = said(LOCK)
assert status == 1 and "Cargo.lock: tokio 1.8.3 has RUSTSEC-0000-0001 (vulnerability)" in text, text
assert "NOT LOOKED FOR: never-seen" in text and "by the advisories of 2026-01-31, " in text, text
status, text = said(LOCK.replace("1.8.3", "1.8.4"))
assert status == 0 and "no advisory about" in text, text
status, text = said(LOCK, '[advisories]\nignore = [{ id = "RUSTSEC-0000-0001", reason = "tested" }]\n')
assert status == 0, text
