"""Writes the way to an object as one would write it in the program."""
from __future__ import annotations

import enum
import re
from typing import Any, Callable, Iterable, NamedTuple, Optional

from . import edges, kinds
from .steps import Step

_TRACEBACK = ".__traceback__"
PLACE = "[…]"  # any place of a container, in a general text
_TORCH_KEYS = ("torch.dtype", "torch.device", "torch.Size")
MAX_KEY = 40  # characters of a dictionary's key
_REGISTRIES = ("_parameters", "_buffers", "_modules")  # of a module: what is in them is written as its attribute
_HOOKS = re.compile(r"_\w*hooks\w*")


class Way(NamedTuple):
    """The text of a way: an expression, and where its first name belongs."""

    expression: str  # "trainer.loss_history[12]", "outputs"
    where: str  # "local 'outputs' of evaluate() at eval.py:40", or ""
    kind: str  # python, grad, optimizer, graph, native, cycle
    saved_by: str  # the node of autograd that saved it, or ""

    def __str__(self) -> str:
        if not self.where:
            return self.expression
        name = self.where.partition("'")[2].partition("'")[0]
        return self.where if name == self.expression else f"{self.expression} ({self.where})"


def write(steps: Iterable[tuple[Step, Any]], general: bool, name_of_tensor: Callable[[Any], Optional[str]]) -> Way:
    """The text of a way of steps, each with the object that it leads to. In a general text all places of a container are one."""
    writer = _Writer(general, name_of_tensor)
    for step, child in steps:
        writer.add(step, child)
    return Way(writer.expression + writer._of, writer.where, writer.kind, writer.saved_by)


class _Writer:
    """Puts a text together. Each kind of step has a method."""

    def __init__(self, general: bool, name_of_tensor: Callable[[Any], Optional[str]]) -> None:
        self.expression, self.where, self.kind, self.saved_by = "", "", "python", ""
        self._general, self._name_of_tensor = general, name_of_tensor
        self._names: Callable[[Any], str] = str  # of a container whose elements have names of their own
        self._container = ""  # what the elements of the container just passed are: attribute, child, closure cell, default argument, global
        self._owner = ""  # of these
        self._variable = ""  # of a closure
        self._hooks_of = ""  # module whose hooks were passed
        self._node = ""
        self._suspended = ""  # "generator ", if its frame was passed
        self._of = ""  # the parameter for which an optimizer keeps what is named

    def add(self, step: Step, child: Any) -> None:
        if self.saved_by and step.kind not in ("node", "saved"):
            return  # within what a hook has packed
        container, self._container = self._container, ""
        if container and step.kind in ("item", "index"):
            self._named_element(container, step)
        else:
            _METHODS[step.kind](self, step, child)

    def _named_element(self, container: str, step: Step) -> None:
        name = self._names(step.key)
        if container == "attribute":
            self._attr(Step("attr", name), None)
        elif container == "child":
            self._child(Step("child", name), None)
        elif container == "closure cell":
            self._variable = name
        else:
            self.expression, self.where = name, f"{container} '{name}' of {self._owner}"

    def _append(self, key: str, anywhere: bool) -> None:
        self.expression += PLACE if self._general and anywhere else f"[{key}]"

    def _holder(self) -> str:
        expression = self.expression
        if expression.endswith(_TRACEBACK):
            expression = expression[:-len(_TRACEBACK)]
        return str(Way(expression, self.where, self.kind, ""))

    # --- where a way begins

    def _global(self, step: Step, child: Any) -> None:
        self.expression = step.name if step.where in ("__main__", "") else f"{step.where}.{step.name}"

    def _local(self, step: Step, child: Any) -> None:
        self.expression, self.where = step.name, f"local '{step.name}' of {step.where}"

    def _named(self, step: Step, child: Any) -> None:
        self.expression = step.name

    def _native(self, step: Step, child: Any) -> None:
        self.expression, self.where, self.kind = step.name, "held by no name: by C++, or by a loop that is running", "native"

    def _cycle(self, step: Step, child: Any) -> None:
        self.expression, self.where, self.kind = step.name, f"garbage, in a cycle of {step.where}", "cycle"

    # --- attributes and elements

    def _attr(self, step: Step, child: Any) -> None:
        if self._node:
            self.expression, self.where, self._node = f"ctx.{step.name}", f"{self._node} in {self._holder()}", ""
        elif self._hooks_of and step.name == "__self__":
            self.expression, self.where = kinds.name_of(type(child)), f"object of the hook on {self._hooks_of}"
        elif step.name in _REGISTRIES:
            self._container, self._names = "child", str
        elif _HOOKS.fullmatch(step.name):
            self._hooks_of = self.expression
            self.expression += f".{step.name}"
        else:
            self.expression += f".{step.name}"

    def _dict(self, step: Step, child: Any) -> None:
        self._container, self._names = "attribute", str

    def _child(self, step: Step, child: Any) -> None:
        if step.name.isdigit():
            self._append(step.name, anywhere=True)
        else:
            self.expression += f".{step.name}"

    def _item(self, step: Step, child: Any) -> None:
        self._append(key_text(step.key), type(step.key) is not str or any(c.isdigit() for c in step.key))

    def _index(self, step: Step, child: Any) -> None:
        self._append(str(step.key), anywhere=True)

    def _element(self, step: Step, child: Any) -> None:
        self.expression += "{…}"

    def _key(self, step: Step, child: Any) -> None:
        self.expression = f"a key of {self.expression}"

    def _cached(self, step: Step, child: Any) -> None:
        self.expression = f"lru_cache of {self.expression}"

    def _class(self, step: Step, child: Any) -> None:
        self.expression, self.where = kinds.full_name_of(child), ""

    def _pass(self, step: Step, child: Any) -> None:
        self._suspended = f"{step.name} "

    def _gap(self, step: Step, child: Any) -> None:
        self.expression += f" → … {step.name} … →"

    def _inside(self, step: Step, child: Any) -> None:
        self.expression += f" → inside {step.name}"

    # --- functions

    def _cells(self, step: Step, child: Any) -> None:
        names = step.key.__code__.co_freevars
        self._container, self._owner, self._names = "closure cell", step.where, lambda index: str(names[index])

    def _contents(self, step: Step, child: Any) -> None:
        if not self._variable:
            self.expression += ".cell_contents"
            return
        hook = f", hook on {self._hooks_of}" if self._hooks_of else ""
        self.expression, self.where = self._variable, f"closure cell '{self._variable}' of {self._owner}{hook}"
        self._variable = self._hooks_of = ""

    def _defaults(self, step: Step, child: Any) -> None:
        code = step.key.__code__
        names = code.co_varnames[code.co_argcount - len(child):code.co_argcount]
        self._container, self._owner, self._names = "default argument", step.where, lambda index: str(names[index])

    def _kwdefaults(self, step: Step, child: Any) -> None:
        self._container, self._owner, self._names = "default argument", step.where, str

    def _namespace(self, step: Step, child: Any) -> None:
        self._container, self._owner, self._names = "global", step.where, str

    # --- frames

    def _frame(self, step: Step, child: Any) -> None:
        pass

    def _next(self, step: Step, child: Any) -> None:
        pass

    def _variable_of_frame(self, step: Step, child: Any) -> None:
        self.where = f"local '{step.name}' of {self._suspended}{step.where}, kept by {self._holder()}"
        self.expression, self._suspended = step.name, ""

    # --- torch

    def _state(self, step: Step, child: Any) -> None:
        of = self._name_of_tensor(step.key)
        self.kind = "optimizer"
        self.expression += ".state" if of else f".state{PLACE}"
        self._of = f" of {of}" if of else ""

    def _grad(self, step: Step, child: Any) -> None:
        self.expression += ".grad"
        self.kind = "grad" if self.kind == "python" else self.kind

    def _make_graph(self, step: Step, child: Any) -> None:
        if self._node or self.saved_by:  # a further node, or that of a tensor which the graph has saved
            self._node, self.saved_by = step.name, ""
            return
        self.expression, self._node = f"graph of {self.expression}", step.name
        self.kind = self.kind if self.kind in ("native", "cycle") else "graph"

    def _saved(self, step: Step, child: Any) -> None:
        self.saved_by, self._node = step.name, ""


_METHODS: dict[str, Callable[[_Writer, Step, Any], None]] = {
    "variable": _Writer._variable_of_frame,
    "node": _Writer._make_graph,
    **{kind: getattr(_Writer, f"_{kind}") for kind in (
        "global", "local", "named", "native", "cycle", "attr", "dict", "child", "item", "index", "element", "key", "cached", "class",
        "pass", "gap", "inside", "cells", "contents", "defaults", "kwdefaults", "namespace", "frame", "next", "state", "grad", "saved")},
}


def key_text(key: Any) -> str:
    """A dictionary's key, without running its own __repr__ unless it is of a type whose __repr__ is Python's or torch's own."""
    if kinds.is_a(key, enum.Enum):
        return f"{kinds.name_of(type(key))}.{edges.instance_dict(key).get('_name_')}"
    if type(key) is tuple:
        text = "(" + ", ".join(key_text(part) for part in key[:4]) + ("…" if len(key) > 4 else "") + ")"
    elif type(key) in kinds.ATOMS or kinds.full_name_of(type(key)) in _TORCH_KEYS:
        text = repr(key)
    else:
        text = f"<{kinds.name_of(type(key))}>"
    return text if len(text) <= MAX_KEY else text[:MAX_KEY - 1] + "…"
