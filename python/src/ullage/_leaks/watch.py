"""watch() and step(): memory that grows from step to step, noticed while there is time, with who is behind it.

At each step the allocator's counter is read, and nothing else. A growth that could be one (series.py) is then confirmed: Python's
collector runs, since it does not see the GPU's memory and lets cycles of references wait; the same number of steps and more is watched;
and the collector runs again. Only what has grown in spite of it is reported, once.
"""
from __future__ import annotations

import gc
import sys
import warnings
from typing import Any, Callable, Optional, Union

from .. import _checks as checks
from .._torch import api, memory
from . import who
from .growth import Growth, GrowthWarning
from .series import AGREEMENT, Level, Trend, theil_sen

WARM_UP_STEPS = 5  # the first steps make optimizer states, libraries' workspaces, compiled code
STEPS = 50  # before anything is suspected: caches and buffers that fill up do so in the first steps
CONFIRM_STRETCHES = 32  # of the steps that confirm, and at least so many steps
STILL = 0.5  # share of a suspected growth that has to be there while it is confirmed


class Watch:
    """Follows the allocated memory at fixed points of a loop. See watch().

    found  the growths that were reported
    notes  what was suspected and turned out to be something else
    """

    def __init__(
        self, warm_up: int, steps: int, min_growth_bytes: Union[int, str], holders: bool, on_growth: Optional[Callable[[Growth], Any]],
    ) -> None:
        self.warm_up, self.steps = checks.whole("warm_up", warm_up), checks.whole("steps", steps, least=1)
        self.min_growth_bytes = checks.size_bytes("min_growth_bytes", min_growth_bytes, least=1)
        self.holders = checks.flag("holders", holders)
        self.on_growth = checks.optional(checks.function, "on_growth", on_growth, given="a Growth")
        self.found: list[Growth] = []
        self.notes: list[str] = []
        self._points: dict[str, _Point] = {}

    def step(self, name: str = "step") -> Optional[Growth]:
        """Notes the memory of one step. Call it at the same place of each: after the gradients are zeroed is best.

        name tells apart places that are no steps of the same loop, as training and evaluation. Returns the growth if it is reported now.
        Doesn't wait for the GPU.
        """
        if not isinstance(name, str):
            raise checks.wrong("name", name, "text, the same at each step", "steps are counted here, so that step() is given no number")
        import torch

        if not memory.in_use():
            return None
        point = self._points.get(name)
        if point is None:
            point = self._points[name] = _Point(self, name)
        found = point.step(torch)
        if found is not None:
            self.found.append(found)
            if self.on_growth is not None:
                self.on_growth(found)
            else:
                warnings.warn(GrowthWarning(found), stacklevel=_callers_level())
        return found


class _Point:
    """One place of a loop, on all devices that the process uses."""

    def __init__(self, watch: Watch, name: str) -> None:
        self.watch, self.name = watch, name
        self.count = 0
        self.devices: dict[int, _Follower] = {}

    def step(self, torch: Any) -> Optional[Growth]:
        self.count += 1
        if self.count & (self.count - 1) == 0:  # devices come into use early, if at all: looked for at steps 1, 2, 4, 8, …
            for device in api.used_devices(torch):
                self.devices.setdefault(device, _Follower(self.watch, self.name, device))
        found = None
        if self.count > self.watch.warm_up:
            for follower in self.devices.values():
                found = follower.take(torch, self.count) or found
        return found


class _Follower:
    """One place and one device: suspects a growth, then confirms or dismisses it."""

    def __init__(self, watch: Watch, name: str, device: int) -> None:
        self.watch, self.name, self.device = watch, name, device
        self.level = Level()
        self.confirming: Optional[_Confirmation] = None
        self.quiet_until = watch.warm_up + watch.steps  # no suspicion before this step
        self.reported = False

    def take(self, torch: Any, count: int) -> Optional[Growth]:
        if self.reported:
            return None
        allocated = memory.allocated_bytes(self.device)
        if self.confirming is not None:
            return self._go_on(torch, allocated, count)
        if self.level.add(allocated) and count >= self.quiet_until:
            trend = self.level.trend(self.watch.min_growth_bytes)
            if trend is not None:
                self.confirming = _Confirmation(torch, trend, self.device, count)
        return None

    def _go_on(self, torch: Any, allocated: int, count: int) -> Optional[Growth]:
        confirming = self.confirming
        assert confirming is not None
        if not confirming.add(allocated):
            return None
        self.confirming = None
        reason = confirming.refuted(self.device)
        if reason is not None:
            self.watch.notes.append(f"{self.name} {count}, cuda:{self.device}: {reason}")
            self.quiet_until = 2 * count  # so that the collector runs a few times in a run, however long it is
            return None
        self.reported = True
        return confirming.report(torch, self.name, self.device, count, self.watch.holders)


class _Confirmation:
    """As many steps again as made a growth suspect, between two runs of Python's collector."""

    def __init__(self, torch: Any, trend: Trend, device: int, count: int) -> None:
        self.trend, self.slope_bytes = trend, 0.0
        self.stride = max(1, trend.steps // CONFIRM_STRETCHES)
        self.level = Level()
        self.level.stride = self.stride
        self.collected_bytes = _collected(device)
        self.blocks = who.live_blocks(torch, device)

    def add(self, allocated: int) -> bool:
        """Takes a step's level. True when there are enough."""
        return self.level.add(allocated) and len(self.level.minima) >= CONFIRM_STRETCHES

    def refuted(self, device: int) -> Optional[str]:
        """Why it is no growth after all, or None."""
        minima = self.level.minima
        collected = self.collected_bytes + _collected(device)
        slope, agreement = theil_sen(minima)
        last, _ = theil_sen(minima[-len(minima) // 4:])
        self.slope_bytes = slope / self.stride
        if collected >= STILL * self.trend.grown_bytes:
            return f"what had grown went with Python's collector: {collected:,} bytes were held by cycles of references"
        if self.slope_bytes < STILL * self.trend.slope_bytes or agreement < AGREEMENT or last < STILL * slope:
            return "a growth has levelled off"
        return None

    def report(self, torch: Any, name: str, device: int, count: int, ask_holders: bool) -> Growth:
        """Finds out who is behind the growth: whose blocks are live now and were not when it was suspected."""
        blocks = who.live_blocks(torch, device)
        new = None if blocks is None or self.blocks is None else {a: b for a, b in blocks.items() if a not in self.blocks}
        return Growth(
            name=name, device=device, slope_bytes=self.slope_bytes, steps=self.trend.steps + CONFIRM_STRETCHES * self.stride, at_step=count,
            allocated_bytes=memory.allocated_bytes(device), room_bytes=_room(device), sites=who.sites_of(new or {}),
            holders=who.growing(new, device) if ask_holders else (),
        )


def _callers_level() -> int:
    """How far above watch.step() the program's own line is: callbacks and step() stand in between, and Python names a warning by its line."""
    level, frame = 1, sys._getframe(1)  # those of warn()'s caller
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__.partition(".")[0]:
        level, frame = level + 1, frame.f_back
    return level


def _room(device: int) -> Optional[int]:
    try:
        return memory.room_bytes(device)
    except RuntimeError:  # MIG and unified memory do not always answer
        return None


def _collected(device: int) -> int:
    """Runs Python's collector; returns how much of the device's memory that freed."""
    before = memory.allocated_bytes(device)
    gc.collect()
    return before - memory.allocated_bytes(device)


_default: Optional[Watch] = None


def watch(
    *, warm_up: int = WARM_UP_STEPS, steps: int = STEPS, min_growth_bytes: Union[int, str] = 1 << 20, holders: bool = True,
    on_growth: Optional[Callable[[Growth], Any]] = None,
) -> Watch:
    """Begins to watch for memory that grows from step to step, and makes this the watch of ullage.step().

        watch = ullage.watch()
        for batch in loader:
            train(batch)
            watch.step()          # or ullage.step()

    warm_up           steps at the beginning that are not looked at
    steps             so many are looked at before a growth is suspected; as many again, and 32 at least, confirm it
    min_growth_bytes  the least growth over the steps that are judged, in bytes or as text "4MiB"; a slower one is found when it has come
                      to that
    holders           on a growth, look at all objects of the process for who holds the new memory: up to seconds, once
    on_growth         is called with a Growth; without it, a GrowthWarning is issued with the warnings module

    A step costs the reading of a counter for each device in use. It never waits for the GPU. Python's collector is run when a growth
    is suspected and once it is confirmed, which takes milliseconds to a second. What fills up and then stays, swings with the size of
    the batch, or goes with the collector is not reported.
    """
    global _default
    _default = Watch(warm_up, steps, min_growth_bytes, holders, on_growth)
    return _default


def step(name: str = "step") -> Optional[Growth]:
    """Notes the memory of one step of the loop for the last watch(); without one, a watch with default settings is begun."""
    return (_default or watch()).step(name)


def given_or_new(watching: Any) -> Watch:
    """The watch that a library's callback was given, or one with default settings."""
    if watching is None:
        return watch()
    if isinstance(watching, Watch):
        return watching
    raise checks.wrong("watch", watching, "what ullage.watch() returned, or None for one with default settings")
