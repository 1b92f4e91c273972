"""Recorded sessions of real editors (see `support/record.py`), sent to the server again as fast as it takes them.

Regardless of order and speed: every request is answered without an error, versions never go back, and in the end the
server reports for each open file what it would report for the same text opened afresh.
"""

import json
import shutil
from pathlib import Path

import pytest
from support.paths import SERVER
from support.programs import FOLDER
from support.wire import Wire

SESSIONS = sorted((Path(__file__).parent / "sessions").glob("*.jsonl"))

# Allowed errors: the request was made obsolete by a later edit, or canceled.
POINTLESS = {-32800, -32801}


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.stem)
def test_a_session_replayed(session, tmp_path):
    folder = tmp_path / "workspace"
    shutil.copytree(FOLDER, folder)
    messages = [json.loads(line.replace("$ROOT", str(folder))) for line in session.read_text().splitlines()]
    # Some editors are killed before they have ended the session.
    messages = [message for message in messages if message.get("method") not in {"shutdown", "exit"}]

    wire = Wire([str(SERVER), "--stdio"], folder)
    texts = {}
    for message in messages:
        if "method" not in message:
            # A response to a request of the server.
            wire.until("a question", lambda: any(question["id"] == message["id"] for question in wire.questions))
        wire.send(message)
        if message.get("method") == "initialize":
            wire.until("initialize", lambda: message["id"] in wire.answers)
        follow(texts, message)

    asked = [message for message in messages if "method" in message and "id" in message]
    assert len(asked) > 3
    wire.until("all answers", lambda: all(message["id"] in wire.answers for message in asked))
    for message in asked:
        error = wire.answers[message["id"]].get("error")
        assert error is None or error["code"] in POINTLESS, (message["method"], error)

    expected = reports_of(texts, folder, messages[0]["params"])
    wire.until_reported(expected)
    for published in wire.diagnostics.values():
        versions = [version for version, _ in published if version is not None]
        assert versions == sorted(versions)
    assert wire.end() == 0


def test_there_are_sessions():
    editors = {path.stem.split("-")[0] for path in SESSIONS}
    assert editors >= {"neovim", "emacs", "vscode"}


def reports_of(texts, folder, initialize):
    """The diagnostics of a fresh server for these texts."""
    wire = Wire([str(SERVER), "--stdio"], folder)
    wire.ask("initialize", initialize)
    wire.send({"method": "initialized", "params": {}})
    for uri, text in texts.items():
        document = {"uri": uri, "languageId": "ccl", "version": 1, "text": text}
        wire.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
    found = wire.reports(texts)
    assert wire.end() == 0
    return found


def follow(texts, message):
    """Tracks the texts of open files as the editor has them."""
    params, method = message.get("params"), message.get("method")
    if method == "textDocument/didOpen":
        texts[params["textDocument"]["uri"]] = params["textDocument"]["text"]
    elif method == "textDocument/didClose":
        texts.pop(params["textDocument"]["uri"], None)
    elif method == "textDocument/didChange":
        uri = params["textDocument"]["uri"]
        for change in params["contentChanges"]:
            texts[uri] = changed(texts[uri], change)


def changed(text, change):
    if "range" not in change:
        return change["text"]
    units = text.encode("utf-16-le")
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode("utf-16-le")) + 2)
    offset = lambda at: min(starts[min(at["line"], len(lines))] + 2 * at["character"], len(units))
    start, end = offset(change["range"]["start"]), offset(change["range"]["end"])
    return (units[:start] + change["text"].encode("utf-16-le") + units[end:]).decode("utf-16-le")
