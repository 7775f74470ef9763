"""Runs the sitecustomize modules that ours stands in front of.

Python imports the first sitecustomize on its path and no other. Where there is one behind ours, that one is what the program
would have got, so it is run as if ours were not there, under its own name and spec. If it goes on to look for a further one
(as those of tracing tools do) it finds ours again, which then runs the next. No f-strings and no annotated variables here: Python 3.4
can read this.
"""
import importlib.machinery
import importlib.util
import os
import sys

_seen = set()  # type: set[str] # folders whose sitecustomize has run, or is running


def _folder(path: str) -> str:
    return os.path.realpath(path or os.getcwd())


def run_shadowed(own_file: str) -> None:
    """Runs the next sitecustomize on sys.path. What it raises is raised: Python's start-up reports it, as ever."""
    _seen.add(_folder(os.path.dirname(own_file)))
    path = [entry for entry in sys.path if _folder(entry) not in _seen]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None or spec.origin is None:
        return
    _seen.add(_folder(os.path.dirname(spec.origin)))
    module = importlib.util.module_from_spec(spec)
    ours = sys.modules.get("sitecustomize")
    sys.modules["sitecustomize"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if ours is not None:
            sys.modules["sitecustomize"] = ours
        raise
