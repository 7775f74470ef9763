"""The agent's socket, as far as a process that reports to it needs it: HTTP over a Unix socket, one connection that is kept."""
from __future__ import annotations

import http.client
import json
import socket
from typing import Any, Mapping, Optional

TIMEOUT_SECONDS = 2.0  # of each wait for the agent: what it does for a report takes it less than a millisecond
MAX_ANSWER_BYTES = 64 << 10


class Refused(Exception):
    """The agent answered that it takes no report. status is HTTP's."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(TIMEOUT_SECONDS)
            self.sock.connect(self._path)
        except BaseException:
            self.close()
            raise


class Agent:
    """Speaks to one socket, in one thread; only stop may be called from another."""

    def __init__(self, path: str) -> None:
        self._connection = _Connection(path)

    def report(self, report: Mapping[str, Any]) -> Mapping[str, Any]:
        """Sends a report and returns the advice.

        Raises Refused where the agent takes none, else OSError, http.client.HTTPException or ValueError where it doesn't answer
        as it should.
        """
        body = json.dumps(report).encode()
        kept = self._connection.sock is not None
        try:
            status, answer = self._ask(body)
        except (ConnectionError, http.client.BadStatusLine):
            self.close()
            if not kept:
                raise
            status, answer = self._ask(body)  # the agent has closed the connection meanwhile: it began anew, perhaps
        except BaseException:
            self.close()
            raise
        if status != 200:
            raise Refused(status, _message(answer))
        advice = json.loads(answer)
        if not isinstance(advice, dict):
            raise ValueError("the agent's answer is no object")
        return advice

    def _ask(self, body: bytes) -> tuple[int, bytes]:
        self._connection.request("POST", "/v1/report", body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        answer = response.read(MAX_ANSWER_BYTES)
        if not response.isclosed():
            self.close()
            raise ValueError("the agent's answer is too long")
        return response.status, answer

    def close(self) -> None:
        """Ends the connection; the next report makes a new one."""
        self._connection.close()

    def stop(self) -> None:
        """Ends a wait for the agent in another thread."""
        sock: Optional[socket.socket] = self._connection.sock
        try:
            if sock is not None:
                sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def _message(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["error"]["message"])[:300]
    except (ValueError, KeyError, TypeError):
        return "no reason given"
