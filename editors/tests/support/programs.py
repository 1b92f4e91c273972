"""The programs of `workspace`, and places in them."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "workspace"


def text(name):
    return (FOLDER / name).read_text()


def place(name, snippet, word=None, occurrence=0):
    """Line and character, from 0, of `word` in the line that contains `snippet`; without `word`, of the snippet itself."""
    hits = [(number, line) for number, line in enumerate(text(name).splitlines()) if snippet in line]
    number, line = hits[occurrence]
    start = line.index(snippet)
    return number, start + (snippet.index(word) if word else 0)
