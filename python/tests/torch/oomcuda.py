"""FakeCuda with what is asked of a device that has failed, and an error state to put it in."""
from __future__ import annotations

import logging
import types
import unittest
from typing import Any, Optional
from unittest import mock

import torch
from fakecuda import FakeCuda


class OomCuda(FakeCuda):
    """broken is the error that every question to the device's stream then answers with, as one that sticks to the context does."""

    broken: Optional[str] = None
    capturing = False

    def _query(self) -> bool:
        if self.broken:
            raise RuntimeError(self.broken)
        return True

    def __enter__(self) -> OomCuda:
        super().__enter__()
        accelerator = getattr(torch, "accelerator", None)  # asked by optimizers of newer releases whether a graph is captured
        if accelerator is not None:
            stream = types.SimpleNamespace(is_capturing=lambda: False)
            self._stack.enter_context(mock.patch.object(accelerator, "current_stream", lambda device=None: stream))
        return self

    def _answers(self) -> dict[str, Any]:
        return {**super()._answers(), "is_current_stream_capturing": lambda: self.capturing,
                "current_stream": lambda device=None: types.SimpleNamespace(query=self._query)}


class Quiet(unittest.TestCase):
    """Tests whose warnings are expected, and so are not printed. One thread: the machine has other work."""

    def setUp(self) -> None:
        torch.set_num_threads(1)
        logger, nowhere = logging.getLogger("ullage"), logging.NullHandler()
        logger.addHandler(nowhere)
        logger.propagate = False
        self.addCleanup(setattr, logger, "propagate", True)
        self.addCleanup(logger.removeHandler, nowhere)


def need(kib: int) -> None:
    """A step that allocates so much, in a frame of its own."""
    kept = []
    for _ in range(kib):
        kept.append(torch.zeros(256))
