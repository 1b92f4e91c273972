"""Runs ``cclc`` and turns its output into objects."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

PathLike = Union[str, "os.PathLike[str]"]

# Exit statuses of cclc: no finding, findings; any other status means that there is no result.
_CLEAN, _FOUND = 0, 1

# Where a wheel puts its programs. Asked for here, because threads that ask at the same time disturb each other.
_SCRIPTS = (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"))


@dataclass(frozen=True)
class Report:
    """One finding of the compiler.

    Attributes:
        code: as ``E0501``; ``cclc explain`` explains it.
        severity: ``error``, ``warning`` or ``note``.
        message: what is wrong.
        place: ``file:line:column``, a place in a plan, or empty.
        data: the whole report, as ``docs/diagnostics.md`` of ccl describes it.
    """

    code: str
    severity: str
    message: str
    place: str
    data: Mapping[str, Any]

    def __str__(self) -> str:
        start = f"{self.place}: " if self.place else ""
        return f"{start}{self.severity}[{self.code}]: {self.message}"


class CclError(Exception):
    """A program or plan has an error, or a call failed.

    Attributes:
        reports: the findings, worst first; empty if there was no answer at all.
    """

    def __init__(self, message: str, reports: Sequence[Report] = ()) -> None:
        super().__init__(message)
        self.reports: Tuple[Report, ...] = tuple(reports)


@dataclass(frozen=True)
class Plan:
    """A plan and the data that a runtime needs to choose it: the keys of ``docs/manifest.md``, with an absolute path."""

    collective: str
    world_size: int
    ranks_per_node: int
    in_place: bool
    root: Optional[int]
    min_message_size: int
    max_message_size: int
    grid: int
    operator: Optional[str]
    name: str
    path: Path
    hash: str
    types: Tuple[str, ...]
    tags: Mapping[str, int]
    proved: bool
    any_size: bool

    @classmethod
    def of(cls, entry: Mapping[str, Any], folder: Path) -> "Plan":
        """The plan of an entry of a manifest in ``folder``, which ``cclc`` has written."""
        known = {key: entry[key] for key in cls.__dataclass_fields__}
        return cls(**{**known, "path": folder / entry["path"], "types": tuple(entry["types"])})


def cclc() -> str:
    """The path of the compiler: ``CCLC``, the one that is part of this package, or the first on ``PATH``.

    Raises:
        CclError: if there is none.
    """
    given = os.environ.get("CCLC")
    if given:
        return given
    for folder in (*_SCRIPTS, None):
        found = shutil.which("cclc", path=folder)
        if found:
            return found
    raise CclError("there is no cclc: it comes with the wheel of this package, and CCLC can name another one")


def build(
    source: PathLike,
    output: Optional[PathLike] = None,
    *,
    program: Optional[str] = None,
    define: Optional[Mapping[str, Any]] = None,
    option: Optional[Mapping[str, Any]] = None,
    root: Optional[PathLike] = None,
    unproved: bool = False,
) -> Plan:
    """Checks a program and writes its plan, with a map and a manifest next to it.

    Args:
        source: the ``.ccl`` file.
        output: the plan's file, in a folder that is made if it does not exist; by default, the plan's name in the current
            folder.
        program: the program, if the file has several.
        define: its parameters; ``True`` and lists are converted to the language's syntax.
        option: its options.
        root: the folder in which imported files must be.
        unproved: write the plan even if races, deadlocks or a wrong result were found.

    Raises:
        CclError: if the program has an error, or the plan's folder cannot be made; in that case, nothing is written.
    """
    # Under a name that only this call uses, until it is known to come from this build.
    manifest = _manifest_path(source, output)
    arguments = ["build", "--emit", "plan", "--emit", "map", "--emit", f"manifest={manifest}"]
    if output is not None:
        arguments += ["-o", os.fspath(output)]
    if program is not None:
        arguments += ["--program", program]
    for flag, values in (("-D", define), ("-O", option)):
        for name, value in (values or {}).items():
            arguments += [flag, f"{name}={_literal(value)}"]
    if root is not None:
        arguments += ["--root", os.fspath(root)]
    if unproved:
        arguments.append("--unproved")
    arguments += ["--", os.fspath(source)]
    with _folder(manifest.parent):
        return _built(source, output, arguments, manifest, unproved)


def _built(
    source: PathLike, output: Optional[PathLike], arguments: Sequence[str], manifest: Path, unproved: bool
) -> Plan:
    try:
        status, reports, said = run(arguments)
        if (status != _CLEAN and not unproved) or not manifest.exists():
            raise refused(f"{os.fspath(source)} cannot be built", reports, said)
        entries = json.loads(manifest.read_text(encoding="utf-8"))["plans"]
        if output is not None:
            manifest.replace(Path(output).with_suffix(".manifest.json").absolute())
    finally:
        manifest.unlink(missing_ok=True)
    return Plan.of(entries[0], manifest.parent)


@contextlib.contextmanager
def _folder(folder: Path) -> Iterator[None]:
    """Makes a folder, and removes what it has made if what is done with it fails."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CclError(f"the folder {folder} cannot be made: {error}") from error
    try:
        yield
    except BaseException:
        for path in missing:
            # Someone else may have written there meanwhile.
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def verify(*plans: Union[PathLike, Any], define: Optional[Mapping[str, Any]] = None) -> List[Report]:
    """Checks plans from any tool, and returns the findings; do not run a plan with errors.

    Args:
        plans: their files, or programs of MSCCL++'s Python DSL (``CollectiveProgram``), which stay as they are: their
            ``to_json`` can be called afterwards.
        define: parameters of their collective that do not follow from the sizes of the buffers.

    Raises:
        CclError: if a file cannot be read, or a program cannot become a plan.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = [_plan_file(plan, at, Path(folder)) for at, plan in enumerate(plans)]
        return _verified(files, define, folder)


def _plan_file(plan: Union[PathLike, Any], at: int, folder: Path) -> str:
    """The file of a plan; that of a program is written."""
    if not hasattr(plan, "to_json"):
        return os.fspath(plan)
    # `to_json` changes the program, and would do so a second time (MSCCL++ 0.9).
    try:
        text = copy.deepcopy(plan).to_json()
    except Exception as error:
        raise CclError(f"the program {plan.name} cannot become a plan: {error}") from error
    path = folder / str(at) / f"{Path(plan.name).name}.json"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return str(path)


def _verified(files: List[str], define: Optional[Mapping[str, Any]], folder: str) -> List[Report]:
    arguments = ["verify"]
    for name, value in (define or {}).items():
        arguments += ["-D", f"{name}={_literal(value)}"]
    status, reports, said = run([*arguments, "--", *files], without=folder)
    if status != _CLEAN and not (status == _FOUND and reports):
        raise refused("the plans cannot be checked", reports, said)
    return reports


def _manifest_path(source: PathLike, output: Optional[PathLike]) -> Path:
    """A name that only one call uses, next to the plan."""
    folder = Path(output).absolute().parent if output is not None else Path.cwd()
    return folder / f".{Path(source).stem}.{uuid.uuid4().hex}.manifest.json"


def run(arguments: Sequence[str], without: Optional[str] = None) -> Tuple[int, List[Report], str]:
    """Runs the compiler; the name of the folder `without`, and of the ones in it, is left out of the reports."""
    command = [cclc(), "--message-format", "json", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    except OSError as error:
        raise CclError(f"{command[0]} cannot be run: {error}") from error
    reports, said = [], []
    written = done.stderr if without is None else _without_folder(done.stderr, without)
    # Not `splitlines`, which also ends a line at characters that texts of reports may contain.
    for line in written.rstrip("\n").split("\n"):
        (reports if line.startswith("{") else said).append(line)
    silent = f"{command[0]} ended with status {done.returncode} and said nothing"
    return done.returncode, [_report(json.loads(line)) for line in reports], "\n".join(said) or silent


def _without_folder(text: str, folder: str) -> str:
    """A text of JSON without the name of a folder and of the numbered folders in it."""
    start, end = (re.escape(json.dumps(part)[1:-1]) for part in (folder + os.sep, os.sep))
    return re.sub(f"{start}[0-9]+{end}", "", text)


def _report(data: Mapping[str, Any]) -> Report:
    return Report(data["code"], data["severity"], data["message"], _place(data), data)


def _place(data: Mapping[str, Any]) -> str:
    place = data.get("primary")
    if not place:
        return ""
    if "line" in place:
        return f"{place['file']}:{place['line']}:{place['column']}"
    parts = [f"{part} {place[part]}" for part in ("rank", "block", "operation") if place.get(part) is not None]
    return f"{place['file']}: {', '.join(parts)}" if parts else place["file"]


def refused(what: str, reports: Sequence[Report], said: str) -> CclError:
    """The error of a run without a result: its errors, or else what it said."""
    lines = [str(report) for report in reports if report.severity == "error"] or [said]
    return CclError("\n".join([f"{what}:", *lines]), reports)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} = {_literal(item)}" for name, item in value.items()) + "}"
    if isinstance(value, range):
        # Ranges in ccl have no steps.
        return f"{value.start}..{value.stop}" if value.step == 1 else _literal(list(value))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return str(value)
