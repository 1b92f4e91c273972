"""The rules in a separate workspace, with the rules next to it, without the network. BAZEL names Bazel, CCLC the compiler."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CCLC = Path(os.environ.get("CCLC", HERE.parents[2] / "target/release/cclc"))
BAZEL = os.environ.get("BAZEL", "bazel")

# Bazel fetches a generator of coverage reports before it runs any test, although none is requested
# here.
COVERAGE = {
    "WORKSPACE": "",
    "BUILD.bazel": 'load(":none.bzl", "none")\n\nnone(name = "coverage_report_generator", visibility = ["//visibility:public"])\n',
    "none.bzl": """def _none(context):
    file = context.actions.declare_file(context.label.name)
    context.actions.write(file, "#!/bin/sh\\n", is_executable = True)
    return [DefaultInfo(executable = file)]

none = rule(implementation = _none, executable = True)
""",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The folder where Bazel keeps what it unpacks; too large to be left behind."""
    home = tmp_path_factory.mktemp("bazel")
    yield home
    subprocess.run(["chmod", "-R", "u+w", home], check=True)
    shutil.rmtree(home)


@pytest.fixture
def workspace(tmp_path, home):
    """The project, with the rules next to it, and a function that runs Bazel in it."""
    folder, coverage = tmp_path / "project", tmp_path / "coverage"
    shutil.copytree(HERE / "project", folder)
    shutil.copytree(HERE.parent, tmp_path / "bazel", ignore=shutil.ignore_patterns("tests"))
    coverage.mkdir()
    for name, text in COVERAGE.items():
        (coverage / name).write_text(text)

    def bazel(command, *words, succeeds=True):
        options = [f"--override_repository=remote_coverage_tools={coverage}", "--test_output=errors"] if command == "test" else []
        done = subprocess.run(
            [BAZEL, f"--output_user_root={home}", command, *options, *words],
            cwd=folder,
            capture_output=True,
            text=True,
            env=os.environ | {"CCLC": str(CCLC)},
            check=False,
        )
        assert (done.returncode == 0) == succeeds, done.stdout + done.stderr
        return done.stdout + done.stderr

    yield folder, bazel
    bazel("shutdown")


def test_a_plan_is_built_and_follows_its_imports(workspace):
    folder, bazel = workspace
    assert "1 test passes" in bazel("test", "//...")
    assert len(json.loads((folder / "bazel-bin/gather.json").read_text())["gpus"]) == 4
    (plan,) = json.loads((folder / "bazel-bin/gather.manifest.json").read_text())["plans"]
    assert (plan["name"], plan["path"], plan["world_size"]) == ("gather", "gather.json", 4)

    parts = folder / "parts.ccl"
    parts.write_text(parts.read_text().replace("= r;", "= r / 2;"))
    assert "error[E" in bazel("build", "//:gather", succeeds=False)
    assert "error[E" in bazel("test", "//:gather_is_right", succeeds=False)


def test_an_import_that_is_not_listed_is_not_there(workspace):
    folder, bazel = workspace
    build = folder / "BUILD.bazel"
    build.write_text(build.read_text().replace('["parts.ccl"]', "[]"))
    assert "error[E0206]" in bazel("build", "//:gather", succeeds=False)
