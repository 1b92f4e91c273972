"""Paths of the repository, its programs, and the tools that `editors/test` has installed."""

import os
import subprocess
from pathlib import Path

EDITORS = Path(__file__).resolve().parents[2]
ROOT = EDITORS.parent
TOOLS = Path(os.environ.get("CCL_EDITOR_TOOLS", ROOT / "target" / "editors"))
CCLC = ROOT / "target" / "debug" / "cclc"
SERVER = Path(os.environ.get("CCL_LSP", ROOT / "target" / "debug" / "ccl-lsp"))
TREE_SITTER = TOOLS / "tree-sitter" / "bin" / "tree-sitter"


def sources():
    """The text of every `.ccl` file of the repository, by its path in the repository."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.ccl"], cwd=ROOT, text=True, capture_output=True, check=True)
    return listed.stdout.splitlines()
