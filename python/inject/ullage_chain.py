"""Runs the sitecustomize modules that ours stands in front of.

Python imports the first sitecustomize on its path and no other. Where there is one behind ours, that one is what the program
would have got, so it is run as if ours were not there, under its own name and spec. If it goes on to look for a further one
(as those of tracing tools do) it finds ours again, which then runs the next.

Every Python that a program may start comes by here, so this is written for Python 2.7 too, and imports nothing that Python's
start-up has not imported already unless there is something to run.
"""
import os
import sys

_seen = set()  # folders whose sitecustomize has run, or is running


def _folder(entry):
    return os.path.realpath(entry or os.getcwd())


def run_shadowed(own_file):
    """Runs the next sitecustomize on sys.path. What it raises is raised: Python's start-up reports it, as ever."""
    _seen.add(_folder(os.path.dirname(own_file)))
    for entry in list(sys.path):
        if _folder(entry) in _seen:
            continue
        load = _find(entry)
        if load is not None:
            _seen.add(_folder(entry))
            _run(load)
            return


def _run(load):
    ours = sys.modules.pop("sitecustomize", None)
    try:
        load()
    except BaseException:
        if ours is not None:
            sys.modules["sitecustomize"] = ours
        raise


def _find(entry):
    """What runs the sitecustomize of one entry of sys.path, or None."""
    return _find_old(entry) if sys.version_info < (3, 5) else _find_new(entry)


def _find_old(entry):
    import imp

    try:
        file, name, kind = imp.find_module("sitecustomize", [entry])
    except ImportError:
        return None

    def load():
        try:
            imp.load_module("sitecustomize", file, name, kind)
        finally:
            if file is not None:
                file.close()

    return load


def _find_new(entry):
    finder = next((f for f in sys.meta_path if getattr(f, "__name__", "") == "PathFinder"), None)
    spec = finder and finder.find_spec("sitecustomize", [entry])
    if not spec or spec.loader is None or spec.origin is None:  # a folder of that name is no module
        return None

    def load():
        from importlib._bootstrap import module_from_spec  # importlib.util has it too, and imports half a dozen modules

        if not hasattr(spec.loader, "exec_module"):  # that of zip archives, before Python 3.10
            spec.loader.load_module("sitecustomize")
            return
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)

    return load
