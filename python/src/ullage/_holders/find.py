"""ullage.holders: who holds the memory of this process."""
from __future__ import annotations

import gc
import re
import sys
from typing import Any, Callable, Iterable, NoReturn, Union

from .. import _checks as checks
from .referrers import Referrers
from .result import Holder, Holders
from .roots import own_arguments
from .survey import Held, Limits, Survey, collector_still
from .tensors import Memory
from .ways import PLACE

_ALL: Any = object()  # in place of an object: all memory, rather than what refers to it
_PLAIN = (str, bytes, int, float, complex, type(None), type(Ellipsis), type(NotImplemented))
_KEY = re.compile(r"(\[[^\[\]]*\])")


def holders(
    *unnamed: NoReturn, min_bytes: Union[int, str] = 1 << 20, device: Any = None, obj: Any = _ALL, max_seconds: float = 30.0,
) -> Holders:
    """Says through which names, objects and graphs Python holds the memory of tensors.

    min_bytes: storages smaller than this, in bytes or as text "4MiB", are left out.
    device: "cuda:0", a torch.device, or the number of a GPU; by default all but the CPU, or the CPU if no tensor is elsewhere.
    obj: a tensor or any other object: all that refers to it is named, instead.
    max_seconds: of the search; what it did not reach by then is left out, and the result says so (complete is False).

    Nothing is computed, allocated or changed. Raises TypeError for an obj that holds nothing by its nature, as a number or None, and
    ValueError for a device that torch does not know. See docs/python/holders.md.
    """
    if unnamed:
        raise TypeError(f"holders() was given {checks.shown(unnamed[0])} without a name. hint: holders(obj=...) says what refers to it")
    least_bytes, seconds = checks.size_bytes("min_bytes", min_bytes), checks.seconds("max_seconds", max_seconds)
    if obj is not _ALL:
        _check_object(obj, device)
    torch = sys.modules.get("torch")
    if torch is None:
        return Holders((), ("torch is not imported, so there are no tensors",), True, 0, 0.0)
    if obj is not _ALL:
        return who_refers_to(torch, obj, seconds)
    is_wanted = _wanted(least_bytes, checks.device("device", device))
    with collector_still():
        survey = Survey(torch, is_wanted, Limits(seconds=seconds), gc.get_objects())
        return collect(survey, survey.run(), elsewhere=device is None)


def who_refers_to(torch: Any, obj: Any, max_seconds: float, ignored: Iterable[Any] = ()) -> Holders:
    """All that refers to an object. ignored: objects that do not count, such as a list of the caller's own.

    The variables of this package's own functions do not count in any case, nor do the tuple and the dictionary of their arguments.
    """
    with collector_still():
        everything = gc.get_objects()
        survey = Survey(torch, lambda memory: False, Limits(seconds=max_seconds), everything)
        return collect(survey, Referrers(survey, obj, [*ignored, *own_arguments()]).run(), elsewhere=False)


def _check_object(obj: Any, device: Any) -> None:
    """Refuses what Python has one of for all: who refers to that says nothing, and memory of tensors it has none."""
    if issubclass(type(obj), _PLAIN) or type(obj) is tuple and not obj:
        raise checks.wrong("obj", obj, "a tensor, a module or another object: such a value holds no memory of tensors")
    if device is not None:
        raise ValueError("device is given together with obj, but what refers to an object is no matter of a device: leave one of them out")


def _wanted(min_bytes: int, named: Any) -> Callable[[Memory], bool]:
    """Tells which memory is looked for, by its size and the torch.device, if one is named."""
    if named is None:
        return lambda memory: memory.size_bytes >= min_bytes
    name = str(named)
    if named.index is None and named.type != "cpu":  # all devices of a kind
        return lambda memory: memory.size_bytes >= min_bytes and memory.device.partition(":")[0] == name
    return lambda memory: memory.size_bytes >= min_bytes and memory.device == name


def collect(survey: Survey, found: list[Held], elsewhere: bool) -> Holders:
    """The outcome of a survey, grouped by holder. elsewhere: leave out the CPU's memory where there is other."""
    if elsewhere and any(held.memory.device != "cpu" for held in found):
        found = [held for held in found if held.memory.device != "cpu"]
    return Holders(tuple(group(found)), tuple(notes(survey)), survey.complete, survey.clock.objects, survey.clock.elapsed())


def group(found: list[Held]) -> list[Holder]:
    """Storages that are held in the same way as one holder each, the largest first."""
    groups: dict[tuple[str, str, str], list[Held]] = {}
    for held in found:
        way = held.general
        groups.setdefault((way.expression, way.where, way.kind) if way else ("", "", "unknown"), []).append(held)
    return sorted((_holder(kind, members) for (_, _, kind), members in groups.items()), key=lambda h: -h.size_bytes)


def _holder(kind: str, members: list[Held]) -> Holder:
    ways = [held.way for held in members if held.way]
    places = {held.place for held in members}
    saved: dict[str, int] = {}
    for held in members:
        if held.way and held.way.saved_by:
            saved[held.way.saved_by] = saved.get(held.way.saved_by, 0) + held.memory.size_bytes
    # An object that is no tensor has no memory here, and no device.
    storages = tuple(sorted((held.memory for held in members if held.memory.device), key=lambda m: -m.size_bytes))
    path, where = common([way.expression for way in ways]), common([way.where for way in ways])
    return Holder(path or "not found out", where, kind, max(len(places), 1), storages, saved)


def common(texts: list[str]) -> str:
    """One text for several that differ in keys and indices only: those which differ become […]."""
    parts = [_KEY.split(text) for text in texts]
    if not parts or len({len(p) for p in parts}) > 1:
        return texts[0] if texts else ""
    return "".join(column[0] if len(set(column)) == 1 else PLACE for column in zip(*parts))


def notes(survey: Survey) -> list[str]:
    """What a survey could not see, in words."""
    found = []
    if not survey.complete:
        clock = survey.clock
        found.append(f"the search ended after {clock.elapsed():.1f} s and {clock.objects:,} objects, before it had looked at all")
    if survey.graph.nodes and not survey.graph.tells:
        found.append(f"{len(survey.graph.nodes):,} nodes of autograd are held; what they saved is told by PyTorch 2.4 and newer only")
    return found
