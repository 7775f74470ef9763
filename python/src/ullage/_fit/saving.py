"""Checkpoints: what a program saves has no contents here, so that no file of the user's is lost to it.

What torch.save would write goes to the folder of the traced run, where torch.load finds it again by the path that the program gave,
in each of its processes. Where no file stands at that path, one is put there, since programs look whether it is; the last to go
removes it. One that stands there already, perhaps of weeks of training, stays as it is: also where the program writes beside it first and
renames. A file that the program opens and writes itself is out of reach, unless it renames it.
"""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from typing import Any, Callable, Optional

import torch

from .trace import Trace, caller

LIST = "written"  # of files without contents that stand where the program wanted them, a JSON object a line

LARGEST_BYTES = 64 << 20  # of a file in which the mark is looked for: without contents they are small
_MARK = b"ullage._fit.tensors"

_seen = threading.local()  # .fakes: how many tensors without contents have been pickled in this thread


def count_fake() -> None:
    """Told of each tensor without contents that is pickled."""
    _seen.fakes = getattr(_seen, "fakes", 0) + 1


class Checkpoints:
    """Takes the place of torch.save, torch.load, os.rename and os.replace."""

    def __init__(self, trace: Trace, folder: str, load: Callable[..., Any]) -> None:
        self.trace, self.folder = trace, folder
        self._save, self._load, self._rename, self._replace = torch.save, load, os.rename, os.replace

    def install(self) -> None:
        """Puts all of them in place."""
        torch.save = torch.serialization.save = self.save
        torch.load = torch.serialization.load = self.load
        os.rename = lambda src, dst, **k: self._moved(self._rename, src, dst, k)
        os.replace = lambda src, dst, **k: self._moved(self._replace, src, dst, k)

    def save(self, obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        """torch.save."""
        path = _path(f)
        if path is None or not os.path.isdir(os.path.dirname(path)) or os.path.isdir(path):
            self._has_fakes(obj, f, path, args, kwargs)  # an open file, or an error that is the program's
            return
        kept = self._kept(path)
        if not self._has_fakes(obj, kept, path, args, kwargs):
            os.unlink(kept)
            self._save(obj, f, *args, **kwargs)  # it has its contents
        elif self._is_ours(path) or not os.path.exists(path):
            shutil.copyfile(kept, path)
            self._list(path)

    def _has_fakes(self, obj: Any, f: Any, path: Optional[str], args: Any, kwargs: Any) -> bool:
        """Saves to f what the program saves to path, and tells whether that has tensors without contents."""
        before = getattr(_seen, "fakes", 0)
        self._save(obj, f, *args, **kwargs)
        if getattr(_seen, "fakes", 0) == before:
            return False
        stack = self.trace.stack(caller(2))
        name = f"{os.path.basename(path)} was not kept" if path else "an open file was written"
        text = f"{name}: what is saved has no contents"
        self.trace.note("save", text, None if stack < 0 else stack)
        return True

    def load(self, f: Any, *args: Any, **kwargs: Any) -> Any:
        """torch.load."""
        path = _path(f)
        kept = None if path is None else self._kept(path)
        return self._load(kept if kept is not None and os.path.exists(kept) else f, *args, **kwargs)

    def _moved(self, move: Callable[..., None], src: Any, dst: Any, kwargs: Any) -> None:
        source, target = _path(src), _path(dst)
        if source is not None and target is not None and not self._is_ours(source) and _has_mark(source):
            shutil.copyfile(source, self._kept(source))  # written by the program, of what was saved to a buffer
            self._list(source)
        if source is None or target is None or not self._is_ours(source):
            move(src, dst, **kwargs)
            if source is not None and target is not None:
                self._follow(source + os.sep, target)
            return
        if os.path.exists(target) and not self._is_ours(target):
            os.unlink(source)  # what stands there stays
        else:
            move(src, dst, **kwargs)
            self._list(target)
        self._rename(self._kept(source), self._kept(target))

    def _follow(self, source: str, target: str) -> None:
        """A folder was renamed: what stands in it for what the program saved has gone along."""
        for path in {r["path"] for r in self._rows() if r["path"].startswith(source)}:
            new = os.path.join(target, path[len(source) :])
            if os.path.exists(self._kept(path)) and os.path.exists(new):
                self._rename(self._kept(path), self._kept(new))
                self._list(new)

    def _kept(self, path: str) -> str:
        """Where what was saved as path is."""
        return os.path.join(self.folder, "saved-" + hashlib.sha256(os.fsencode(path)).hexdigest()[:24])

    def _list(self, path: str) -> None:
        """Notes a file that is to be removed: as it is now, so that one which somebody else writes is not."""
        now = os.stat(path)
        with open(os.path.join(self.folder, LIST), "a", encoding="utf-8") as f:
            f.write(json.dumps({"path": path, "bytes": now.st_size, "time_ns": now.st_mtime_ns}) + "\n")

    def _is_ours(self, path: str) -> bool:
        """Whether a file is one that stands in for what the program saved."""
        if not os.path.exists(self._kept(path)):
            return False
        try:
            now = os.stat(path)
        except OSError:
            return False
        return any(r["path"] == path and r["bytes"] == now.st_size and r["time_ns"] == now.st_mtime_ns for r in self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        try:
            with open(os.path.join(self.folder, LIST), encoding="utf-8") as f:
                return [json.loads(line) for line in f]
        except OSError:
            return []


def _has_mark(path: str) -> bool:
    """Whether a file has tensors without contents: what was saved of one is its recipe, by the name of a function of this package."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST_BYTES:
            return False
        with open(path, "rb") as f:
            return _MARK in f.read()
    except OSError:
        return False


def _path(f: Any) -> Optional[str]:
    """A file's absolute path, or None for what is not a path that JSON can carry."""
    if not isinstance(f, (str, os.PathLike)):
        return None
    path = os.path.abspath(os.fspath(f))
    return path if isinstance(path, str) and path.isprintable() else None
