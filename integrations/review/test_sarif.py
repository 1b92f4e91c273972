"""Every SARIF log that `cclc` writes is valid according to the schema of SARIF 2.1.0."""

import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TESTS = ROOT / "compiler/tests"
CCLC = os.environ["CCLC"]


@pytest.fixture(scope="module")
def validator():
    path = subprocess.run([HERE / "get_schema"], check=True, capture_output=True, text=True).stdout.strip()
    schema = json.loads(Path(path).read_text())
    assert schema["$id"].endswith("sarif-schema-2.1.0.json")
    return jsonschema.Draft7Validator(schema)


def log(*arguments):
    """The output of `cclc` as SARIF."""
    command = [CCLC, *arguments, "--message-format", "sarif", "--time-limit", "60"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1, 3), done.stderr
    return json.loads(done.stderr)


def results(log):
    return [result for run in log["runs"] for result in run["results"]]


def test_a_schema_that_finds_nothing_is_none(validator):
    wrong = {"version": "2.1.0", "runs": [{"tool": {"driver": {}}, "results": [{"message": "text"}]}]}
    assert len(list(validator.iter_errors(wrong))) >= 2


def test_what_is_said_of_programs(validator):
    texts = sorted([*TESTS.glob("cases/*/*.ccl"), *TESTS.glob("fixes/*.ccl")])
    codes = set()
    for text in texts:
        said = log("check", text.relative_to(ROOT))
        errors = [error.message for error in validator.iter_errors(said)]
        assert not errors, f"{text}: {errors}"
        codes |= {result["ruleId"] for result in results(said)}
    # Codes of all phases, including races and deadlocks with the steps that lead to them.
    assert len(codes) > 60 and {"E0101", "E0201", "E0501", "E0601", "E0701", "E0801"} <= codes, sorted(codes)


def test_what_is_said_of_plans_and_files(validator, tmp_path):
    plans = sorted(TESTS.glob("goldens/*.json"))
    (tmp_path / "bad.json").write_text('{"name": "\u001b \u202e", ')
    said = [log("verify", *plans[:10]), log("verify", tmp_path / "bad.json"), log("check", tmp_path / "none.ccl")]
    for each in said:
        assert not list(validator.iter_errors(each))
    assert results(said[1]) and results(said[2])
