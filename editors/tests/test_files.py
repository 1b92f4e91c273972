"""Files that editors read themselves: they are valid, and refer to things that exist."""

import json
import re
import subprocess
import tomllib
import xml.etree.ElementTree as xml

import yaml
from support.paths import CCLC, EDITORS, ROOT

VSCODE = EDITORS / "vscode"

# The surroundings of snippets that are not used inside a program.
AROUND = {item: "%s" for item in ("program", "collective", "topology", "proc", "fn")}
AROUND |= {operation: "program p() {\nblock main {\n%s\n}\n}\n" for operation in ("put", "entry", "exit")}


def test_json_can_be_read():
    paths = [path for path in EDITORS.rglob("*.json") if "node_modules" not in path.parts and "out" not in path.parts]
    assert len(paths) > 5
    for path in [*paths, *EDITORS.rglob("*.sublime-settings")]:
        json.loads(path.read_text())


def test_toml_can_be_read():
    helix = tomllib.loads((EDITORS / "helix/languages.toml").read_text())
    assert helix["language"][0]["language-servers"] == list(helix["language-server"])
    assert helix["language"][0]["name"] == helix["grammar"][0]["name"] == "ccl"
    assert (ROOT / helix["grammar"][0]["source"]["path"].removeprefix("/path/to/ccl/")).is_dir()
    zed = tomllib.loads((EDITORS / "zed/extension.toml").read_text())
    assert (ROOT / zed["grammars"]["ccl"]["path"] / "src/parser.c").is_file()
    language = tomllib.loads((EDITORS / "zed/languages/ccl/config.toml").read_text())
    assert language["name"] in zed["language_servers"]["ccl-lsp"]["languages"]
    assert language["grammar"] in zed["grammars"]


def test_sublime_reads_its_files():
    syntax = yaml.safe_load((EDITORS / "sublime/ccl.sublime-syntax").read_text())
    assert syntax["scope"] == "source.ccl"
    patterns = [rule["match"] for context in syntax["contexts"].values() for rule in context if "match" in rule]
    assert len(patterns) > 20
    named = {name for pattern in patterns for name in re.findall(r"\{\{(\w+)\}\}", pattern)}
    assert named == set(syntax["variables"])
    included = {rule["include"] for context in syntax["contexts"].values() for rule in context if "include" in rule}
    assert included <= set(syntax["contexts"])
    xml.parse(EDITORS / "sublime/Comments.tmPreferences")


def test_queries_lie_where_their_editors_look():
    for folder in [EDITORS / "helix/queries/ccl", EDITORS / "zed/languages/ccl", EDITORS / "tree-sitter-ccl/queries"]:
        assert (folder / "highlights.scm").is_file()


def test_a_workspace_that_is_not_trusted_chooses_no_program():
    """Each setting that names an executable is restricted, whatever it will be called: those of VS Code's scope for machines."""
    package = json.loads((VSCODE / "package.json").read_text())
    untrusted = package["capabilities"]["untrustedWorkspaces"]
    settings = package["contributes"]["configuration"]["properties"]
    executables = {name for name, setting in settings.items() if name.endswith(".path") or "machine" in setting.get("scope", "")}
    assert executables == {"ccl.server.path", "ccl.compiler.path"}
    assert untrusted["supported"] == "limited" and set(untrusted["restrictedConfigurations"]) == executables
    assert ":risky t" in re.search(r"\(defcustom ccl-mode-server.*?\n\n", (EDITORS / "emacs/ccl-mode.el").read_text(), re.S)[0]


def test_the_extension_contributes_what_there_is():
    package = json.loads((VSCODE / "package.json").read_text())
    contributes = package["contributes"]
    commands = {command["command"] for command in contributes["commands"]}
    used = [entry["command"] for menu in contributes["menus"].values() for entry in menu]
    assert set(used) <= commands
    source = "".join(path.read_text() for path in (VSCODE / "src").glob("*.ts"))
    registered = set(re.findall(r"registerCommand\(\s*'(ccl\.\w+)'", source))
    assert commands <= registered, commands - registered
    settings = set(contributes["configuration"]["properties"])
    assert all(setting.startswith("ccl.") for setting in settings)
    steps = [step for walkthrough in contributes["walkthroughs"] for step in walkthrough["steps"]]
    for step in steps:
        (file,) = [value for key, value in step["media"].items() if key != "altText"]
        assert (VSCODE / file).is_file(), file
        assert set(re.findall(r"command:(ccl\.\w+)", step["description"])) <= commands
    for path in [package["icon"], contributes["languages"][0]["configuration"], contributes["snippets"][0]["path"]]:
        assert (VSCODE / path).is_file(), path


def test_pictures_are_small_and_shown():
    shown = (VSCODE / "README.md").read_text() + (VSCODE / "package.json").read_text()
    pictures = list((VSCODE / "images").glob("*.png"))
    assert len(pictures) > 3
    for picture in pictures:
        assert picture.stat().st_size < 200_000, picture
        assert f"images/{picture.name}" in shown, picture


def test_snippets_are_parts_of_programs():
    snippets = json.loads((VSCODE / "snippets/ccl.json").read_text())
    prefixes = [snippet["prefix"] for snippet in snippets.values()]
    assert len(set(prefixes)) == len(prefixes)
    for name, snippet in snippets.items():
        body = snippet["body"]
        text = expanded("\n".join(body) if isinstance(body, list) else body)
        around = AROUND.get(snippet["prefix"], "program p() {\n%s\n}\n")
        text = around % text
        done = subprocess.run([CCLC, "fmt", "-"], input=text, text=True, capture_output=True, timeout=10)
        assert done.returncode == 0, f"{name}:\n{text}\n{done.stderr}"


def expanded(snippet):
    """The text that a snippet gives if the user only presses tab."""
    values = {"0": "1" if re.search(r"[=] \$0", snippet) else ""}
    for number, choices, default in re.findall(r"\$\{(\d)(?:\|([^|]*)\||:([^{}]*))\}", snippet):
        values[number] = choices.split(",")[0] or default
    snippet = re.sub(r"\$\{(\d)(?:\|[^|]*\||:[^{}]*)\}", lambda hit: values[hit[1]], snippet)
    return re.sub(r"\$\{?(\d)\}?", lambda hit: values.get(hit[1], "text"), snippet)


def test_pages_lead_to_what_is_there():
    for page in EDITORS.rglob("*.md"):
        if "node_modules" in page.parts:
            continue
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not link.startswith(("http", "command:")):
                assert (page.parent / link).exists(), f"{page}: {link}"
