"""The licenses of all crates that are linked into the programs, as their authors ship them."""

from pathlib import Path

import bill

PATTERNS = ("LICEN[SC]E*", "COPYING*", "NOTICE*", "COPYRIGHT*", "licen[sc]e*")


def text(root: Path, host: str) -> str:
    """One section for each text, with the crates that share it."""
    packages, _ = bill.crates(root, host)
    owners: dict[str, list[str]] = {}
    for package in sorted(packages.values(), key=bill.reference):
        if package["source"] is None:
            continue
        folder = Path(package["manifest_path"]).parent
        found = sorted({path for pattern in PATTERNS for path in folder.glob(pattern) if path.is_file()})
        name = f"{package['name']} {package['version']} ({package['license']})"
        texts = [path.read_text(errors="replace").replace("\r\n", "\n").strip() for path in found]
        for licence in texts or [f"This crate ships no text of its licence, {package['license']}."]:
            owners.setdefault(licence, []).append(name)
    line = "-" * 80
    parts = ["\n".join([line, *names, line, "", licence, ""]) for licence, names in owners.items()]
    return "The programs are linked from these crates, under these licences.\n\n" + "\n".join(parts)
