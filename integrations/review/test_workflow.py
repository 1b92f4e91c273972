"""The workflow of a project that `cclc new` makes, with its steps run one by one. CCLC names the compiler; whatever the workflow
installs comes from the last commit of this repository."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CCLC = Path(os.environ.get("CCLC", ROOT / "target/release/cclc"))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stranger") / "gather"
    subprocess.run([CCLC, "new", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def workflow(project):
    return yaml.safe_load((project / ".github/workflows/ccl.yml").read_text())


def follow(project, workflow, home):
    """Runs the steps as GitHub does, in an environment that has only the toolchain and the crates that were built before."""
    path = home / "path"
    path.touch()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "RUNNER_TEMP": str(home),
        "GITHUB_PATH": str(path),
        "CCL": ROOT.as_uri(),
        "CCL_REVISION": workflow["env"]["CCL_REVISION"],
        "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        "CARGO_TARGET_DIR": str(ROOT / "target/workflow"),
        # What is installed here is used for a moment.
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
        "CARGO_PROFILE_RELEASE_LTO": "off",
    }
    for step in workflow["jobs"]["check"]["steps"]:
        if "run" not in step:
            assert step["uses"].startswith("actions/checkout@")
            continue
        found = os.pathsep.join([*path.read_text().split(), os.environ["PATH"]])
        command = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, cwd=project, env=environment | {"PATH": found}, capture_output=True, text=True, check=False)
        if done.returncode:
            return step["run"], done.stdout + done.stderr
    return None


def test_ccl_comes_from_its_repository(workflow):
    assert workflow["env"]["CCL"] == tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["repository"]


def test_it_is_pinned_and_may_do_nothing_but_read(project, workflow):
    assert workflow["permissions"] == {"contents": "read"} and "permissions" not in workflow["jobs"]["check"]
    actions = [step for step in workflow["jobs"]["check"]["steps"] if "uses" in step]
    # A tag can be moved to another commit; the comment says which one it was.
    text = (project / ".github/workflows/ccl.yml").read_text()
    pinned = re.findall(r"uses: \S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", text, re.M)
    assert len(pinned) == len(actions) == text.count("uses:")
    assert [step["with"]["persist-credentials"] for step in actions] == [False]


def test_its_steps_succeed_and_a_mistake_is_annotated(project, workflow, tmp_path):
    assert follow(project, workflow, tmp_path) is None
    assert (tmp_path / ".local/bin/cclc").exists() and (project / "build/plans/manifest.json").exists()

    # The installed programs work; a race is found by the step that annotates its place.
    workflow["jobs"]["check"]["steps"] = [step for step in workflow["jobs"]["check"]["steps"] if "cclc check" in step.get("run", "")]
    program = project / "ccl/gather.ccl"
    program.write_text(program.read_text().replace("wait mem[*];  ", "wait mem[*] relaxed;"))
    step, text = follow(project, workflow, tmp_path)
    assert "cclc check" in step and "::error title=E0512" in text and "file=ccl/gather.ccl" in text
