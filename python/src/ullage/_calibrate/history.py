"""What operators ask of the caching allocator: each is run between two marks in the allocator's own history."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

MARK_BYTES = 7  # no operator asks for as few
FLUSH_AFTER = 400  # cases; the history is read as a whole


@dataclass
class Window:
    """What happened between two marks: bytes of a request, or -(n+1) where the n-th request was freed."""

    events: list[int] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)  # of the requests
    emptied: bool = False  # memory went back to the driver: there was too little for the case

    def kept(self) -> list[int]:
        """Indexes of the requests that were not freed."""
        freed = {-e - 1 for e in self.events if e < 0}
        return [i for i in range(len(self.addresses)) if i not in freed]

    def sizes(self) -> list[int]:
        return [e for e in self.events if e > 0]


def windows(trace: list[dict[str, Any]]) -> list[Window]:
    """Takes a device's events apart at the marks."""
    found: list[Window] = []
    inside = False
    live: dict[Any, int] = {}
    for event in trace:
        action, address, size = event["action"], event.get("addr"), event["size"]  # a failed request has no address
        if action == "alloc" and size == MARK_BYTES:
            inside = not inside
            if inside:
                found.append(Window())
                live = {}
        elif not inside:
            continue
        elif action == "alloc":
            live[address] = len(found[-1].addresses)
            found[-1].events.append(size)
            found[-1].addresses.append(int(address or 0))
        elif action == "free_completed" and address in live:
            found[-1].events.append(-(live.pop(address) + 1))
        elif action in ("segment_free", "oom"):
            found[-1].emptied = True
    return found


class Recorder:
    """Runs cases, and hands what the history says of each to its receiver."""

    def __init__(self, mark: Callable[[], Any], read: Callable[[], list[dict[str, Any]]], restart: Callable[[], None]) -> None:
        self._mark, self._read, self._restart = mark, read, restart
        self._pending: list[Optional[Callable[[Window], None]]] = []
        self.lost = 0  # cases whose marks were not all found
        restart()

    def run(self, case: Callable[[], Any], receive: Callable[[Any], Callable[[Window], None]]) -> Any:
        """Runs a case between marks. receive(result) says at once who gets its window later. What the case raises is raised."""
        receiver: Optional[Callable[[Window], None]] = None
        self._mark()
        try:
            result = case()
            receiver = receive(result)
            return result
        finally:
            self._mark()
            self._pending.append(receiver)
            if len(self._pending) >= FLUSH_AFTER:
                self.flush()

    def flush(self) -> None:
        """Reads the history and hands out what it has."""
        if not self._pending:
            return
        found = windows(self._read())
        if len(found) != len(self._pending):
            self.lost += len(self._pending)
        else:
            for receiver, window in zip(self._pending, found):
                if receiver is not None and not window.emptied:
                    receiver(window)
        self._pending = []
        self._restart()


def of_torch(device: str) -> Recorder:
    """A recorder of the current device of a type."""
    import torch

    memory: Any = torch.cuda.memory

    def restart() -> None:
        memory._record_memory_history(None)
        memory._record_memory_history("all", context=None, stacks="python")

    def mark() -> None:
        torch.empty(MARK_BYTES, dtype=torch.uint8, device=device)

    def read() -> list[dict[str, Any]]:
        return list(memory._snapshot()["device_traces"][torch.cuda.current_device()])

    return Recorder(mark, read, restart)
