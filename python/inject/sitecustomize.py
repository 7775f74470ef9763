"""Begins to watch a Python process that `ullage run` or `ullage fit` started, or that such a process started.

This folder stands first on PYTHONPATH, so that Python's own start-up imports this module in place of another sitecustomize,
which is run right after. The file is kept to what every Python can parse: a program may start an old one, which is then
left alone.
"""
import os
import sys


def _begin():
    if sys.version_info < (3, 9):
        return
    try:
        if os.environ.get("ULLAGE_FIT"):
            from ullage._fit import start
        else:
            from ullage._companion import start
    except Exception:  # a run that is over may have taken the folder along
        return
    start.start()


def _chain():
    try:
        import ullage_chain
    except Exception:
        return
    ullage_chain.run_shadowed(__file__)


_begin()
_chain()
