"""Emacs in batch mode: this repository's mode on its own, and eglot with the language server."""

import json
import os
import shutil
import subprocess

import pytest
from support.paths import EDITORS, ROOT, SERVER
from support.programs import FOLDER, place, text

MODE = EDITORS / "emacs"


def emacs(*arguments, **options):
    return subprocess.run(
        ["emacs", "-Q", "--batch", *map(str, arguments)], text=True, capture_output=True, timeout=120, stdin=subprocess.DEVNULL, **options
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("emacs") / "workspace"
    shutil.copytree(FOLDER, folder)
    out = folder / "seen.json"
    environment = {**os.environ, "CCL_LSP": str(SERVER), "CCL_OUT": str(out), "CCL_MODE": str(MODE)}
    done = emacs("-l", EDITORS / "tests/emacs_session.el", cwd=folder, env=environment)
    assert out.exists(), done.stderr
    seen = json.loads(out.read_text())
    assert "problem" not in seen, seen["problem"] + "\n" + done.stderr[-2000:]
    return seen


def test_files_are_known(seen):
    assert seen["mode"] == "ccl-mode"
    assert seen["face"] == "font-lock-builtin-face"
    faces = ["keyword", "type", "builtin", "constant", "constant"]
    assert seen["topology"] == [f"font-lock-{face}-face" for face in faces]


def test_a_race_is_seen_on_both_lines_and_typing_followed(seen):
    texts = {report["line"]: report["text"] for report in seen["race"]}
    put, copy = (place("race.ccl", snippet)[0] for snippet in ("put output", "copy input"))
    assert texts.keys() == {put, copy}
    assert "while block `fill` may be writing it" in texts[put]
    assert seen["sound"] is True


def test_a_quick_fix_is_applied(seen):
    assert "inptu" in seen["typo"][0]["text"]
    assert seen["mended"] == text("typo.ccl").replace("inptu", "input")


def test_hover_and_definition(seen):
    assert "comes after" in seen["hover"]
    assert "meet" in seen["definition"]


def test_rename_and_formatting(seen):
    renamed = text("gather.ccl").replace("meet(", "handshake(")
    assert seen["renamed"] == renamed
    assert seen["formatted"] == renamed


def test_commands(seen):
    assert seen["built"] is True
    assert seen["verdict"].startswith("`gather`: right in 16 schedules of 3 launches")
    assert seen["page"].startswith("# E0501")


def test_the_index_and_the_end(seen):
    assert seen["ended"] is True
    assert "Function" in seen["index"]


def test_the_mode_compiles_without_a_warning(tmp_path):
    shutil.copy(MODE / "ccl-mode.el", tmp_path)
    strict = ["--eval", "(setq byte-compile-error-on-warn t)"]
    done = emacs(*strict, "-f", "batch-byte-compile", "ccl-mode.el", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


# A line that begins with an operator which binds more tightly than the ones before it is deeper than they are.
INDENTED_OTHERWISE = {"examples/algorithms/halo_exchange.ccl"}


def test_sound_programs_are_indented_as_they_should(tmp_path):
    listed = subprocess.run(
        ["git", "ls-files", "examples", "stdlib", "compiler/tests/language"], cwd=ROOT, text=True, capture_output=True, check=True
    )
    paths = [path for path in listed.stdout.split() if path.endswith(".ccl")]
    assert len(paths) > 40
    for number, path in enumerate(paths):
        shutil.copy(ROOT / path, tmp_path / f"{number}.ccl")
    indent = (
        "(dolist (file (directory-files default-directory t \"\\\\.ccl$\")) (find-file file)"
        " (indent-region (point-min) (point-max)) (save-buffer))"
    )
    done = emacs("-l", MODE / "ccl-mode.el", "--eval", indent, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    changed = {path for number, path in enumerate(paths) if (tmp_path / f"{number}.ccl").read_text() != (ROOT / path).read_text()}
    assert changed == INDENTED_OTHERWISE
