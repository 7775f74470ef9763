"""Tells what no name leads to: what C++ holds, and what nothing holds but itself.

Among the objects that the walk has not reached, those with more references than the others account for are held from outside
of what Python can see: by C++, by a C extension, or by a loop that is running over them. What only such objects lead to is held,
too. The rest is garbage in cycles, which lives until Python's collector runs.
"""
from __future__ import annotations

import gc
import sys
import types
from collections import Counter
from typing import Any, Iterable

from . import kinds
from .steps import Link, Step
from .walk import CHUNK, CYCLE, NATIVE, Clock, Walk

# Parts of other objects rather than objects that a program thinks of; named in a cycle only where there is nothing else.
_PARTS = frozenset({dict, tuple, types.CellType, types.MethodType})
_MAX_NAMES = 3  # of types in the text of a cycle


def add_native(walk: Walk, rest: list[Any]) -> None:
    """Adds to a walk what is held from outside. rest is what the walk has not reached, each object once, and last a new one
    that is held as all the others are, and by nothing else."""
    ids = set(map(id, rest))
    inside: Counter[int] = Counter()
    for start in range(0, len(rest), CHUNK):
        inside.update(i for i in map(id, gc.get_referents(*rest[start:start + CHUNK])) if i in ids)
        if walk.clock.check():
            return
    counts = list(map(sys.getrefcount, rest))
    ours = counts[-1]
    for obj, count in zip(rest, counts):
        if count - ours > inside[id(obj)]:
            walk.add(obj, Link(None, Step("native", kinds.full_name_of(type(obj)))), NATIVE)


def add_cycles(walk: Walk, rest: list[Any], targets: set[int]) -> None:
    """Adds to a walk the members of the cycles that lead to targets. rest is all garbage."""
    by_id = {id(o): o for o in rest}
    into: dict[int, list[int]] = {}
    for start in range(0, len(rest), CHUNK):
        for obj in rest[start:start + CHUNK]:
            for key in map(id, gc.get_referents(obj)):
                if key in by_id:
                    into.setdefault(key, []).append(id(obj))
        if walk.clock.check():
            return
    for members in _components(_ancestors(targets.intersection(by_id), into), into):
        objects = [by_id[m] for m in members]
        text = _text(objects)
        natural = [o for o in objects if type(o) not in _PARTS] or objects
        for obj in natural:
            walk.add(obj, Link(None, Step("cycle", kinds.name_of(type(obj)), where=text)), CYCLE)


def _ancestors(targets: Iterable[int], into: dict[int, list[int]]) -> dict[int, None]:
    """All that leads to targets, the targets first."""
    found = dict.fromkeys(targets)
    waiting = list(found)
    while waiting:
        for parent in into.get(waiting.pop(), ()):
            if parent not in found:
                found[parent] = None
                waiting.append(parent)
    return found


def _components(nodes: Iterable[int], edges: dict[int, list[int]]) -> list[list[int]]:
    """The strongly connected components that are cycles, by Tarjan's algorithm without recursion."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for first in nodes:
        if first in order:
            continue
        work = [(first, iter(edges.get(first, ())))]
        order[first] = low[first] = len(order)
        stack.append(first)
        on_stack.add(first)
        while work:
            node, following = work[-1]
            for key in following:
                if key not in order:
                    order[key] = low[key] = len(order)
                    stack.append(key)
                    on_stack.add(key)
                    work.append((key, iter(edges.get(key, ()))))
                    break
                if key in on_stack:
                    low[node] = min(low[node], order[key])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    component = _pop_to(node, stack, on_stack)
                    if len(component) > 1 or node in edges.get(node, ()):
                        found.append(component)
    return found


def _pop_to(node: int, stack: list[int], on_stack: set[int]) -> list[int]:
    component = []
    while True:
        key = stack.pop()
        on_stack.discard(key)
        component.append(key)
        if key == node:
            return component


def _text(members: list[Any]) -> str:
    """What a cycle is made of: "2 Node", "1 Model, 1 function"."""
    counts = Counter(kinds.name_of(type(o)) for o in members if type(o) not in _PARTS)
    counts = counts or Counter(kinds.name_of(type(o)) for o in members)
    names = sorted(counts.items(), key=lambda c: (-c[1], c[0]))
    more = len(names) - _MAX_NAMES
    return ", ".join(f"{n} {name}" for name, n in names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
