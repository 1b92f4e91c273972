"""The CMake package in a separate project: installed, found by `find_package`, in a path with spaces, with both generators.

CCLC names the compiler; without it, the release build of this repository is used. `cmake` and `ninja` must be on PATH.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CCLC = Path(os.environ.get("CCLC", ROOT / "target/release/cclc"))


def run(*command, cwd=None, status=0):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    assert (done.returncode == 0) == (status == 0), text
    return text


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """An install tree."""
    prefix = tmp_path_factory.mktemp("install tree")
    build = tmp_path_factory.mktemp("package")
    run("cmake", "-S", HERE.parent, "-B", build)
    run("cmake", "--install", build, "--prefix", prefix)
    (prefix / "bin").mkdir()
    shutil.copy2(CCLC, prefix / "bin")
    return prefix


class Project:
    """A copy of `project` in a folder of its own."""

    def __init__(self, folder, prefix, generator):
        self.source, self.build = folder / "my project", folder / "my build"
        shutil.copytree(HERE / "project", self.source)
        self.prefix, self.generator = prefix, generator

    def configure(self, status=0):
        return run(
            "cmake", "-S", self.source, "-B", self.build, "-G", self.generator, f"-DCMAKE_PREFIX_PATH={self.prefix}", status=status
        )

    def make(self, status=0):
        return run("cmake", "--build", self.build, status=status)

    def built(self):
        """What another build makes, according to the comments of its rules."""
        return sorted(line.partition("Building ")[2] for line in self.make().splitlines() if "Building " in line)

    def edit(self, name, old, new):
        path = self.source / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


@pytest.fixture(params=["Ninja", "Unix Makefiles"])
def project(request, tmp_path, prefix):
    made = Project(tmp_path, prefix, request.param)
    made.configure()
    return made


def test_everything_is_made_and_nothing_twice(project):
    project.make()
    plans = project.build / "plans"
    names = {path.name for path in plans.iterdir()}
    assert {"gather.json", "gather.map.json", "gather.manifest.json", "manifest.json"} <= names
    assert (project.build / "other.json").exists()
    assert (project.build / "kernels/gather_kernels.cu").exists()
    assert list(project.build.rglob("libkernels.a"))
    assert project.built() == []


def test_a_matrix_is_one_manifest(project):
    project.make()
    manifest = json.loads((project.build / "plans/manifest.json").read_text())
    rows = [(plan["world_size"], plan["min_message_size"]) for plan in manifest["plans"]]
    assert rows == [(2, 1024), (2, 131072), (4, 1024), (4, 131072)]
    assert all((project.build / "plans" / plan["path"]).exists() and plan["proved"] for plan in manifest["plans"])


def test_an_edited_import_rebuilds_what_was_made_of_it(project):
    project.make()
    project.edit("ccl/parts.ccl", "= r;", "= r + 0;")
    built = project.built()
    assert any("gather" in line for line in built)
    assert not any("other" in line for line in built)
    project.edit("ccl/other.ccl", "Two ranks", "Some ranks")
    assert [line for line in project.built() if line.startswith("plan")] == ["plan other"]


def test_a_mistake_stops_the_build(project):
    project.edit("ccl/other.ccl", "        wait mem[*];\n", "")
    assert "error[E06" in project.make(status=1)
    assert not (project.build / "other.json").exists()


def test_checks_are_tests(project):
    run("ctest", "--test-dir", project.build, "--no-tests=error")
    project.edit("ccl/parts.ccl", "= r;", "= r / 2;")
    run("ctest", "--test-dir", project.build, status=1)


@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_names_and_folders_as_projects_have_them(tmp_path, prefix, generator):
    """Folders with commas, targets that are no identifiers, a manifest in a folder of its own."""
    made = Project(tmp_path / "rev 1,2", prefix, generator)
    with (made.source / "CMakeLists.txt").open("a") as file:
        file.write("ccl_add_plan(TARGET ring-4.v1 SOURCE ccl/other.ccl EMIT plan manifest)\n")
        file.write('ccl_add_check(NAME backslash SOURCE ccl/other.ccl OPTION "name=a\\\\b")\n')
        file.write("ccl_add_plans(TARGET all-sizes SOURCE ccl/other.ccl MATRIX ranks=2,3 MANIFEST manifests/all.json)\n")
    made.configure()
    made.make()
    assert json.loads((made.build / "ring-4.v1.json").read_text())["name"] == "ring-4.v1"
    names = [plan["name"] for plan in json.loads((made.build / "manifests/all.json").read_text())["plans"]]
    assert names == ["all-sizes_ranks_2", "all-sizes_ranks_3"]
    run("ctest", "--test-dir", made.build, "-R", "backslash", "--no-tests=error")
    assert made.built() == []


def test_words_that_mean_false_to_cmake_are_names(tmp_path, prefix):
    made = Project(tmp_path, prefix, "Ninja")
    other = made.source / "ccl/other.ccl"
    other.write_text(other.read_text() + other.read_text().partition("\n\n")[2].replace("program other", "program no"))
    made.edit("CMakeLists.txt", "TARGET other SOURCE ccl/other.ccl", "TARGET other SOURCE ccl/other.ccl PROGRAM no NAME off")
    made.configure()
    made.make()
    assert json.loads((made.build / "off.json").read_text())["name"] == "off"


@pytest.mark.parametrize(
    "line, says",
    [
        ("ccl_add_plan(TARGET x SOURCE ccl/other.ccl DEFINES ranks=2)", "`DEFINES;ranks=2` is not known"),
        ("ccl_add_plan(SOURCE ccl/other.ccl)", "TARGET is missing"),
        ("ccl_add_plan(TARGET x SOURCE ccl/nowhere.ccl)", "there is no file"),
        ("ccl_add_plan(TARGET x SOURCE ccl/other.ccl EMIT pan)", "not `pan`"),
        ("ccl_add_plan(TARGET x SOURCE ccl/other.ccl ADD_TO kernels)", "say EMIT cuda"),
        ("ccl_add_plans(TARGET x SOURCE ccl/other.ccl MATRIX ranks MANIFEST m.json)", "not `ranks`"),
        ("ccl_add_check(NAME x SOURCE ccl/other.ccl OUTPUT y)", "`OUTPUT;y` is not known"),
    ],
)
def test_what_is_not_known_is_fatal(tmp_path, prefix, line, says):
    made = Project(tmp_path, prefix, "Ninja")
    with (made.source / "CMakeLists.txt").open("a") as file:
        file.write(line + "\n")
    # CMake wraps lines of messages.
    assert says in " ".join(made.configure(status=1).split())


def test_another_version_is_not_taken(tmp_path, prefix):
    made = Project(tmp_path, prefix, "Ninja")
    made.edit("CMakeLists.txt", "Ccl 0.1", "Ccl 9.0")
    assert "requested version" in " ".join(made.configure(status=1).split())


def test_a_compiler_may_be_named(tmp_path, prefix):
    made = Project(tmp_path, prefix, "Ninja")
    named = tmp_path / "elsewhere"
    named.mkdir()
    shutil.copy2(CCLC, named / "cclc")
    run("cmake", "-S", made.source, "-B", made.build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCcl_CCLC={named / 'cclc'}")
    assert str(named) in (made.build / "build.ninja").read_text().replace("$ ", " ")


def test_a_compiler_that_is_not_there_is_not_found(tmp_path, prefix):
    made, compiler = Project(tmp_path, prefix, "Ninja"), tmp_path / "cclc"
    shutil.copy2(CCLC, compiler)
    run("cmake", "-S", made.source, "-B", made.build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCcl_CCLC={compiler}")
    compiler.unlink()
    assert "where no program is; -DCcl_CCLC=PATH names one" in " ".join(made.configure(status=1).split())


@pytest.mark.parametrize("name", ["gather", "test"])
def test_what_cclc_new_makes_is_built_and_tested(tmp_path, prefix, name):
    folder, build = tmp_path / name, tmp_path / "build"
    run(CCLC, "new", folder)
    run("cmake", "-S", folder, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    run("ctest", "--test-dir", build, "--no-tests=error")
    assert len(json.loads((build / "plans/manifest.json").read_text())["plans"]) == 3
    commands = [line for line in (folder / "README.md").read_text().splitlines() if line.startswith("cclc ")]
    for command in commands:
        run(CCLC, *command.split()[1:], cwd=folder)
    assert len(commands) == 3 and (folder / f"{name}.json").exists()
