"""A walk over the objects of the process, nearest to the roots first, and the way back from those that matter.

Going on from a whole level of objects at a time is left to gc.get_referents, which asks each object's own C function and runs
no code of the program; a Python loop that kept the parent of each of millions of objects would take several times as long.
The parents are found afterwards, and only for the objects that matter, by going through the levels again from the last.

Objects of some kinds wait until all that is reached otherwise has been: a parameter is to be named by its module rather than
by the optimizer, and by either rather than by a class, a traceback or a library. Their ranks are below.
"""
from __future__ import annotations

import gc
import itertools
import time
from typing import Any, Callable, Iterable, Mapping, Optional

from . import kinds
from .steps import Link, Step

# Ranks, in the order in which they are walked.
USER, OPTIMIZER, EXCEPTION, LAST_ERROR, CLASS, LIBRARY_FRAME, LIBRARY, GRAPH, NATIVE, CYCLE = range(10)
_RANK_OF_KIND = {kinds.OPTIMIZER: OPTIMIZER, kinds.EXCEPTION: EXCEPTION, kinds.CLASS: CLASS}
CHUNK = 2048  # objects that are gone on from at a time


class Clock:
    """A limit of time and of objects. Once it is over, it stays so."""

    def __init__(self, seconds: float, objects: int) -> None:
        self.started = time.monotonic()
        self._end, self._objects = self.started + seconds, objects
        self.objects = 0  # looked at
        self.over = False

    def check(self, objects: int = 0) -> bool:
        """Whether the limit is reached, objects more having been looked at."""
        self.objects += objects
        self.over = self.over or self.objects > self._objects or time.monotonic() > self._end
        return self.over

    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.started

    def extend(self, seconds: float) -> None:
        """Allows so many seconds from now, for naming what was found before the limit."""
        self._end, self.over = time.monotonic() + seconds, False
        self._objects = self.objects * 4 + 1_000_000


class Walk:
    """Goes from the roots that it is given to whatever they lead to."""

    def __init__(self, of: kinds.Kinds, clock: Clock, expand: Mapping[int, Callable[[Walk, Any], None]]) -> None:
        self.kinds, self.clock = of, clock
        self._expand = expand  # kind: what it leads to in a way of its own
        self.seen: set[int] = set()
        self.links: dict[int, Link] = {}  # ways that are known: of roots, and of what a step tells more of than a reference does
        self.tensors: list[Any] = []  # tensors, in the order in which they were reached
        self.storages: list[Any] = []  # objects that are storages themselves
        self.nodes: list[Any] = []  # of autograd, written in Python
        self.missing: set[int] = set()  # walking the program's own objects ends when all of these are reached
        self._levels: list[list[Any]] = []
        self._before: list[int] = []  # of each level, the one from which it was reached
        self._found_at: dict[int, int] = {}  # id: the level from which it was reached, for what could not be told from its own
        self._waiting: dict[int, list[Any]] = {}  # rank: objects
        self._next: list[Any] = []  # being filled for the next level
        self._now = 0  # rank being walked

    def shut(self, objects: Iterable[object]) -> None:
        """Keeps the walk out of these."""
        self.seen.update(map(id, objects))

    def add(self, obj: Any, link: Link, rank: int) -> None:
        """Adds a root, or an object whose way is known."""
        kind = self.kinds[type(obj)]
        if kind == kinds.ATOM or id(obj) in self.seen:
            self.explain(obj, link)
            return
        self.seen.add(id(obj))
        self.links[id(obj)] = link
        self._waiting.setdefault(max(rank, _RANK_OF_KIND.get(kind, rank)), []).append(obj)
        self._note(obj, kind)

    def explain(self, obj: Any, link: Link) -> None:
        """Takes a way for that of an object which was so far only known to be held by C++."""
        known = self.links.get(id(obj))
        if known is None or known.step.kind != "native" or link.parent is None:
            return
        above: Optional[Link] = link
        while above is not None and above.parent is not None:
            if above.parent is obj:
                return
            above = self.links.get(id(above.parent))
        self.links[id(obj)] = link

    def expand_to(self, obj: Any, link: Link) -> bool:
        """Adds an object to the level that is being reached, or to its own rank. False if it was reached already."""
        kind = self.kinds[type(obj)]
        if kind == kinds.ATOM or id(obj) in self.seen:
            return False
        if _RANK_OF_KIND.get(kind, 0) > self._now:
            self.add(obj, link, self._now)
            return True
        self.seen.add(id(obj))
        self.links[id(obj)] = link
        self._next.append(obj)
        self._note(obj, kind)
        return True

    def run(self) -> None:
        """Walks from all that was added."""
        while self._waiting and not self.clock.over:
            rank = min(self._waiting)
            level = self._waiting.pop(rank)
            if rank <= LIBRARY and not self.missing:
                continue
            self._now, before = rank, -1
            while level:
                self._levels.append(level)
                self._before.append(before)
                before = len(self._levels) - 1
                level = self._go_on(level, before)
                if self.clock.over or rank <= LIBRARY and not self.missing:
                    self._set_aside(level, before)
                    break

    def _set_aside(self, level: list[Any], before: int) -> None:
        """Keeps a level that is reached and not gone on from, so that the ways to it are found."""
        self._levels.append(level)
        self._before.append(before)

    def _go_on(self, level: list[Any], index: int) -> list[Any]:
        self._next = []
        for obj in level:
            expand = self._expand.get(self.kinds[type(obj)])
            if expand is not None:
                expand(self, obj)
        for start in range(0, len(level), CHUNK):
            chunk = level[start:start + CHUNK]
            self._take(gc.get_referents(*chunk), index)
            if self.clock.check(len(chunk)):
                break
        return self._next

    def _take(self, referents: list[Any], index: int) -> None:
        """Adds to the next level, or to a later rank, what of these is new."""
        seen, kind_of = self.seen, self.kinds
        tracked = itertools.compress(referents, map(gc.is_tracked, referents))  # others refer to nothing that matters
        fresh = {id(o): o for o in tracked if id(o) not in seen}
        if not fresh:
            return
        seen.update(fresh)
        found = list(map(kind_of.__getitem__, map(type, fresh.values())))
        if any(found):
            self._sort(fresh, found, index)
        self._next += fresh.values()

    def _sort(self, fresh: dict[int, Any], found: list[int], index: int) -> None:
        """Notes objects of the kinds that matter, and takes out of fresh what has to wait."""
        for (key, obj), kind in zip(list(fresh.items()), found):
            if kind == kinds.PLAIN:
                continue
            self._found_at[key] = index
            rank = _RANK_OF_KIND.get(kind, 0)
            if kind == kinds.ATOM:
                del fresh[key]
            elif rank > self._now:
                self._waiting.setdefault(rank, []).append(obj)
                del fresh[key]
            else:
                self._note(obj, kind)

    def _note(self, obj: Any, kind: int) -> None:
        if kind == kinds.TENSOR:
            self.tensors.append(obj)
            self.missing.discard(id(obj))
        elif kind == kinds.STORAGE:
            self.storages.append(obj)
            self.missing.discard(id(obj))
        elif kind == kinds.NODE:
            self.nodes.append(obj)

    # --- the way back

    def find_ways(self, targets: Iterable[Any]) -> dict[int, tuple[Any, Any]]:
        """Of all objects on the ways to these, by id, the object and its parent. What has a link is not in it."""
        wanted: dict[int, set[int]] = {}  # level: ids of what was reached from it
        for target in targets:
            self._want(target, wanted)
        parents: dict[int, tuple[Any, Any]] = {}
        for index in range(len(self._levels) - 1, -1, -1):
            ids = wanted.pop(index, None)
            if ids:
                self._find_parents(index, ids, parents, wanted)
                if self.clock.check():
                    break
        return parents

    def _want(self, obj: Any, wanted: dict[int, set[int]], before: int = -1) -> None:
        """Has the parent of an object looked for in the level from which it was reached; of links, that of what they begin at."""
        while id(obj) in self.links:
            parent = self.links[id(obj)].parent
            if parent is None:
                return
            obj, before = parent, -1
        level = self._found_at.get(id(obj), before)
        if level >= 0:
            wanted.setdefault(level, set()).add(id(obj))

    def note_levels(self, objects: Iterable[Any]) -> None:
        """Makes ready to find the ways to objects of whatever kind."""
        left = {id(o) for o in objects}.difference(self._found_at, self.links)
        for index, level in enumerate(self._levels):
            here = left.intersection(map(id, level))
            self._found_at.update((key, self._before[index]) for key in here if self._before[index] >= 0)
            left -= here

    def _find_parents(self, index: int, ids: set[int], parents: dict[int, tuple[Any, Any]], wanted: dict[int, set[int]]) -> None:
        for parent, referents in referrers(self._levels[index], ids):
            hits = ids.intersection(map(id, referents))
            if not hits:
                continue
            ids -= hits
            parents.update((id(child), (child, parent)) for child in referents if id(child) in hits)
            self._want(parent, wanted, self._before[index])
            if not ids:
                return

    def all_referrers(self, ids: set[int]) -> list[Any]:
        """All objects walked over which refer to one of these."""
        return [parent for level in self._levels for parent, _ in referrers(level, ids)]


def referrers(objects: list[Any], ids: set[int]) -> Iterable[tuple[Any, list[Any]]]:
    """Those of objects which refer to one of ids, with what they refer to, in order. ids may lose members between two."""
    for start in range(0, len(objects), CHUNK // 8):
        chunk = objects[start:start + CHUNK // 8]
        if ids.isdisjoint(map(id, gc.get_referents(*chunk))):
            continue
        for obj in chunk:
            found = gc.get_referents(obj)
            if not ids.isdisjoint(map(id, found)):
                yield obj, found


def plain_link(parent: Optional[object], kind: str, name: str = "", key: Any = None) -> Link:
    """A link of one step."""
    return Link(parent, Step(kind, name, key))
