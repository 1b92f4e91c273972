"""Reproducible archives, whose bytes depend only on their contents: sorted names, a single time, no owner."""

import gzip
import os
import re
import stat
import tarfile
import time
import zipfile
from pathlib import Path

# The earliest time that zip can store.
FIRST_ZIP_TIME = 315532800


def version(root: Path) -> str:
    """The version of the workspace."""
    found = re.search(r'(?m)^version = "(.*)"$', (root / "Cargo.toml").read_text())
    if not found:
        raise SystemExit("Cargo.toml says no version")
    return found.group(1)


def tar(folder: Path, path: Path, epoch: int) -> None:
    """Writes a folder as `.tar.gz`, under its own name."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = epoch
        member.mode = 0o755 if member.isdir() or member.mode & stat.S_IXUSR else 0o644
        return member

    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=epoch) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for member in [folder, *sorted(folder.rglob("*"))]:
                name = str(member.relative_to(folder.parent))
                archive.add(member, name, recursive=False, filter=plain)


def rezip(source: Path, path: Path, epoch: int) -> None:
    """Rewrites a zip with its members sorted by name, all with the same time."""
    moment = time.gmtime(max(epoch, FIRST_ZIP_TIME))[:6]
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for member in sorted(old.infolist(), key=lambda member: member.filename):
            info = zipfile.ZipInfo(member.filename, moment)
            info.compress_type = zipfile.ZIP_DEFLATED
            executable = (member.external_attr >> 16) & stat.S_IXUSR
            info.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
            info.create_system = 3
            new.writestr(info, old.read(member), compresslevel=9)
    os.chmod(path, 0o644)
