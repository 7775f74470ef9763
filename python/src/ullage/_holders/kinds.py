"""What kind of object a type makes, as far as the walk over the process treats it in a way of its own.

The answer is kept for each type, and is found without running any code of the program: no attribute of an object or of its
class is read other than the slots that every type has.
"""
from __future__ import annotations

import types
from typing import Any, Dict, Iterator, Optional

PLAIN, ATOM, TENSOR, MODULE, OPTIMIZER, EXCEPTION, CLASS, NODE, STORAGE = range(9)

_mro = type.__dict__["__mro__"]
_type_dict = type.__dict__["__dict__"]
_type_name = type.__dict__["__name__"]
_type_module = type.__dict__["__module__"]
_type_qualname = type.__dict__["__qualname__"]

# These refer to nothing that holds a tensor: a walk that leaves them out is several times shorter.
ATOMS: frozenset[type] = frozenset({
    int, float, complex, bool, str, bytes, bytearray, type(None), type(Ellipsis), type(NotImplemented), range,
    types.CodeType, types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.ClassMethodDescriptorType,
})


def mro(cls: type) -> tuple[type, ...]:
    """The classes that cls inherits from, itself first."""
    found: Optional[tuple[type, ...]] = _mro.__get__(cls)
    return found or (cls,)  # a class of C that was never made ready has none


def own_attributes(cls: type) -> Iterator[tuple[str, Any]]:
    """The names and values that stand in a class itself."""
    return iter(list((_type_dict.__get__(cls) or {}).items()))


def is_a(obj: Any, cls: type) -> bool:
    """Whether an object is of a class. isinstance() would ask the object itself where its type says no."""
    return cls in mro(type(obj))


def attribute(cls: type, name: str) -> Any:
    """What a class or one of its bases has by this name, unbound, or None."""
    for base in mro(cls):
        found = (_type_dict.__get__(base) or {}).get(name)
        if found is not None:
            return found
    return None


def name_of(cls: type) -> str:
    """The name of a class as its definition has it, without the function around it."""
    return str(_type_qualname.__get__(cls)).rpartition("<locals>.")[2]


def full_name_of(cls: type) -> str:
    """The name of a class with its module's, which is left out for the program's own and for Python's."""
    module = str(_type_module.__get__(cls))
    return name_of(cls) if module in ("__main__", "builtins") else f"{module}.{name_of(cls)}"


def is_node(cls: type) -> bool:
    """Whether a class is of nodes of autograd. Those of C++ have no base of their own to be known by."""
    return type(attribute(cls, "next_functions")) is types.GetSetDescriptorType


class Kinds(Dict[type, int]):
    """Type: kind. Asked for a type that it has not seen, it finds out."""

    def __init__(self, torch: Any) -> None:
        super().__init__()
        self._tensor = torch._C.TensorBase if hasattr(torch._C, "TensorBase") else torch._C._TensorBase
        self._storages = (torch.UntypedStorage, torch.storage.TypedStorage)
        self._module = torch.nn.Module
        self._optimizer = torch.optim.Optimizer
        for cls in ATOMS:
            self[cls] = ATOM
        for cls in (torch.Size, torch.dtype, torch.device, torch.layout, torch.memory_format):
            self[cls] = ATOM

    def __missing__(self, cls: type) -> int:
        kind = self[cls] = self._find(cls, mro(cls))
        return kind

    def _find(self, cls: type, bases: tuple[type, ...]) -> int:
        if self._tensor in bases:
            return TENSOR
        if self._module in bases:
            return MODULE
        if self._optimizer in bases:
            return OPTIMIZER
        if BaseException in bases or cls in (types.TracebackType, types.FrameType):
            return EXCEPTION
        if type in bases:
            return CLASS
        if is_node(cls):
            return NODE
        return STORAGE if any(s in bases for s in self._storages) else PLAIN
