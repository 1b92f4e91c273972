"""Validates bills of materials against the schema of CycloneDX 1.5: valid_bill.py BILL... Needs `cyclonedx-python-lib[json-validation]`."""

import json
import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.spdx import is_expression
from cyclonedx.validation.json import JsonStrictValidator

VALIDATOR = JsonStrictValidator(SchemaVersion.V1_5)


def mistakes(text: str) -> list[str]:
    """What is wrong with a bill, first according to its schema, then in what the schema leaves open."""
    wrong = VALIDATOR.validate_str(text)
    if wrong:
        return [str(wrong).splitlines()[0]]
    bill = json.loads(text)
    parts = {part["bom-ref"]: part for part in [bill["metadata"]["component"], *bill["components"]]}
    links = {link["ref"]: link["dependsOn"] for link in bill["dependencies"]}
    open_, reached = [bill["metadata"]["component"]["bom-ref"]], set()
    while open_:
        name = open_.pop()
        if name not in reached:
            reached.add(name)
            open_ += links.get(name, [])
    licences = ((part, told["expression"]) for part in parts.values() for told in part.get("licenses", []))
    return [
        *(f"{part['bom-ref']}: `{expression}` is no expression of SPDX" for part, expression in licences if not is_expression(expression)),
        *(f"{name}: nothing depends on it" for name in sorted(parts.keys() - reached)),
        *(f"{name}: the bill does not list it" for name in sorted(reached - parts.keys())),
    ]


def main() -> None:
    for path in sys.argv[1:]:
        text = Path(path).read_text()
        wrong = mistakes(text)
        if wrong:
            sys.exit("\n".join(f"{path}: {it}" for it in wrong))
        for bad in (text.replace('"library"', '"book"', 1), text.replace('"expression": "', '"expression": "no ', 1)):
            assert mistakes(bad), "a mistake would not be found"
        print(f"{path}: a valid bill of {len(json.loads(text)['components'])} parts")


if __name__ == "__main__":
    main()
