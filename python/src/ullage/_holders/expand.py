"""How the walk goes on from modules and optimizers: by what their users call the parts, and at once.

A parameter deep in a model is so as near to the model as a list's element is to the list, and a moment of Adam's is reached
with the parameter that it belongs to.
"""
from __future__ import annotations

from typing import Any, Iterator

from . import edges, kinds
from .steps import Link, Step
from .walk import Walk


def _items(found: Any) -> Iterator[tuple[Any, Any]]:
    return iter(list(dict.items(found)) if kinds.is_a(found, dict) else [])


def module(walk: Walk, root: Any) -> None:
    """Adds the parameters and buffers of a module and of all modules within it."""
    waiting = [root]
    while waiting:
        current = waiting.pop()
        own = edges.instance_dict(current)
        for group in ("_parameters", "_buffers"):
            for name, tensor in _items(own.get(group)):
                walk.expand_to(tensor, Link(current, Step("child", str(name))))
        children = [child for name, child in _items(own.get("_modules"))
                    if walk.expand_to(child, Link(current, Step("child", str(name))))]
        waiting += reversed(children)


def optimizer(walk: Walk, root: Any) -> None:
    """Adds the state that an optimizer keeps for each parameter."""
    for parameter, state in _items(edges.instance_dict(root).get("state")):
        walk.expand_to(state, Link(root, Step("state", key=parameter)))
