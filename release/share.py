"""The contents of an archive: the programs, and the files in `share` for shells, editors, build systems and readers."""

import shutil
import subprocess
import tempfile
from pathlib import Path

DOCUMENTS = ("README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT")
SHELLS = {
    "bash": "share/bash-completion/completions/cclc",
    "zsh": "share/zsh/site-functions/_cclc",
    "fish": "share/fish/vendor_completions.d/cclc.fish",
    "elvish": "share/elvish/lib/cclc.elv",
    "powershell": "share/powershell/cclc.ps1",
}


def lay_out(root: Path, binaries: Path, notices: str, tree: Path) -> None:
    """Fills a folder with the layout that it has under a prefix such as `/usr/local`."""
    for program in ("cclc", "ccl-lsp"):
        put(binaries / program, tree / "bin" / program, 0o755)
    for name in DOCUMENTS:
        put(root / name, tree / "share/doc/ccl" / name)
    write(tree / "share/doc/ccl/LICENSES-OF-DEPENDENCIES", notices)
    for text in sorted((root / "stdlib/ccl").rglob("*.ccl")):
        put(text, tree / "share/ccl/stdlib" / text.relative_to(root / "stdlib/ccl"))
    for name in ("ccl.ebnf", "ccl.tmLanguage.json"):
        put(root / "grammar" / name, tree / "share/ccl/grammar" / name)
    for name in ("WORKSPACE", "BUILD.bazel", "ccl.bzl"):
        put(root / "integrations/bazel" / name, tree / "share/ccl/bazel" / name)
    made_by_cclc(tree)
    cmake_package(root, tree)


def made_by_cclc(tree: Path) -> None:
    """Writes completions and manual pages, which cclc makes from the definitions of its arguments."""
    cclc = str(tree / "bin/cclc")
    for shell, path in SHELLS.items():
        script = subprocess.run([cclc, "completions", shell], check=True, capture_output=True, text=True)
        write(tree / path, script.stdout)
    subprocess.run([cclc, "man", str(tree / "share/man/man1")], check=True)


def cmake_package(root: Path, tree: Path) -> None:
    """Installs the CMake package with CMake itself."""
    source = ["-S", str(root / "integrations/cmake")]
    with tempfile.TemporaryDirectory() as build:
        subprocess.run(["cmake", *source, "-B", build], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--install", build, "--prefix", str(tree)], check=True, stdout=subprocess.DEVNULL)


def put(source: Path, path: Path, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, path)
    path.chmod(mode)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
