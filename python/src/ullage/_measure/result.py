"""What measuring a block of code gave."""
from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Optional

from .. import _units
from .sites import Site

SHOWN = 8  # sites of a kind in the text


@dataclass(frozen=True)
class DeviceUse:
    """What a block of code did on one device. Amounts are in bytes of the allocator's blocks, as memory_allocated() counts them."""

    device: int
    before_bytes: int  # allocated when the block began
    after_bytes: int  # allocated when it ended
    allocated_bytes: int  # all that was allocated meanwhile, also what was freed again
    freed_bytes: int  # all that was freed, also what was there before
    peak_bytes: int  # the most that was allocated at once, with what was there before
    peak_reserved_bytes: int  # the most that the allocator held from the driver
    reserved_before_bytes: int
    reserved_after_bytes: int
    retries: int  # allocations that had to flush the cache first
    failures: int  # allocations that failed even so
    kept: Optional[tuple[Site, ...]] = None  # who allocated what is still allocated; None without a recording
    at_peak: Optional[tuple[Site, ...]] = None  # who allocated what was live at the peak; what was there before is not among it
    before_at_peak_bytes: Optional[int] = None  # what was there before and was still live at the peak
    missing: int = 0  # allocations that the recording no longer had: the sites are those of the others

    @property
    def change_bytes(self) -> int:
        """By how much more is allocated than before; less than 0 if more was freed than allocated."""
        return self.after_bytes - self.before_bytes

    @property
    def rise_bytes(self) -> int:
        """How far the peak was above what was there before."""
        return self.peak_bytes - self.before_bytes

    @property
    def kept_bytes(self) -> Optional[int]:
        """What the block allocated and did not free; None without a recording, which alone tells it from what was there before."""
        return None if self.kept is None else sum(s.size_bytes for s in self.kept)

    def as_dict(self) -> dict[str, Any]:
        row = {k: v for k, v in asdict(self).items() if k not in ("kept", "at_peak")}
        row.update(change_bytes=self.change_bytes, rise_bytes=self.rise_bytes, kept_bytes=self.kept_bytes)
        for name, sites in (("kept", self.kept), ("at_peak", self.at_peak)):
            row[name] = None if sites is None else [s.as_dict() for s in sites]
        return row


@dataclass
class Measurement:
    """What measure() gives: empty within the block, filled in when it has ended, also if it ended with an exception."""

    name: str = ""
    devices: tuple[DeviceUse, ...] = ()  # those on which PyTorch's allocator holds or held anything
    finished: bool = False
    error: Optional[str] = None  # the class of the exception that ended the block
    notes: list[str] = field(default_factory=list)  # what these figures can't show

    def __getitem__(self, device: int) -> DeviceUse:
        """The use of one device. Raises KeyError for one of which nothing is known: it was not used, or the block has not ended."""
        for use in self.devices:
            if use.device == device:
                return use
        known = ", ".join(f"cuda:{use.device}" for use in self.devices) or "no device"
        why = f"PyTorch's allocator has used {known}" if self.finished else "the block has not ended yet"
        raise KeyError(f"no memory of device {device!r} was measured: {why}")

    @property
    def peak_bytes(self) -> int:
        """The most that was allocated at once, on the device where it was most; 0 without any."""
        return max((d.peak_bytes for d in self.devices), default=0)

    @property
    def change_bytes(self) -> int:
        """By how much more is allocated than before, on all devices together."""
        return sum(d.change_bytes for d in self.devices)

    def as_dict(self) -> dict[str, Any]:
        """All of it as numbers, strings, lists and dicts, for JSON. Keys may be added."""
        return {
            "name": self.name, "finished": self.finished, "error": self.error, "notes": list(self.notes),
            "devices": [d.as_dict() for d in self.devices],
        }

    def __str__(self) -> str:
        title = self.name or "block"
        if not self.finished:
            return f"{title}: still running"
        if self.error:
            title += f" (ended by {self.error})"
        if not self.devices:
            return f"{title}: no memory of a CUDA device was used"
        return "\n".join([f"{title}:", *(line for d in self.devices for line in _lines(d)), *(f"  note: {n}" for n in self.notes)])


def _lines(use: DeviceUse) -> list[str]:
    size = _units.size
    kept = "" if use.kept_bytes is None else f", kept {size(use.kept_bytes)}"
    lines = [
        f"  cuda:{use.device}  peak {size(use.peak_bytes)}, {size(use.rise_bytes)} above the {size(use.before_bytes)} at the beginning",
        f"          allocated {size(use.allocated_bytes)}, freed {size(use.freed_bytes)}{kept}: {_units.change(use.change_bytes)}",
        f"          reserved {size(use.reserved_before_bytes)} before, {size(use.reserved_after_bytes)} after,"
        f" at most {size(use.peak_reserved_bytes)}",
    ]
    if use.retries or use.failures:
        flushes, failures = _units.count(use.retries, "flush", "flushes"), _units.count(use.failures, "failure")
        lines.append(f"          {flushes} of the cache for want of memory, {failures}")
    if use.at_peak is not None:
        lines += _table("live at the peak", use.at_peak, use.before_at_peak_bytes or 0)
    if use.kept:
        lines += _table("kept", use.kept, 0)
    return lines


def _table(title: str, sites: tuple[Site, ...], before_bytes: int) -> list[str]:
    lines = [f"    {title}:"]
    if before_bytes:
        lines.append(f"      {_units.size(before_bytes):>11}  from before")
    for site in sites[:SHOWN]:
        via = f" ({site.call})" if site.call else ""
        lines.append(f"      {_units.size(site.size_bytes):>11}  {site.place}{via}, {_units.count(site.blocks, 'block')}")
    rest = sites[SHOWN:]
    if rest:
        lines.append(f"      {_units.size(sum(s.size_bytes for s in rest)):>11}  at {_units.count(len(rest), 'other place')}")
    return lines
