"""The tree-sitter grammar: its parser is up to date, its corpus and highlights pass, its queries fit it, and it reads every
`.ccl` file of the repository as the compiler does."""

import json
import random
import re
import subprocess

import pytest
from support.paths import CCLC, EDITORS, ROOT, TREE_SITTER, sources

GRAMMAR = EDITORS / "tree-sitter-ccl"

# Codes of the compiler's parser that concern the structure of the text: E0104 is about numbers, E0108 and E0109 about
# what is allowed where, and how deep.
SHAPE = {"E0101", "E0102", "E0103", "E0105", "E0106", "E0107"}

# Files for which the grammar and the compiler disagree, and why.
DIFFER = {
    "compiler/tests/cases/syntax/a_barrier_of_nothing_in_a_block.ccl": "its place is wrong, before it is asked what it lacks",
    "compiler/tests/cases/syntax/declarations_in_wrong_places.ccl": "no production has these declarations there",
    "compiler/tests/cases/syntax/documentation_at_the_end.ccl": "documentation is a comment, which may end a file",
    "compiler/tests/cases/syntax/numbers_that_cannot_be_read.ccl": "a number and a name without a space",
    "compiler/tests/cases/syntax/rates_and_times_that_cannot_be_read.ccl": "a number and a name without a space",
    "compiler/tests/cases/syntax/statements_in_blocks_and_groups.ccl": "`*` is refused by a rule beyond the grammar",
    "compiler/tests/cases/syntax/what_is_in_no_topology.ccl": "no production has these declarations there",
}


def tree_sitter(*arguments, **options):
    return subprocess.run(
        [TREE_SITTER, *map(str, arguments)], cwd=GRAMMAR, text=True, capture_output=True, timeout=300, **options
    )


def faulty(paths, folder):
    """The files in which the grammar finds an error or a missing token."""
    listing = folder / "paths.txt"
    listing.write_text("".join(f"{path}\n" for path in paths))
    done = tree_sitter("parse", "--quiet", "--paths", listing)
    known = {str(path) for path in paths}
    found = {line.split("\t")[0].strip() for line in done.stdout.splitlines()}
    assert found <= known, found - known
    return found


def misshapen(paths):
    """The files in which the compiler's parser finds a structural error."""
    done = subprocess.run(
        [CCLC, "fmt", "--check", "--message-format", "json", *paths], cwd=ROOT, text=True, capture_output=True, timeout=300
    )
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return {report["primary"]["file"] for report in reports if report["code"] in SHAPE and report["primary"]}


def test_the_parser_is_fresh():
    files = [GRAMMAR / "src" / name for name in ("grammar.json", "node-types.json", "parser.c")]
    before = [file.read_bytes() for file in files]
    done = tree_sitter("generate")
    assert done.returncode == 0, done.stderr
    fresh = [file.name for file, old in zip(files, before) if file.read_bytes() == old]
    assert fresh == [file.name for file in files], "run `tree-sitter generate`, and commit the result"


def test_the_corpus_and_the_highlights():
    done = tree_sitter("test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "highlighting" in done.stdout


@pytest.mark.parametrize("query", sorted(path.name for path in (GRAMMAR / "queries").glob("*.scm")))
def test_queries_fit_the_grammar(query):
    done = tree_sitter("query", GRAMMAR / "queries" / query, GRAMMAR / "test/highlight/words.ccl")
    assert done.returncode == 0, done.stderr
    assert "capture" in done.stdout


def test_every_file_is_read_as_the_compiler_reads_it(tmp_path):
    paths = sources()
    assert len(paths) > 300
    mine = {str(path.relative_to(ROOT)) for path in map(type(ROOT), faulty([ROOT / path for path in paths], tmp_path))}
    theirs = misshapen(paths)
    assert (mine ^ theirs) <= set(DIFFER), sorted((mine ^ theirs) - set(DIFFER))
    assert all(path in theirs or path in DIFFER for path in mine)


def test_whole_files_in_documents(tmp_path):
    """Code blocks marked `ccl` are whole files."""
    paths = []
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, text in enumerate(re.findall(r"^```ccl\n(.*?)^```", document.read_text(), re.M | re.S)):
            paths.append(tmp_path / f"{document.stem}_{number}.ccl")
            paths[-1].write_text(text)
    assert paths
    assert not faulty(paths, tmp_path)


def test_a_word_less_spoils_what_it_spoils_for_the_compiler(tmp_path):
    """One token is removed from correct programs: the grammar and the compiler must agree on whether that is an error."""
    random.seed(1)
    sound = [path for path in sources() if path.startswith(("examples/", "stdlib/", "compiler/tests/language/"))]
    paths = []
    for number in range(400):
        tokens = re.findall(r"//[^\n]*|\"[^\"\n]*\"|\w+|\s+|<->|->|\.\.[+=]?|::|&&|\|\||[=!<>]=|<<|>>|.", read(random.choice(sound)))
        solid = [index for index, token in enumerate(tokens) if token.strip() and not token.startswith("//")]
        index = random.choice(solid)
        paths.append(tmp_path / f"{number}.ccl")
        paths[-1].write_text("".join(tokens[:index] + [" "] + tokens[index + 1 :]))
    differ = faulty(paths, tmp_path) ^ misshapen([str(path) for path in paths])
    assert not differ, [path for path in sorted(differ)]


def read(path):
    return (ROOT / path).read_text()
