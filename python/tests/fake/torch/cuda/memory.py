import inspect
import lzma
import os
import pickle
import sys

from torch import _C

_RELEASE = os.environ.get("FAKE_TORCH", "2.11.0")


def _switch_on(**arguments):
    _C.touch()
    _C.history.append(arguments)


if _RELEASE.startswith("2.0"):

    def _record_memory_history(enabled: bool, record_context=True, trace_alloc_max_entries=1, trace_alloc_record_context=False, device=None, _enable_expensive_cpp=False):
        _switch_on(enabled=enabled, record_context=record_context, max_entries=trace_alloc_max_entries, trace_context=trace_alloc_record_context)

elif _RELEASE.startswith("2.1."):

    def _impl(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None):
        _switch_on(enabled=enabled, context=context, stacks=stacks, max_entries=max_entries)

    def _record_memory_history(enabled="all", *args, **kwargs):
        _impl(enabled, *args, **kwargs)

elif _RELEASE != "1.13":

    def _impl(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None, clear_history=False, compile_context=False,
              global_record_annotations=False, skip_actions=None, record_pinned_host_memory=False, record_cuda=True):
        _switch_on(enabled=enabled, context=context, stacks=stacks, max_entries=max_entries)

    def _record_memory_history(enabled="all", *args, **kwargs):
        _impl(enabled, *args, **kwargs)

    _record_memory_history.__signature__ = inspect.signature(_impl)


def _snapshot(device=None):
    name = os.environ["FAKE_RECORDING"]
    with (lzma.open if name.endswith(".xz") else open)(name, "rb") as f:
        return pickle.load(f)


def _dump_snapshot(filename="dump_snapshot.pickle"):
    with open(filename, "wb") as f:
        pickle.dump(_snapshot(), f)


if _RELEASE.startswith("2.11"):

    def get_per_process_memory_fraction(device=None):
        return _C.fractions.get(device or 0, 1.0)
