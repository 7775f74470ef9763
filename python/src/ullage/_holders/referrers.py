"""All that refers to one object, rather than the nearest holder of each memory."""
from __future__ import annotations

import gc
from typing import Any, Iterable, Iterator

from . import edges, roots, tensors
from .steps import Step
from .survey import NOBODY, Held, Namer, Steps, Survey
from .tensors import Memory

_UNSEEN = ("grad", "native")  # links that no reference in Python shows


class Referrers:
    """Finds the holders of one object. For a tensor they are those of all tensors and storages on its memory."""

    def __init__(self, survey: Survey, obj: Any, ignored: Iterable[Any]) -> None:
        self._survey, self._walk = survey, survey.walk
        self._walk.shut(ignored)
        self._memory = survey.watched = survey.memory_of(obj)
        others = survey.on_memory(self._memory) if self._memory is not None else []
        self._targets = {id(o): o for o in (obj, *others)}
        self._subject = self._memory or Memory(id(obj), 0, "")

    def run(self) -> list[Held]:
        """The holders, each way once."""
        survey, targets = self._survey, self._targets
        survey.explore({NOBODY, *targets})
        parents = [p for p in self._walk.all_referrers(set(targets)) if id(p) not in targets]
        self._walk.note_levels(parents)
        self._namer = Namer(self._walk, [*parents, *targets.values(), *(node for node, _ in survey.saved)])
        ways: list[Steps] = [[(root.link.step, root.value)] for root in roots.every() if id(root.value) in targets]
        ways += [*self._of_parents(parents), *self._of_links(), *self._of_graphs()]
        held = [self._namer.held(self._subject, steps) for steps in ways]
        return list({(str(h.way), h.way and h.way.saved_by): h for h in held if h.way is not None}.values())

    def _of_parents(self, parents: list[Any]) -> Iterator[Steps]:
        for parent in parents:
            above = self._namer.steps(parent)
            if above:
                wanted = {id(o): o for o in gc.get_referents(parent) if id(o) in self._targets}
                for key, step in edges.name_all(parent, wanted).items():
                    yield [*above, (step, wanted[key])]

    def _of_links(self) -> Iterator[Steps]:
        for target in self._targets.values():
            link = self._walk.links.get(id(target))
            if link is None or link.step.kind not in _UNSEEN or self._survey.is_storage(target):
                continue  # a storage gets a Python object, which C++ holds, as soon as anyone looks at it
            yield self._namer.steps(target) or []

    def _of_graphs(self) -> Iterator[Steps]:
        for node, saved in self._survey.saved:
            above = self._namer.steps(node)
            if above:
                yield [*above, (Step("saved", tensors.name_of(node)), saved)]
