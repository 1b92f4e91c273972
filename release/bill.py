"""The bill of materials: CycloneDX 1.5 as JSON, for what is compiled into the programs and bundled with the extension.

In: `Cargo.lock`, through `cargo metadata`, and `editors/vscode/package-lock.json`. Out: text, the same for the same lock
files.
The format is that of https://cyclonedx.org/docs/1.5/json/.
"""

import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("ccl-compiler", "ccl-lsp")


def of_materials(root: Path, host: str, version: str, epoch: int) -> str:
    """The text of the bill."""
    packages, edges = crates(root, host)
    components = [component(package) for package in packages.values()] + list(bundled(root))
    components.sort(key=lambda it: it["bom-ref"])
    name = f"pkg:generic/ccl@{version}"
    depends = {reference(packages[key]): [reference(packages[to]) for to in found] for key, found in edges.items()}
    depends[name] = [it["bom-ref"] for it in components if it["name"] in PROGRAMS or it["purl"].startswith("pkg:npm")]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "component": {"type": "application", "bom-ref": name, "name": "ccl", "version": version},
        },
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": sorted(set(depends[ref]))} for ref in sorted(depends)],
    }
    # The same bill has the same serial number.
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True))
    return json.dumps({"serialNumber": f"urn:uuid:{number}"} | bill, indent=2) + "\n"


def host() -> str:
    """The target that programs are built for by default."""
    told = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return next(line.removeprefix("host: ") for line in told.splitlines() if line.startswith("host: "))


def crates(root: Path, host: str) -> tuple[dict, dict]:
    """The packages that the programs are linked from, by id, and the dependencies of each."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host]
    told = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout)
    known = {package["id"]: package for package in told["packages"]}
    nodes = {node["id"]: node for node in told["resolve"]["nodes"]}
    open_, edges = [key for key, package in known.items() if package["name"] in PROGRAMS], {}
    while open_:
        key = open_.pop()
        if key not in edges:
            kinds = [(it["pkg"], [kind["kind"] for kind in it["dep_kinds"]]) for it in nodes[key]["deps"]]
            edges[key] = sorted(to for to, kinds in kinds if None in kinds)
            open_ += edges[key]
    return {key: known[key] for key in sorted(edges)}, edges


def reference(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package: dict) -> dict:
    told = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package.get("license"):
        told["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package.get("description"):
        told["description"] = " ".join(package["description"].split())
    if package.get("repository"):
        told["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return told


def bundled(root: Path) -> Iterator[dict]:
    """The npm packages that go into the extension: all except those needed only to build it."""
    lock = json.loads((root / "editors/vscode/package-lock.json").read_text())
    for path, package in lock["packages"].items():
        if not path or package.get("dev"):
            continue
        name = path.split("node_modules/")[-1]
        purl = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
        told = {"type": "library", "bom-ref": purl, "name": name, "version": package["version"], "purl": purl}
        if package.get("license"):
            told["licenses"] = [{"expression": package["license"]}]
        yield told
