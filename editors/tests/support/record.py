#!/usr/bin/env python3
"""Runs between an editor and the language server, and records the editor's messages, one on each line.

`CCL_LSP` is the server, `CCL_RECORD` the file, `CCL_ROOT` the folder of the editor's files, which is recorded as `$ROOT`.
"""

import json
import os
import subprocess
import sys
import threading


def read(stream):
    """One message of the base protocol, as bytes; none at the end."""
    length = None
    while line := stream.readline():
        if not line.strip():
            return stream.read(length)
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return None


def write(stream, body):
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def hidden(body):
    """A message without the parts that differ between recordings."""
    root = os.environ["CCL_ROOT"]
    message = json.loads(body)
    if "processId" in (message.get("params") or {}):
        message["params"]["processId"] = None
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).replace(root, "$ROOT")


def main():
    server = subprocess.Popen(
        [os.environ["CCL_LSP"], *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )

    def answers():
        while (body := read(server.stdout)) is not None:
            write(sys.stdout.buffer, body)

    threading.Thread(target=answers, daemon=True).start()
    with open(os.environ["CCL_RECORD"], "w") as record:
        while (body := read(sys.stdin.buffer)) is not None:
            record.write(hidden(body) + "\n")
            record.flush()
            write(server.stdin, body)
    server.stdin.close()
    sys.exit(server.wait())


if __name__ == "__main__":
    main()
