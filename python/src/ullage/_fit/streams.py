"""Streams and events of a GPU that is not there: they order nothing, and are told apart so that a reader knows whose memory is whose."""
from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any, Optional

import torch
from torch._subclasses.fake_tensor import FakeTensor

if TYPE_CHECKING:
    from .cuda import Card

_CUDA = 1  # c10::DeviceType::CUDA
_numbers = itertools.count(1)


class Stream(torch.Stream):
    """torch.cuda.Stream. Streams are numbered in the order in which they are made; 0 is the default stream."""

    card: "Card"

    def __new__(cls, device: Any = None, priority: int = 0, *, stream_id: Optional[int] = None, device_index: Optional[int] = None, device_type: int = _CUDA, **_: Any) -> "Stream":
        if device_index is None:
            index = None if device is None else (device if isinstance(device, int) else torch.device(device).index)
            device_index = cls.card.current_device() if index is None else index
        number = next(_numbers) if stream_id is None else stream_id
        return super().__new__(cls, stream_id=number, device_index=device_index, device_type=_CUDA)

    @property
    def cuda_stream(self) -> int:
        """What would be the address of the stream."""
        return self.stream_id

    @property
    def priority(self) -> int:
        return 0

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -5

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        self.card.trace.line("sync", s=self.stream_id)

    def wait_event(self, event: Any) -> None:
        return None

    def wait_stream(self, stream: Any) -> None:
        return None

    def record_event(self, event: Any = None) -> Any:
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> "Stream":
        self._before = torch.cuda.current_stream()
        torch.cuda.set_stream(self)  # type: ignore[arg-type]
        return self

    def __exit__(self, *_: Any) -> None:
        torch.cuda.set_stream(self._before)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, torch.Stream) and (self.stream_id, self.device) == (other.stream_id, other.device)

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.stream_id:#x}>"


class Event:
    """torch.cuda.Event: it has always happened, and time between two is the host's."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False) -> None:
        self._at = 0.0
        self._frees = 0  # storages that had been let go of when it was recorded

    @property
    def cuda_event(self) -> int:
        return 0

    def record(self, stream: Any = None) -> None:
        self._at = time.perf_counter()
        self._frees = sum(meter.frees for meter in Stream.card.storages.meters)

    def wait(self, stream: Any = None) -> None:
        return None

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """The program waits until what was before the event is done: FSDP's limit on how many units are gathered at once is made of it."""
        if self._frees:
            Stream.card.trace.line("sync", n=self._frees)

    def elapsed_time(self, end: "Event") -> float:
        """Milliseconds, more than none: programs divide by them."""
        return max((end._at - self._at) * 1e3, 1e-3)


def install(card: "Card") -> None:
    """Puts the classes in torch.cuda, and has record_stream noted."""
    Stream.card = card
    cuda: Any = torch.cuda
    cuda.Stream = cuda.streams.Stream = Stream
    cuda.ExternalStream = cuda.streams.ExternalStream = Stream
    cuda.Event = cuda.streams.Event = Event
    torch.Stream, torch.Event = Stream, Event  # type: ignore[misc,assignment]

    def record_stream(self: FakeTensor, stream: Any) -> None:
        living = card.storages.find(self.untyped_storage())
        if living is not None:
            card.trace.line("use", id=living.id, s=stream.stream_id)

    FakeTensor.record_stream = record_stream  # type: ignore[method-assign,assignment]
