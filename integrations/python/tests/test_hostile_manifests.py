"""Manifests and plans of strangers: what is registered is what was proved, and anything else is a ``CclError`` that says what is
wrong with which file."""

import json
import os
from pathlib import Path

import pytest

import ccl
from stand_in import AlgorithmCollectionBuilder


@pytest.fixture
def manifest(folder, mscclpp):
    """A plan, `p.json`, and its manifest."""
    ccl.build("gather.ccl", "p.json", option={"name": "p"})
    return Path("p.manifest.json")


def edit(manifest, fields):
    data = json.loads(manifest.read_text())
    data["plans"][0].update(fields)
    manifest.write_text(json.dumps(data))


def without_waits(text):
    plan = json.loads(text)
    for gpu in plan["gpus"]:
        for block in gpu["threadblocks"]:
            block["ops"] = [operation for operation in block["ops"] if operation["name"] != "wait"]
    return json.dumps(plan)


def test_a_plan_without_its_waits_is_not_the_one_that_was_proved(manifest):
    plan = Path("p.json")
    plan.write_text(without_waits(plan.read_text()))
    for call in (lambda: ccl.register(manifest, 0), lambda: ccl.load(manifest)):
        with pytest.raises(ccl.CclError, match=r"p\.manifest\.json cannot be used:\n.*E0909.*`p\.json` is not the plan") as caught:
            call()
        assert [report.code for report in caught.value.reports] == ["E0909"]
    assert AlgorithmCollectionBuilder().selector is None


def test_what_is_handed_on_is_what_was_checked(manifest):
    plan = Path("p.json")
    proved = plan.read_text()
    (algorithm,) = ccl.register(manifest, 0)
    plan.write_text(without_waits(proved))
    # MSCCL++ reads the plan again for each new message size.
    assert Path(algorithm.plan.path).read_text() == proved
    plan.unlink()
    assert Path(algorithm.plan.path).read_text() == proved


@pytest.mark.parametrize(
    "key, value",
    [
        ("proved", "false"),
        ("proved", 1),
        ("any_size", "no"),
        ("name", {"a": 1}),
        ("name", ["p"]),
        ("path", ["p.json"]),
        ("path", None),
        ("hash", 3),
        ("collective", []),
        ("world_size", "2"),
        ("world_size", 2.5),
        ("max_message_size", None),
        ("grid", True),
        ("grid", "16"),
        ("root", "0"),
        ("operator", 1),
        ("types", "f32"),
        ("types", [["f32"]]),
        ("tags", [1]),
        ("tags", {"a": {}}),
        ("constraints", "none"),
        ("more", "than is known"),
    ],
)
def test_values_of_other_types_are_no_manifest(manifest, key, value):
    edit(manifest, {key: value})
    with pytest.raises(ccl.CclError, match=r"p\.manifest\.json:\d+:\d+: error\[E0901\].*this is not a manifest: "):
        ccl.register(manifest, 0)


@pytest.mark.parametrize("key", ["proved", "hash", "path", "name", "tags", "types", "world_size", "max_message_size"])
def test_fields_that_are_missing(manifest, key):
    data = json.loads(manifest.read_text())
    del data["plans"][0][key]
    manifest.write_text(json.dumps(data))
    with pytest.raises(ccl.CclError, match=f"missing field `{key}`"):
        ccl.register(manifest, 0)


@pytest.mark.parametrize("key, value", [("max_message_size", 1 << 40), ("grid", 1), ("in_place", True), ("world_size", 4), ("name", "q")])
def test_what_the_plan_itself_says_otherwise(manifest, key, value):
    edit(manifest, {key: value})
    with pytest.raises(ccl.CclError, match=f"says of `p.json` what is not so: `{key}` is"):
        ccl.register(manifest, 0)


@pytest.mark.parametrize("text", ["{", "[]", "null", '"text"', '{"version": 1}', '{"version": 1, "plans": [{}]}', '{"version": 2, "plans": 3}', "\0"])
def test_texts_that_are_no_manifests(manifest, text):
    manifest.write_text(text)
    with pytest.raises(ccl.CclError, match="this is not a manifest"):
        ccl.register(manifest, 0)


@pytest.mark.parametrize("path", ["nowhere.json", "pipe", "/dev/zero", ".", "", "-"])
def test_paths_that_lead_to_no_plan(manifest, path):
    os.mkfifo("pipe")
    edit(manifest, {"path": path})
    with pytest.raises(ccl.CclError, match="E0901.*cannot read .*`p.manifest.json` names it"):
        ccl.register(manifest, 0)


def test_bytes_that_are_no_text(manifest):
    manifest.write_bytes(b"\xff\xfe")
    with pytest.raises(ccl.CclError, match="not UTF-8"):
        ccl.register(manifest, 0)


def test_an_older_manifest_is_built_again(manifest):
    data = json.loads(manifest.read_text())
    del data["plans"][0]["grid"]
    manifest.write_text(json.dumps(data))
    with pytest.raises(ccl.CclError, match="`grid` is null in the manifest"):
        ccl.register(manifest, 0)


def test_a_manifest_whose_name_looks_like_a_flag(manifest):
    manifest.rename("--help")
    assert len(ccl.register("--help", 0)) == 1
