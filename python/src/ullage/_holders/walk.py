"""A walk over the objects of the process, nearest to the roots first, and the way back from those that matter.

Going on from a whole level of objects at a time is left to gc.get_referents, which asks each object's own C function and runs
no code of the program; a Python loop that kept the parent of each of millions of objects would take several times as long.
The parents are found afterwards, and only for the objects that matter: it is known which objects of a level have been gone on
from together, so few have to be asked again.

Objects of some kinds wait until all that is reached otherwise has been: a parameter is to be named by its module rather than
by the optimizer, and by either rather than by a class, a traceback or a library. Their ranks are below.
"""
from __future__ import annotations

import bisect
import gc
import itertools
import sys
import time
from typing import Any, Callable, Iterable, Mapping, Optional, Tuple

from . import kinds
from .steps import Link, Step

# Ranks, in the order in which they are walked.
USER, OPTIMIZER, EXCEPTION, LAST_ERROR, CLASS, GRAPH, LIBRARY_FRAME, LIBRARY, NATIVE, CYCLE = range(10)
_RANK_OF_KIND = {kinds.OPTIMIZER: OPTIMIZER, kinds.EXCEPTION: EXCEPTION, kinds.CLASS: CLASS}
_ENDS_EARLY = frozenset({USER, OPTIMIZER, EXCEPTION, LAST_ERROR, CLASS, LIBRARY_FRAME, LIBRARY})  # when all that is missing was reached
Chunk = Tuple[int, int]  # of objects that were gone on from together: level, and number within it
CHUNK = 2048  # objects that are gone on from at a time
DEEP = 200  # levels


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
        self.explained: dict[int, Link] = {}  # ways to what C++ holds that say more; they may lead back to it
        self.tensors: list[Any] = []  # tensors, in the order in which they were reached
        self.storages: list[Any] = []  # objects that are storages themselves
        self.nodes: list[Any] = []  # of autograd, written in Python
        self.missing: set[int] = set()  # walking the program's own objects ends when all of these are reached
        self._levels: list[list[Any]] = []
        self._before: list[int] = []  # of each level, the one from which it was reached
        self._ends: list[list[int]] = []  # of each level, how long the next one was after each chunk
        self._found_at: dict[int, Chunk] = {}  # id: whence it was reached, for what is of a kind that matters
        self._waiting: dict[int, list[tuple[Any, Optional[Link]]]] = {}  # rank: objects, with links where they are new
        self._suppliers: dict[int, Callable[[], Iterable[tuple[Any, Link]]]] = {}  # rank: what gives further roots of it
        self._next: list[Any] = []  # being filled for the next level
        self._remembered = 0  # levels of which all is in seen
        self._now = 0  # rank being walked
        self._single = 0  # what sys.getrefcount says of an object that one other refers to

    def shut(self, objects: Iterable[object]) -> None:
        """Keeps the walk out of these."""
        self.seen.update(map(id, objects))

    def add(self, obj: Any, link: Link, rank: int) -> None:
        """Adds a root, or an object whose way is known. It counts as reached when its rank is walked."""
        kind = self.kinds[type(obj)]
        if kind != kinds.ATOM:
            self._waiting.setdefault(max(rank, _RANK_OF_KIND.get(kind, rank)), []).append((obj, link))

    def _reach(self, obj: Any, link: Optional[Link]) -> bool:
        """Makes an object that has waited one that is reached; link is None if it was before. False if there is nothing to do."""
        if link is None:
            self._note(obj, self.kinds[type(obj)])
            return True
        if id(obj) in self.seen:
            self.explain(obj, link)
            return False
        self.seen.add(id(obj))
        self.links[id(obj)] = link
        self._note(obj, self.kinds[type(obj)])
        return True

    def explain(self, obj: Any, link: Link) -> None:
        """Notes a further way to an object that is so far only known to be held by C++."""
        known = self.links.get(id(obj))
        if known is not None and known.step.kind == "native" and link.parent is not None:
            self.explained.setdefault(id(obj), link)

    def expand_to(self, obj: Any, link: Link) -> bool:
        """Adds an object to the level that is being reached. False if it was reached already."""
        kind = self.kinds[type(obj)]
        if kind == kinds.ATOM or id(obj) in self.seen:
            return False
        self.seen.add(id(obj))
        self.links[id(obj)] = link
        self._next.append(obj)
        self._note(obj, kind)
        return True

    def add_later(self, roots: Callable[[], Iterable[tuple[Any, Link]]], rank: int) -> None:
        """Adds roots that are only asked for when their rank is walked."""
        self._suppliers[rank] = roots

    def rank(self) -> int:
        """The rank that is to be walked next; CYCLE + 1 if nothing waits."""
        return min([*self._waiting, *self._suppliers, CYCLE + 1])

    def run(self) -> bool:
        """Walks from all that waits in the first rank. False if nothing waited."""
        rank = self._now = self.rank()
        if rank > CYCLE or self.clock.over:
            return False
        roots, supplier = self._waiting.pop(rank, []), self._suppliers.pop(rank, None)
        if self._enough():
            return True
        if supplier is not None:
            roots += supplier()
        level, before = [obj for obj, link in roots if self._reach(obj, link)], -1
        while level:
            self._levels.append(level)
            self._before.append(before)
            before = len(self._levels) - 1
            level = self._go_on(level, before)
            if self.clock.over or self._enough():
                self._set_aside(level, before)
                break
        return True

    def _enough(self) -> bool:
        return self._now in _ENDS_EARLY and not self.missing

    def _set_aside(self, level: list[Any], before: int) -> None:
        """Keeps a level that is reached and not gone on from, so that the ways to it are found."""
        self._levels.append(level)
        self._before.append(before)
        self._ends.append([])

    def _go_on(self, level: list[Any], index: int) -> list[Any]:
        self._next = []
        ends: list[int] = []
        self._ends.append(ends)
        for obj in level:
            expand = self._expand.get(self.kinds[type(obj)])
            if expand is not None:
                expand(self, obj)
        for start in range(0, len(level), CHUNK):
            chunk = level[start:start + CHUNK]
            self._take(gc.get_referents(*chunk), (index, start // CHUNK))
            ends.append(len(self._next))
            if self.clock.check(len(chunk)):
                break
        return self._next

    def _take(self, referents: list[Any], at: Chunk) -> None:
        """Adds to the next level, or to a later rank, what of these is new.

        What has one reference is reached by that one only, and need not be remembered: most objects are such, and remembering
        them takes three times as long as all else. A count can be wrong for what another thread has just made; so deep down,
        where only a ring of such objects would go on forever, all are remembered.
        """
        seen = self.seen
        tracked = list(itertools.compress(referents, map(gc.is_tracked, referents)))  # others refer to nothing that matters
        single = self._single if len(self._levels) < DEEP else 0
        counts = list(map(sys.getrefcount, tracked))
        shared = {id(o): o for o, count in zip(tracked, counts) if count > single and id(o) not in seen}
        fresh = [o for o, count in zip(tracked, counts) if (id(o) not in seen if count <= single else shared.pop(id(o), None) is not None)]
        seen.update([id(o) for o, count in zip(tracked, counts) if count > single])
        found = list(map(self.kinds.__getitem__, map(type, fresh)))
        self._next += self._sort(fresh, found, at) if any(found) else fresh

    def count_as_single(self, obj_in_list: list[Any]) -> None:
        """Tells the walk how many references an object has that only one other refers to; obj_in_list holds such a one."""
        referents = gc.get_referents(obj_in_list)
        tracked = list(itertools.compress(referents, map(gc.is_tracked, referents)))
        self._single = list(map(sys.getrefcount, tracked))[0]

    def _sort(self, fresh: list[Any], found: list[int], at: Chunk) -> list[Any]:
        """Notes objects of the kinds that matter, lets wait what has to, and returns the others."""
        now = []
        for obj, kind in zip(fresh, found):
            if kind == kinds.ATOM:
                continue
            rank = _RANK_OF_KIND.get(kind, 0)
            if kind != kinds.PLAIN:
                self.seen.add(id(obj))
                self._found_at[id(obj)] = at
            if rank > self._now:
                self._waiting.setdefault(rank, []).append((obj, None))
                continue
            now.append(obj)
            self._note(obj, kind)
        return now

    def left_of(self, objects: list[Any]) -> list[Any]:
        """Those of objects that were not reached."""
        for level in self._levels[self._remembered:]:
            self.seen.update(map(id, level))
        self._remembered = len(self._levels)
        seen = self.seen
        return [o for o in objects if id(o) not in seen]

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
        wanted: dict[Chunk, set[int]] = {}  # chunk: ids of what was reached from it
        parents: dict[int, tuple[Any, Any]] = {}
        asked: set[int] = set()
        for target in targets:
            self._want(target, None, wanted, asked)
        while wanted and not self.clock.check():
            at, ids = wanted.popitem()
            self._find_parents(at, ids, parents, wanted, asked)
        return parents

    def _want(self, obj: Any, at: Optional[Chunk], wanted: dict[Chunk, set[int]], asked: set[int]) -> None:
        """Has the parent of an object looked for where it was reached from; of links, those of what they begin at."""
        waiting = [obj]
        while waiting:
            obj = waiting.pop()
            if obj is None or id(obj) in asked:
                continue
            asked.add(id(obj))
            links = [link for link in (self.links.get(id(obj)), self.explained.get(id(obj))) if link is not None]
            if links:
                waiting += [link.parent for link in links]
                at = None
                continue
            found_at = self._found_at.get(id(obj), at)
            if found_at is not None:
                wanted.setdefault(found_at, set()).add(id(obj))

    def _reached_from(self, index: int, position: int) -> Optional[Chunk]:
        """The chunk from which the object at a place of a level was reached, or None for a root."""
        before = self._before[index]
        return (before, bisect.bisect_right(self._ends[before], position)) if before >= 0 else None

    def _find_parents(self, at: Chunk, ids: set[int], parents: dict[int, tuple[Any, Any]], wanted: dict[Chunk, set[int]],
                      asked: set[int]) -> None:
        index, start = at[0], at[1] * CHUNK
        for position, parent in enumerate(self._levels[index][start:start + CHUNK], start):
            referents = gc.get_referents(parent)
            hits = ids.intersection(map(id, referents))
            if not hits:
                continue
            ids -= hits
            parents.update((id(child), (child, parent)) for child in referents if id(child) in hits)
            self._want(parent, self._reached_from(index, position), wanted, asked)
            if not ids:
                return

    def note_levels(self, objects: Iterable[Any]) -> None:
        """Makes ready to find the ways to objects of whatever kind."""
        left = {id(o) for o in objects}.difference(self._found_at, self.links)
        for index, level in enumerate(self._levels):
            for position, obj in enumerate(level):
                if id(obj) in left:
                    left.discard(id(obj))
                    at = self._reached_from(index, position)
                    if at is not None:
                        self._found_at[id(obj)] = at

    def all_referrers(self, ids: set[int]) -> list[Any]:
        """All objects walked over which refer to one of these."""
        found = []
        for level in self._levels:
            for start in range(0, len(level), CHUNK):
                chunk = level[start:start + CHUNK]
                if not ids.isdisjoint(map(id, gc.get_referents(*chunk))):
                    found += [obj for obj in chunk if not ids.isdisjoint(map(id, gc.get_referents(obj)))]
        return found
