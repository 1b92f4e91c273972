"""Building and verifying, with the `cclc` that is available."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ccl
from stand_in import CollectiveProgram


def test_a_program_becomes_a_plan(folder):
    plan = ccl.build("gather.ccl", "out.json", define={"ranks": 4, "twice": True}, option={"tags": {"low": 1}})
    written = json.loads(plan.path.read_text())
    assert (plan.path, plan.world_size, plan.proved) == (folder / "out.json", 4, True)
    assert written["name"] == plan.name and len(written["gpus"]) == 4 and written["use_double_scratch_buffer"]
    assert plan.tags == {"low": 1}
    assert (folder / "out.manifest.json").exists()


def test_without_an_output_the_plan_has_its_own_name(folder):
    plan = ccl.build("gather.ccl", define={"ranks": 3})
    assert plan.path == folder / "gather_ranks_3.json" and plan.path.exists()
    assert {path.name for path in folder.iterdir()} == {"gather.ccl", "racy.ccl", "gather_ranks_3.json", "gather_ranks_3.map.json"}


def test_a_race_is_an_error_with_its_place(folder):
    with pytest.raises(ccl.CclError, match=r"racy\.ccl:\d+:\d+: error\[E05") as caught:
        ccl.build("racy.ccl", "out.json")
    assert not (folder / "out.json").exists()
    assert caught.value.reports[0].data["witness"]["kind"] == "race"


def test_what_was_asked_for_is_written(folder):
    plan = ccl.build("racy.ccl", "out.json", unproved=True)
    assert plan.path.exists() and not plan.proved


def test_calls_that_cannot_be_answered(folder):
    with pytest.raises(ccl.CclError, match="no parameter|rnks"):
        ccl.build("gather.ccl", define={"rnks": 4})
    with pytest.raises(ccl.CclError, match="nowhere.ccl"):
        ccl.build("nowhere.ccl")
    assert {path.name for path in folder.iterdir()} == {"gather.ccl", "racy.ccl"}


def test_plans_are_verified(folder):
    good, bad = ccl.build("gather.ccl", "good.json"), ccl.build("racy.ccl", "bad.json", unproved=True)
    assert ccl.verify(good.path) == []
    found = ccl.verify(good.path, bad.path)
    assert {report.severity for report in found} == {"error"}
    assert all("bad.json" in report.place and "rank" in report.place for report in found)
    (folder / "empty.json").write_text(good.path.read_text().replace("1024", "0"))
    assert [report.place for report in ccl.verify(folder / "empty.json")] == [str(folder / "empty.json")]
    with pytest.raises(ccl.CclError, match="nowhere.json"):
        ccl.verify("nowhere.json")


def test_the_folder_of_a_plan_is_made(folder):
    plan = ccl.build("gather.ccl", "new/plans/out.json")
    assert plan.path == folder / "new/plans/out.json" and plan.path.exists()
    assert (folder / "new/plans/out.manifest.json").exists()
    with pytest.raises(ccl.CclError, match="error"):
        ccl.build("racy.ccl", "other/plans/out.json")
    assert not (folder / "other").exists()
    with pytest.raises(ccl.CclError, match="gather.ccl/plans cannot be made"):
        ccl.build("gather.ccl", "gather.ccl/plans/out.json")


def test_a_program_in_python_is_verified(folder):
    good, bad = ccl.build("gather.ccl", "good.json"), ccl.build("racy.ccl", "bad.json", unproved=True)
    program = CollectiveProgram("gather", json.loads(good.path.read_text()))
    assert ccl.verify(program) == [] and ccl.verify(program, good.path) == []
    assert json.loads(program.to_json()) == json.loads(good.path.read_text())
    found = ccl.verify(CollectiveProgram("racy", json.loads(bad.path.read_text())))
    assert found and all(report.place.startswith("racy.json: rank ") for report in found)


def test_a_program_in_python_that_cannot_become_a_plan(folder):
    with pytest.raises(ccl.CclError, match="the program odd cannot become a plan: 'gpus'"):
        ccl.verify(CollectiveProgram("odd", {}))


def test_a_compiler_that_is_not_there(folder, monkeypatch):
    monkeypatch.setenv("CCLC", str(folder / "nowhere"))
    with pytest.raises(ccl.CclError, match="cannot be run"):
        ccl.build("gather.ccl")


def test_a_build_that_fails_does_not_give_the_plan_before(folder):
    ccl.build("gather.ccl", "out.json")
    (folder / "gather.ccl").write_text((folder / "gather.ccl").read_text().replace("copy input[0]", "copy inptu[0]"))
    with pytest.raises(ccl.CclError, match="E0201"):
        ccl.build("gather.ccl", "out.json", unproved=True)
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_range_has_its_steps(folder):
    (folder / "steps.ccl").write_text(
        (folder / "gather.ccl").read_text().replace(
            "twice: bool = false) {", 'twice: bool = false, at: int[] = []) {\n    require at == [2, 5, 8], "steps";'
        )
    )
    assert ccl.build("steps.ccl", "out.json", define={"at": range(2, 10, 3)}).proved


def test_builds_of_one_program_do_not_disturb_each_other(folder):
    def build(ranks):
        return ccl.build("gather.ccl", f"{ranks}.json", define={"ranks": ranks})

    ranks = range(2, 10)
    with ThreadPoolExecutor(len(ranks)) as threads:
        plans = list(threads.map(build, ranks))
    assert [(plan.world_size, plan.path.name) for plan in plans] == [(n, f"{n}.json") for n in ranks]
    assert all(json.loads(Path(f"{n}.manifest.json").read_text())["plans"][0]["world_size"] == n for n in ranks)


@pytest.mark.parametrize(
    "script, says",
    [("exit 1", "ended with status 1"), ("kill -9 $$", "ended with status -9"), ("echo no such image >&2; exit 1", "no such image")],
)
def test_a_compiler_that_fails_without_a_report(folder, monkeypatch, script, says):
    (folder / "plan.json").write_text("{}")
    (folder / "cclc").write_text(f"#!/bin/sh\n{script}\n")
    os.chmod(folder / "cclc", 0o755)
    monkeypatch.setenv("CCLC", str(folder / "cclc"))
    for call in (lambda: ccl.build("gather.ccl"), lambda: ccl.verify("plan.json")):
        with pytest.raises(ccl.CclError, match=says):
            call()


def test_a_name_with_a_control_character_is_refused(folder):
    (folder / "a\u2028b.ccl").write_text("let a = 1;\n")
    with pytest.raises(ccl.CclError, match=r"`a\\u\{2028\}b\.ccl`: its name has the control character U\+2028") as caught:
        ccl.build("a\u2028b.ccl")
    assert [report.code for report in caught.value.reports] == ["E0901"]


def test_the_name_of_a_file_is_no_option(folder):
    plan = ccl.build("gather.ccl", "plan.json")
    plan.path.rename("--timings=x.json")
    assert ccl.verify("--timings=x.json") == []
    assert not (folder / "x.json").exists()
    (folder / "gather.ccl").rename("-q.ccl")
    assert ccl.build("-q.ccl", "plan.json").path.exists()


def test_paths_and_names_as_projects_have_them(folder):
    (folder / "a,b").mkdir()
    plan = ccl.build("gather.ccl", "a,b/ring-4.json", option={"name": "ring-4"})
    assert plan.name == "ring-4" and plan.path == folder / "a,b/ring-4.json" and plan.path.exists()
    assert (folder / "a,b/ring-4.manifest.json").exists() and (folder / "a,b/ring-4.map.json").exists()
