"""A minimal client, which exchanges unmodified messages with the language server."""

import json
import queue
import subprocess
import threading
import time

from .record import read, write


class Wire:
    """A running server, and the messages that it has sent."""

    def __init__(self, command, cwd):
        self.server = subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.said = queue.Queue()
        self.answers, self.diagnostics, self.questions, self.asked = {}, {}, [], 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        while (body := read(self.server.stdout)) is not None:
            self.said.put(json.loads(body))
        self.said.put(None)

    def send(self, message):
        write(self.server.stdin, json.dumps({"jsonrpc": "2.0", **message}).encode())

    def until(self, what, condition, timeout=30):
        """Reads the server's messages until a condition holds."""
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

    def ask(self, method, params):
        """Sends a request, and returns its response."""
        self.asked += 1
        number = f"test {self.asked}"
        self.send({"id": number, "method": method, "params": params})
        self.until(method, lambda: number in self.answers)
        return self.answers[number]

    def reports(self, uris):
        """The diagnostics of files once no more arrive; requested, if the client is one that requests them."""
        found = None
        while found != (found := self._reports(uris)):
            time.sleep(0.5)
        return found

    def until_reported(self, expected, timeout=20):
        """Waits until exactly this is reported."""
        end = time.time() + timeout
        while (found := self._reports(expected)) != expected:
            assert time.time() < end, f"reported: {found}\nexpected: {expected}"
            time.sleep(0.1)

    def _reports(self, uris):
        initialized = next(answer for answer in self.answers.values() if "capabilities" in (answer.get("result") or {}))
        if "diagnosticProvider" in initialized["result"]["capabilities"]:
            asked = {uri: self.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}}) for uri in uris}
            return {uri: answer["result"]["items"] for uri, answer in asked.items()}
        self.until("reports", lambda: self.said.empty() and all(uri in self.diagnostics for uri in uris))
        return {uri: self.diagnostics[uri][-1][1] for uri in uris}

    def end(self):
        """Shuts the server down, waits for it to end, and returns its exit status."""
        self.ask("shutdown", None)
        self.send({"method": "exit"})
        return self.server.wait(timeout=10)
