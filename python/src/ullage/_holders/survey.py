"""Finds the holders of all memory of a process: what is to be found, the walk, the graphs of autograd, and what is left.

Python's collector is held still meanwhile. It would free the garbage that is to be named, and run the program's finalizers in
the midst of the search.
"""
from __future__ import annotations

import contextlib
import gc
import itertools
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Tuple

from . import edges, expand, kinds, roots, tensors, unreached, ways
from .steps import Link, Step
from .tensors import Memory
from .walk import GRAPH, Clock, Walk

MAX_STEPS = 64  # of a way that is written out; of a longer one the middle is left out
NOBODY = 0  # the id of no object: what is to be reached as well is never all reached
FROZEN = 10_000  # objects; Python 3.12 starts with hundreds, gc.freeze() in a program with torch makes 100,000 and more
NAMING_SHARE = 0.5  # of the time, which is allowed once more for naming what was found within it


Steps = List[Tuple[Step, Any]]  # of a way, each with the object that it leads to


class Limits(NamedTuple):
    """How far a search goes."""

    seconds: float = 10.0
    objects: int = 20_000_000


class Held(NamedTuple):
    """One storage and the way to it: as it is, and with all places of a container as one. None where it was not found."""

    memory: Memory
    way: Optional[ways.Way]
    general: Optional[ways.Way]
    place: tuple[Any, ...]  # what tells this place from others


@contextlib.contextmanager
def collector_still() -> Iterator[None]:
    """Keeps Python's collector from running, and puts it back as it was."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Survey:
    """One search. wanted tells which memory is looked for."""

    def __init__(self, torch: Any, wanted: Callable[[Memory], bool], limits: Limits, everything: list[Any]) -> None:
        self.clock = Clock(limits.seconds, limits.objects)
        self.complete = False
        self._limits, self._wanted = limits, wanted
        self._kinds = kinds.Kinds(torch)
        self._ask, self.graph = tensors.Tensors(torch), tensors.Graph(torch)
        self.walk = Walk(self._kinds, self.clock, {kinds.MODULE: expand.module, kinds.OPTIMIZER: expand.optimizer})
        self._tensors_done = self._nodes_done = 0  # of those that the walk has reached: their graphs have been walked
        self._sought: list[Any] = []  # tensors and storages that were missing at the beginning
        self.watched: Optional[Memory] = None  # which nodes of autograd have saved what is on this is kept in saved
        self.saved: list[tuple[Any, Any]] = []
        self._made_by: dict[int, Any] = {}  # node of autograd: the tensor that it made, as far as Python has it
        self._everything = everything  # that the collector knows of, from before there was any of this

    def run(self) -> list[Held]:
        """Finds every storage that is wanted."""
        self.explore(self._to_be_found())
        return self._name(self._found())

    def explore(self, missing: set[int]) -> None:
        """Walks until these are reached, and makes ready for naming."""
        self.walk.missing = missing
        self._measure()
        roots.add_all(self.walk)
        self._walk()
        self._walk_the_rest()
        self.complete = not self.clock.over
        self.clock.extend(self._limits.seconds * NAMING_SHARE)

    def _measure(self) -> None:
        """Has the walk count the references of an object that is held as all in everything are, and by one list besides."""
        holder: list[Any] = [[]]
        self._everything.append(holder[0])
        self.walk.count_as_single(holder)
        self._everything.pop()

    def _to_be_found(self) -> set[int]:
        """Ids of the tensors that matter: those on memory that is wanted, and those for which autograd may keep such."""
        found = list(map(self._kinds.__getitem__, map(type, self._everything)))
        for obj, kind in itertools.compress(zip(self._everything, found), map((kinds.TENSOR, kinds.STORAGE).__contains__, found)):
            if self._matters(obj) or kind == kinds.TENSOR and self._keeps(obj):
                self._sought.append(obj)
        ids = set(map(id, self._sought))
        if gc.get_freeze_count() > FROZEN:
            ids.add(NOBODY)  # the collector does not list what is frozen, so all is to be walked
        return ids

    def memory_of(self, obj: Any) -> Optional[Memory]:
        """The memory of a tensor or storage; None for anything else."""
        kind = self._kinds[type(obj)]
        if kind == kinds.TENSOR:
            return self._ask.memory_of(obj)
        return self._ask.memory_of_storage(obj) if kind == kinds.STORAGE else None

    def is_storage(self, obj: Any) -> bool:
        """Whether an object is a storage by itself."""
        return self._kinds[type(obj)] == kinds.STORAGE

    def on_memory(self, memory: Memory) -> list[Any]:
        """The tensors and storages on some memory, of which Python's collector knows."""
        return [o for o in self._everything if self.memory_of(o) == memory]

    def _matters(self, obj: Any) -> bool:
        memory = self.memory_of(obj)
        return memory is not None and self._wanted(memory)

    def _keeps(self, tensor: Any) -> bool:
        return self._ask.grad_fn(tensor) is not None or self._ask.grad(tensor) is not None

    # --- the walk

    def _walk(self) -> None:
        """Walks from all roots added, into the graphs of what is reached, and from what those keep."""
        while not self.clock.over:
            if self._follow_graphs():
                continue
            if self.walk.rank() > GRAPH:
                self._forget_what_is_known()
            if not self.walk.run():
                return

    def _forget_what_is_known(self) -> None:
        """Takes from what is missing the tensors that would add nothing: their memory is reached, and so is their graph.

        C++ keeps such ones, as the base of a view that a graph has saved. For their sake all of the libraries would be walked.
        """
        known: set[Optional[Memory]] = {self.memory_of(obj) for obj in self.walk.tensors}
        for obj in self._sought:
            node, grad = self._ask.grad_fn(obj), self._ask.grad(obj)
            memories = [m for m in (self.memory_of(obj), self.memory_of(grad)) if m is not None and self._wanted(m)]
            if known.issuperset(memories) and (node is None or self.graph.has(node)):
                self.walk.missing.discard(id(obj))
        self._sought = []

    def _follow_graphs(self) -> bool:
        """Adds what autograd keeps for the tensors and nodes reached since the last time. False if there were none."""
        reached = self.walk.tensors[self._tensors_done:]
        nodes = self.walk.nodes[self._nodes_done:]
        self._tensors_done, self._nodes_done = len(self.walk.tensors), len(self.walk.nodes)
        for tensor in reached:
            grad = self._ask.grad(tensor)
            if grad is not None:
                self.walk.add(grad, Link(tensor, Step("grad")), GRAPH)
        for tensor in reached:
            node = self._ask.grad_fn(tensor)
            if node is not None:
                self._made_by[id(node)] = tensor
                if self.graph.has(node):
                    self._infer(node, node)
            self._follow(tensor, node)
        for node in nodes:
            self._follow(node, node)
        return bool(reached or nodes)

    def _follow(self, begin: Any, node: Any) -> None:
        """Adds the nodes of a graph, and what they have saved. begin is the tensor or node through which it is reached."""
        for node in self.graph.nodes_from(node):
            name = tensors.name_of(node)
            self.walk.add(node, Link(begin, Step("node", name)), GRAPH)
            for saved in self.graph.saved_by(node):
                if self.watched is not None and self.memory_of(saved) == self.watched:
                    self.saved.append((node, saved))
                self.walk.add(saved, Link(node, Step("saved", name)), GRAPH)
            for before in self.graph.before(node):
                self._infer(before, node)
            if self.clock.check(1):
                return

    def _infer(self, made: Any, after: Any) -> None:
        """Explains the tensor that a node made, if C++ holds it, by a graph that goes on with it or at least contains the node.

        That is a guess, for releases of torch that do not tell what nodes saved.
        """
        tensor = self._made_by.get(id(made))
        if tensor is not None and not self.graph.tells:
            self.walk.explain(tensor, Link(after, Step("saved", f"what followed {tensors.name_of(made)}")))

    def _walk_the_rest(self) -> None:
        """Goes on with what no name leads to: objects that C++ holds, then garbage."""
        if self.clock.over or not self.walk.missing:
            return
        self._everything.append([])  # a measure: held as all the others are, and by nothing else
        rest = self.walk.left_of(self._everything)
        unreached.add_native(self.walk, rest)
        self._walk()
        if self.walk.missing and not self.clock.over:
            rest = self.walk.left_of(rest[:-1])
            unreached.add_cycles(self.walk, rest, self.walk.missing)
            self._walk()

    # --- the outcome

    def _found(self) -> list[tuple[Memory, Any]]:
        """Each memory that is wanted, with the object through which it was reached first; None where it was not reached."""
        found: dict[tuple[str, int], tuple[Memory, Any]] = {}
        for obj in (*self.walk.tensors, *self.walk.storages):
            self._claim(found, self.memory_of(obj), obj)
        for memory in self._ask.all_memory():
            self._claim(found, memory, None)
        return list(found.values())

    def _claim(self, found: dict[tuple[str, int], tuple[Memory, Any]], memory: Optional[Memory], obj: Any) -> None:
        if memory is not None and self._wanted(memory):
            found.setdefault((memory.device, memory.address), (memory, obj))

    def _name(self, found: list[tuple[Memory, Any]]) -> list[Held]:
        namer = Namer(self.walk, [obj for _, obj in found if obj is not None])
        return [namer.held(memory, namer.steps(obj)) for memory, obj in found]


class Namer:
    """Writes the ways to objects that a walk has reached."""

    def __init__(self, walk: Walk, targets: list[Any]) -> None:
        self._links, self._explained = walk.links, walk.explained
        self._parents = walk.find_ways(targets)
        self._parents.update(walk.find_ways(self._keys()))
        children: dict[int, tuple[Any, dict[int, Any]]] = {}
        for child, parent in self._parents.values():
            children.setdefault(id(parent), (parent, {}))[1][id(child)] = child
        self._steps: dict[int, Step] = {}
        for parent, wanted in children.values():
            self._steps.update(edges.name_all(parent, wanted))

    def held(self, memory: Memory, steps: Optional[Steps]) -> Held:
        """Some memory with the way to it, written out."""
        if not steps:
            return Held(memory, None, None, ())
        way, general = (ways.write(steps, g, lambda key: self._expression(key, g)) for g in (False, True))
        root = id(steps[0][1]) if way.kind in ("cycle", "native") else 0
        return Held(memory, way, general, (way.expression, way.where, root))

    def _keys(self) -> list[Any]:
        """The parameters by which the state of optimizers on the ways is named."""
        links = (self._links.get(id(parent)) for _, parent in self._parents.values())
        return [link.step.key for link in links if link is not None and link.step.kind == "state"]

    def _expression(self, tensor: Any, general: bool) -> Optional[str]:
        steps = self.steps(tensor)
        return ways.write(steps, general, lambda key: None).expression if steps else None

    def steps(self, obj: Any) -> Optional[Steps]:
        """The steps from a root to an object, or None if the way was not found."""
        return self._climb(obj, self._explained) or self._climb(obj, {})

    def _climb(self, obj: Any, explained: dict[int, Link]) -> Optional[Steps]:
        found: Steps = []
        passed: set[int] = set()
        while obj is not None:
            if id(obj) in passed:
                return None  # what C++ holds was explained by itself
            passed.add(id(obj))
            link = explained.get(id(obj)) or self._links.get(id(obj))
            if link is None:
                pair = self._parents.get(id(obj))
                if pair is None:
                    return None
                link = Link(pair[1], self._steps[id(obj)])
            found.append((link.step, obj))
            obj = link.parent
        found.reverse()
        return _shortened(found)


def _shortened(steps: Steps) -> Steps:
    if len(steps) <= MAX_STEPS:
        return steps
    head, tail = MAX_STEPS // 2, MAX_STEPS // 4
    return [*steps[:head], (Step("gap", f"{len(steps) - head - tail:,} steps"), None), *steps[-tail:]]
