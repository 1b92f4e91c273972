"""The project of the README, in a path with spaces. CCLC names the compiler; `meson` and `ninja` must be on PATH."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CCLC = Path(os.environ.get("CCLC", HERE.parents[2] / "target/release/cclc"))


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "my project"
    shutil.copytree(HERE / "project", folder)
    return folder


def run(*command, cwd, status=0):
    environment = {**os.environ, "PATH": f"{CCLC.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode == 0) == (status == 0), done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_plan_is_built_and_follows_its_imports(project):
    run("meson", "setup", "build", cwd=project)
    run("ninja", "-C", "build", cwd=project)
    assert len(json.loads((project / "build/gather.json").read_text())["gpus"]) == 4
    assert json.loads((project / "build/gather.manifest.json").read_text())["plans"][0]["path"] == "gather.json"
    assert "no work to do" in run("ninja", "-C", "build", cwd=project)
    run("meson", "test", "-C", "build", cwd=project)

    parts = project / "parts.ccl"
    parts.write_text(parts.read_text().replace("= r;", "= r / 2;"))
    assert "error[E" in run("ninja", "-C", "build", cwd=project, status=1)
    run("meson", "test", "-C", "build", cwd=project, status=1)
