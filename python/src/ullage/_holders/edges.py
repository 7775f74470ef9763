"""Names what an object refers to: by attribute, key, index, variable, as one would write it.

Nothing here runs code of the program. Containers are read by their own types' functions even where a class of the program
overrides them, attributes from an instance's dictionary and from the descriptors of slots; what remains is only said to be
inside. A container that another thread changes meanwhile is read as far as it goes.
"""
from __future__ import annotations

import collections
import functools
import gc
import types
from typing import Any, Callable, Iterator

from . import frames, kinds
from .steps import Step

Named = Iterator["tuple[Any, Step]"]  # what is referred to, and how

_exception = {name: BaseException.__dict__[name] for name in ("__traceback__", "__cause__", "__context__", "args")}
_partial_dict = functools.partial.__dict__
_method_self = types.MethodType.__dict__["__self__"]
_method_function = types.MethodType.__dict__["__func__"]


def instance_dict(obj: Any) -> dict[str, Any]:
    """The dictionary of an instance's attributes; an empty one where it has none."""
    for base in kinds.mro(type(obj)):
        found: Any = dict(kinds.own_attributes(base)).get("__dict__")
        if type(found) in (types.GetSetDescriptorType, types.MemberDescriptorType):
            value = found.__get__(obj)
            return value if kinds.is_a(value, dict) else {}
    return {}


def name_all(parent: Any, wanted: dict[int, Any]) -> dict[int, Step]:
    """For each of wanted (id: object), how parent refers to it. The first way counts."""
    found: dict[int, Step] = {}
    cls = type(parent)
    for base in kinds.mro(cls):
        reader = _READERS.get(base)
        if reader is not None:
            _collect(reader(parent), wanted, found)
    if len(found) < len(wanted):
        _collect(_instance(parent), wanted, found)
    for key, child in wanted.items():
        inside = Step("node", kinds.name_of(type(child))) if kinds.is_node(type(child)) else Step("inside", kinds.full_name_of(cls))
        found.setdefault(key, inside)
    return found


def _collect(named: Named, wanted: dict[int, Any], found: dict[int, Step]) -> None:
    try:
        for value, step in named:
            if id(value) in wanted and id(value) not in found:
                found[id(value)] = step
    except (RuntimeError, ValueError, AttributeError, TypeError):
        pass  # changed while it was read, or not as its type has it by now


def _instance(obj: Any) -> Named:
    attributes = instance_dict(obj)
    yield attributes, Step("dict")
    for name, value in list(attributes.items()):
        yield value, Step("attr", str(name))
    for base in kinds.mro(type(obj)):
        for name, slot in kinds.own_attributes(base):
            if type(slot) is types.MemberDescriptorType and not (name.startswith("__") and name.endswith("__")):
                try:
                    yield slot.__get__(obj), Step("attr", name)
                except AttributeError:
                    continue  # a slot that is not set
    yield type(obj), Step("class")


def _dict(obj: Any) -> Named:
    for key, value in list(dict.items(obj)):
        yield value, Step("item", key=key)
    for key in list(dict.keys(obj)):
        yield key, Step("key")


def _sequence(iterate: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Named]:
    def read(obj: Any) -> Named:
        for index, value in enumerate(iterate(obj)):
            yield value, Step("index", key=index)

    return read


def _tuple(obj: Any) -> Named:
    fields = kinds.attribute(type(obj), "_fields") if type(obj) is not tuple else None
    for index, value in enumerate(tuple.__iter__(obj)):
        if type(fields) is tuple and index < len(fields):
            yield value, Step("attr", str(fields[index]))
        else:
            yield value, Step("index", key=index)


def _elements(iterate: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Named]:
    def read(obj: Any) -> Named:
        for value in iterate(obj):
            yield value, Step("element")

    return read


def _cell(obj: types.CellType) -> Named:
    yield obj.cell_contents, Step("contents")


def _function(obj: types.FunctionType) -> Named:
    where = frames.where_defined(obj)
    if obj.__closure__:
        yield obj.__closure__, Step("cells", key=obj, where=where)
    if obj.__defaults__:
        yield obj.__defaults__, Step("defaults", key=obj, where=where)
    if obj.__kwdefaults__:
        yield obj.__kwdefaults__, Step("kwdefaults", key=obj, where=where)
    yield obj.__globals__, Step("namespace", key=obj, where=where)


def _method(obj: types.MethodType) -> Named:
    yield _method_self.__get__(obj), Step("attr", "__self__")
    yield _method_function.__get__(obj), Step("attr", "__func__")


def _builtin(obj: Any) -> Named:
    yield obj.__self__, Step("attr", "__self__")


def _partial(obj: Any) -> Named:
    for name in ("func", "args", "keywords"):
        yield _partial_dict[name].__get__(obj), Step("attr", name)


def _error(obj: BaseException) -> Named:
    for name, read in _exception.items():
        yield read.__get__(obj), Step("attr", name)


def _traceback(obj: types.TracebackType) -> Named:
    yield obj.tb_frame, Step("frame")
    yield obj.tb_next, Step("next")


def _frame(obj: types.FrameType) -> Named:
    where = frames.where(obj)
    for name, value in frames.variables(obj):
        yield value, Step("variable", name, where=where)
    yield obj.f_back, Step("next")
    yield obj.f_globals, Step("namespace", key=obj, where=where)


def _suspended(kind: str, attribute: str) -> Callable[[Any], Named]:
    def read(obj: Any) -> Named:
        frame = getattr(obj, attribute)  # of a type of Python's own: no code of the program runs
        if frame is None:
            return
        yield frame, Step("pass", kind)
        for value, step in _frame(frame):
            yield value, step._replace(where=f"{kind} {step.where}") if step.kind == "variable" else step

    return read


def _class(obj: type) -> Named:
    for value in gc.get_referents(obj):
        if type(value) is dict:
            yield value, Step("dict")  # the class's own, which Python shows through a proxy only
    for name, value in kinds.own_attributes(obj):
        yield value, Step("attr", name)


def _module(obj: types.ModuleType) -> Named:
    for name, value in list(instance_dict(obj).items()):
        yield value, Step("attr", name)


def _cached(obj: Any) -> Named:
    """A functools.lru_cache: what it keeps is in its C part."""
    yield instance_dict(obj).get("__wrapped__"), Step("attr", "__wrapped__")
    for value in gc.get_referents(obj):
        yield value, Step("cached")


_READERS: dict[type, Callable[[Any], Named]] = {
    dict: _dict,
    list: _sequence(list.__iter__),
    tuple: _tuple,
    collections.deque: _sequence(collections.deque.__iter__),
    set: _elements(set.__iter__),
    frozenset: _elements(frozenset.__iter__),
    types.CellType: _cell,
    types.FunctionType: _function,
    types.MethodType: _method,
    types.BuiltinFunctionType: _builtin,
    types.MethodWrapperType: _builtin,
    functools.partial: _partial,
    functools._lru_cache_wrapper: _cached,
    BaseException: _error,
    types.TracebackType: _traceback,
    types.FrameType: _frame,
    types.GeneratorType: _suspended("generator", "gi_frame"),
    types.CoroutineType: _suspended("coroutine", "cr_frame"),
    types.AsyncGeneratorType: _suspended("async generator", "ag_frame"),
    type: _class,
    types.ModuleType: _module,
}
