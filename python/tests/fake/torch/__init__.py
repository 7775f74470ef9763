"""Stands for torch in tests: the part that the companion touches, and what drives it.

FAKE_TORCH chooses the release whose private functions are imitated; FAKE_RECORDING is a pickle of testdata that _snapshot
returns. Like the real one it initialises CUDA once, at first use, and runs what was queued until then.
"""
import os
import sys

__version__ = os.environ.get("FAKE_TORCH", "2.11.0") + "+fake"


class OutOfMemoryError(RuntimeError):
    pass


OutOfMemoryError.__module__ = "torch"


class _Counters:
    def __init__(self):
        self.allocated = self.reserved = self.peak = self.ooms = 0


class _C:
    """The C++ side: one device of 16 GiB unless FAKE_DEVICES says otherwise, and a record of what was done to it."""

    devices = int(os.environ.get("FAKE_DEVICES", "1"))
    total = 16 << 30
    observers = []
    history = []  # arguments of each call that switched recording on
    fractions = {}
    contexts = set()  # devices
    counters = [_Counters() for _ in range(devices)]
    initialized_in = 0  # process

    if os.environ.get("FAKE_TORCH") != "1.13":

        @staticmethod
        def _cuda_attach_out_of_memory_observer(observer):
            _C.touch()
            _C.observers.append(observer)

    @staticmethod
    def _cuda_hasPrimaryContext(device):
        return device in _C.contexts

    @staticmethod
    def touch():
        """What on the real one would make a context."""
        if _C.initialized_in != os.getpid():
            raise AssertionError("CUDA was touched before the program used it")


from . import cuda  # noqa: E402

sys.modules["torch.cuda"] = cuda
