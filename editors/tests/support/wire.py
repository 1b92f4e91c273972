"""A bare client: messages to the language server and from it, as they are."""

import json
import queue
import subprocess
import threading

from .record import read, write


class Wire:
    """A server that runs, and what it has said."""

    def __init__(self, command, cwd):
        self.server = subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.said = queue.Queue()
        self.answers, self.diagnostics, self.questions = {}, {}, []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        while (body := read(self.server.stdout)) is not None:
            self.said.put(json.loads(body))
        self.said.put(None)

    def send(self, message):
        write(self.server.stdin, json.dumps({"jsonrpc": "2.0", **message}).encode())

    def until(self, what, condition, timeout=30):
        """Hears what the server says until something holds."""
        while not condition():
            try:
                message = self.said.get(timeout=timeout)
            except queue.Empty:
                raise AssertionError(f"not within {timeout} s: {what}") from None
            assert message is not None, f"the server is gone before: {what}"
            self._note(message)

    def _note(self, message):
        if "method" not in message:
            self.answers[message["id"]] = message
        elif "id" in message:
            self.questions.append(message)
        elif message["method"] == "textDocument/publishDiagnostics":
            params = message["params"]
            self.diagnostics.setdefault(params["uri"], []).append((params.get("version"), params["diagnostics"]))

    def ask(self, number, method, params):
        """A request and its answer."""
        self.send({"id": number, "method": method, "params": params})
        self.until(method, lambda: number in self.answers)
        return self.answers[number]

    def end(self):
        """Waits for the server to be gone, and gives its exit status."""
        self.server.stdin.close()
        return self.server.wait(timeout=10)
