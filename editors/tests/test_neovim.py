"""Neovim, headless: this repository's plugin, with the language server, and colors and indentation without it."""

import json
import os
import shutil
import subprocess
import time

import pytest
from support.paths import EDITORS, ROOT, SERVER
from support.programs import FOLDER, place, text

PLAIN = ["--headless", "-n", "-i", "NONE", "-u", "NONE", "--cmd", f"set rtp^={EDITORS / 'neovim'}"]

# A line that begins with an operator which binds more tightly than the ones before it is deeper than they are.
INDENTED_OTHERWISE = {"examples/algorithms/halo_exchange.ccl"}


def nvim(*arguments, **options):
    return subprocess.run(
        ["nvim", *PLAIN, *map(str, arguments)], text=True, capture_output=True, timeout=120, stdin=subprocess.DEVNULL, **options
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("neovim") / "workspace"
    shutil.copytree(FOLDER, folder)
    out = folder / "seen.json"
    environment = {**os.environ, "CCL_LSP": str(SERVER), "CCL_OUT": str(out)}
    done = nvim("-c", f"luafile {EDITORS / 'tests/neovim_session.lua'}", cwd=folder, env=environment)
    assert out.exists(), done.stderr
    seen = json.loads(out.read_text())
    assert "problem" not in seen, seen["problem"]
    return seen


def test_files_are_known(seen):
    assert seen["filetype"] == "ccl"
    assert seen["commentstring"] == "// %s"
    assert seen["syntax"] == "cclVerb"
    assert seen["topology"] == ["cclDeclaration", "cclType", "cclClause", "cclNumber", "cclAbility"]


def test_a_race_is_seen_on_both_lines(seen):
    assert [report["code"] for report in seen["race"]] == ["E0501", "E0501"]
    lines = {report["line"] for report in seen["race"]}
    assert lines == {place("race.ccl", "put output")[0], place("race.ccl", "copy input")[0]}


def test_typing_is_followed(seen):
    assert seen["typed"] == text("race.ccl").replace("put output[rank]", "put input[0]")


def test_a_quick_fix_is_applied(seen):
    assert [report["code"] for report in seen["typo"]] == ["E0201"]
    assert seen["mended"] == text("typo.ccl").replace("inptu", "input")


def test_hover_and_definition(seen):
    assert "comes after" in seen["hover"]
    assert seen["definition"].startswith("proc meet")


def test_rename_and_formatting(seen):
    renamed = text("gather.ccl").replace("meet(", "handshake(")
    assert seen["renamed"] == renamed
    assert seen["formatted"] == renamed


def test_commands_and_lenses(seen):
    assert seen["built"] == "ccl: built gather.plan.json"
    assert seen["verdict"].startswith("ccl: `gather`: right in 16 schedules of 3 launches")
    assert "has no program `other`" in seen["refused"]
    assert seen["lenses"] == ["ccl.showElaborated", "ccl.buildPlan", "ccl.run"]
    assert seen["run_by_lens"] == seen["verdict"]
    assert seen["page"].startswith("# E0501")
    assert seen["elaborated"].startswith("//! `gather` for 4 ranks")


def test_the_server_ends_with_the_editor(seen):
    if "pid" not in seen:
        pytest.skip("this Neovim does not tell the server's process")
    deadline = time.time() + 5
    while os.path.exists(f"/proc/{seen['pid']}"):
        assert time.time() < deadline, "the server lives on"
        time.sleep(0.05)


def test_sound_programs_are_indented_as_they_should(tmp_path):
    listed = subprocess.run(["git", "ls-files", "examples", "stdlib"], cwd=ROOT, text=True, capture_output=True, check=True)
    paths = [path for path in listed.stdout.split() if path.endswith(".ccl")]
    assert len(paths) > 40
    for number, path in enumerate(paths):
        shutil.copy(ROOT / path, tmp_path / f"{number}.ccl")
    commands = ["filetype plugin indent on", "args *.ccl", "silent argdo normal gg=G", "wall", "qall!"]
    done = nvim(*(word for command in commands for word in ("-c", command)), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    changed = {path for number, path in enumerate(paths) if (tmp_path / f"{number}.ccl").read_text() != (ROOT / path).read_text()}
    assert changed == INDENTED_OTHERWISE
