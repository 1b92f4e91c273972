"""The hooks of `.pre-commit-hooks.yaml`, run by pre-commit in a repository of their own. CCLC names the compiler."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CCLC = Path(os.environ.get("CCLC", ROOT / "target/release/cclc"))
GATHER = ROOT / "integrations/cmake/tests/project/ccl/other.ccl"


@pytest.fixture
def run(tmp_path):
    """Runs a command in a repository that contains a program."""
    environment = {
        **os.environ,
        "PATH": f"{CCLC.parent}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(tmp_path / "cache"),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    repository, hooks = tmp_path / "repository", tmp_path / "hooks"

    def run(*command, cwd=repository):
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment, check=False)
        return done.returncode, done.stdout + done.stderr

    for folder, file in ((repository, GATHER), (hooks, ROOT / ".pre-commit-hooks.yaml")):
        folder.mkdir()
        shutil.copy(file, folder)
        run("git", "init", "--quiet", cwd=folder)
        run("git", "add", "--all", cwd=folder)
        run("git", "-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "--message=m", cwd=folder)
    run.hook = lambda name: run("pre-commit", "try-repo", str(hooks), name, "--all-files")
    run.program = repository / GATHER.name
    return run


def test_a_right_program_passes(run):
    for hook in ("cclc-fmt", "cclc-check"):
        status, text = run.hook(hook)
        assert status == 0 and "Passed" in text, text


def test_a_race_fails(run):
    run.program.write_text(run.program.read_text().replace("        wait mem[*];\n", ""))
    status, text = run.hook("cclc-check")
    assert status == 1 and "error[E06" in text, text


def test_what_is_not_formatted_is(run):
    right = run.program.read_text()
    run.program.write_text(right.replace("    block", "  block"))
    status, text = run.hook("cclc-fmt")
    assert status == 1 and "files were modified" in text, text
    assert run.program.read_text() == right


def test_a_plan_is_verified(run):
    plan = run.program.with_name("p.plan.json")
    plan.write_text("{}")
    run("git", "add", "--all")
    status, text = run.hook("cclc-verify")
    assert status == 1 and "E0902" in text, text


def test_the_name_of_a_file_is_no_option(run):
    plan = run.program.with_name("--timings=x.plan.json")
    plan.write_text("{}")
    run("git", "add", "--all")
    status, text = run.hook("cclc-verify")
    assert status == 1 and "E0902" in text, text
    assert not plan.with_name("x.plan.json").exists()
