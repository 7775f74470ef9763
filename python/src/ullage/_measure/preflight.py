"""preflight(): the memory of a training, told from one or two real steps before the hours are spent."""
from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Optional, Sequence

from .. import _units
from .._oom import split
from .._torch import memory
from . import observed, settings, states
from .largest import Sizes
from .outlook import Preflight, Warned
from .rehearsal import Rehearsal, Step

NEARLY_FULL = 0.92  # of the capacity, at the peak: batches of other lengths, evaluation and libraries want something too
FRAGMENTED = 0.10  # share of what is held from the driver and can be neither used nor given back
OUTSIDE_BYTES = 1536 << 20  # more than one process's own context and libraries take, which is 0.3 to 1 GiB


def preflight(
    model: Any, step: Callable[..., object], optimizer: Any = None, *, batch: Any = None, others: Iterable[Any] = (),
    limit: Optional[int] = None, device: memory.Device = None,
) -> Preflight:
    """Runs one or two real training steps, undoes them, and says what the training will take.

        print(ullage.preflight(model, train_step, optimizer, batch=next(iter(loader))))

    model      the module that is trained, or a list of them
    step       one whole step as in the training: forward, backward, optimizer, zeroing; called as step(batch), or step() without a batch
    optimizer  the optimizer, or a list; one that step uses is found by itself
    batch      tensors in dicts, lists and tuples, samples along the first dimension: gives the largest batch, from up to three more
               steps with fewer samples, or with these several times over
    others     what else a step changes: gradient scalers, schedulers, anything with state_dict()
    limit      bytes that the process is to stay below, if less than there is
    device     the CUDA device; by default that of the model

    The first step shows the peak without the optimizer's states, if they do not exist yet. If by what it took a second one fits, that is
    run too, and shows the peak with them; otherwise it is computed. Parameters, buffers, gradients, states, modes and random numbers are
    copied to main memory before and put back after, also when step fails. What step does elsewhere stays done: a loader has moved on.

    Raises RuntimeError where there is no CUDA device or the step allocates nothing on it, ValueError where step trains parameters of
    models that were not given, TypeError for what can't be put back, and what step raises, but for a lack of memory, which is a result.
    """
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("preflight runs real steps on a CUDA device, and there is none. hint: `ullage fit` estimates without one")
    models, optimizers = _list(model), _list(optimizer)
    index = _device_of(models, device)
    memory.collect()
    flight = _Flight(step, batch, Rehearsal(models, optimizers, list(others), index), index, limit)
    try:
        with observed.Observer(models) as observer:
            flight.run()
    finally:
        flight.rehearsal.undo()
    seen = observer.warnings(bool(torch.backends.cudnn.benchmark), observed.has_convolutions(models))
    return flight.result(torch, seen)


def _list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _device_of(models: Sequence[Any], device: memory.Device) -> int:
    if device is not None:
        return memory.index_of(device)
    return next((memory.index_of(p.device) for m in models for p in m.parameters() if p.device.type == "cuda"), memory.index_of(None))


@dataclass
class _Flight:
    """The steps of one preflight."""

    step: Callable[..., object]
    batch: Any
    rehearsal: Rehearsal
    device: int
    limit: Optional[int]
    steps: list[Step] = field(default_factory=list)  # of the batch given
    sizes: Optional[Sizes] = None  # the search for the largest batch
    notes: list[str] = field(default_factory=list)
    missing_bytes: int = 0  # of states that no step made

    def __post_init__(self) -> None:
        self.size = None if self.batch is None else split.samples(self.batch)
        self.capacity_bytes = memory.read(self.device).allocated_bytes + memory.room_bytes(self.device, self.limit)
        self.outside_bytes = self._outside()

    def run(self) -> None:
        first = self._run(self.size)
        self.steps.append(first)
        if first.fits:
            self.missing_bytes = self._states_to_come()
            if self._later(first) <= self.capacity_bytes:
                self.steps.append(self._run(self.size))
            else:
                self._note_what_stays(first)
        if self.size is not None:
            self.sizes = Sizes(self.batch, self.size, self.device, self._run, self.capacity_bytes - self.missing_bytes)
            self.sizes.search(self.steps)

    def _note_what_stays(self, first: Step) -> None:
        stays = first.end_bytes - first.base_bytes - max(0, first.states_bytes - self.rehearsal.states_before_bytes)
        if stays > 0:
            self.notes.append(f"{_units.size(stays)} that the first step left allocated, such as gradients, are not in the later peak: a step that"
                              " still holds them in its forward pass needs as much more")

    def _run(self, size: Optional[int]) -> Step:
        memory.collect()  # so that what the allocator holds is of this step
        if size is None:
            return self.rehearsal.run(self.step)
        batch = self.batch if size == self.size else split.resize(self.batch, size)
        return self.rehearsal.run(lambda: self.step(batch))

    def _states_to_come(self) -> int:
        """What optimizers that were given, but that the step did not step, will hold more than now."""
        waiting = [o for o in self.rehearsal.optimizers if not any(o is one for one in self.rehearsal.stepped)]
        total = 0
        for optimizer in waiting:
            name, expected = type(optimizer).__name__, states.expected_bytes(optimizer)
            if expected is None:
                self.notes.append(f"the step did not step {name}, whose states are not known: they come on top")
            else:
                total += max(0, expected - states.held_bytes([optimizer], self.device))
                self.notes.append(f"the step did not step {name}: its states are computed, and what a step of it takes besides is not in the figures")
        return total

    def _later(self, step: Step) -> int:
        """The peak of a step like this one when all states are there."""
        fresh = max(0, step.states_bytes - self.rehearsal.states_before_bytes) + self.missing_bytes
        return max(step.before_optimizer_bytes + fresh, step.after_optimizer_bytes + self.missing_bytes)

    def _outside(self) -> int:
        import torch

        free, total = torch.cuda.mem_get_info(self.device)
        return max(0, int(total) - int(free) - memory.read(self.device).reserved_bytes)

    def result(self, torch: Any, seen: list[Warned]) -> Preflight:
        first, second = self.steps[0], self.steps[1] if len(self.steps) > 1 else None
        measured = second is not None and second.fits
        later = None if not first.fits else self._later(first) if second is None or not second.fits else second.peak_bytes + self.missing_bytes
        if second is not None and not second.fits:
            self.notes.append("a second step was tried, and ran out of memory though by the first one it should fit: fragmentation, or a step unlike it")
        fits = later is not None and later <= self.capacity_bytes and (second is None or second.fits)
        properties = torch.cuda.get_device_properties(self.device)
        return Preflight(
            device=self.device, device_name=str(properties.name), total_bytes=int(properties.total_memory), outside_bytes=self.outside_bytes,
            capacity_bytes=self.capacity_bytes, base_bytes=first.base_bytes, first_peak_bytes=first.peak_bytes, later_peak_bytes=later,
            later_reserved_bytes=second.reserved_bytes if second is not None and measured and not self.missing_bytes else None,
            measured=measured and not self.missing_bytes, states_bytes=first.states_bytes + self.missing_bytes, fits=fits,
            batch_size=self.size, largest_batch=self.sizes.largest() if self.sizes else None,
            tried_batch=self.sizes.best() if self.sizes else None, error=first.error or (second.error if second else None),
            warnings=tuple([*self._warnings(torch, later), *seen]), notes=tuple([*self.notes, *(self.sizes.notes if self.sizes else [])]),
        )

    def _warnings(self, torch: Any, later: Optional[int]) -> list[Warned]:
        limit = memory.limit_bytes(self.device)
        asked = any(os.environ.get(n) for n in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"))
        found = settings.check(torch.__version__, os.environ, settings.in_force(torch) if asked else None, limit)
        size = _units.size
        if limit is not None:
            found.append(Warned("oom/fraction-cap", f"a memory fraction is set: this process can have {size(limit)} of the device"))
        if self.outside_bytes > OUTSIDE_BYTES:
            found.append(Warned("oom/other-process", f"{size(self.outside_bytes)} of the device are in use outside of this process's allocator: its CUDA"
                                " context and libraries, and other processes, which nvidia-smi lists"))
        if later is not None and NEARLY_FULL * self.capacity_bytes < later <= self.capacity_bytes:
            found.append(Warned("oom/true-shortage", f"the peak is {later / self.capacity_bytes:.0%} of what this process can have: a longer batch, an"
                                " evaluation or fragmentation can use up the rest"))
        return found + self._seen_in_steps()

    def _seen_in_steps(self) -> list[Warned]:
        last, size, found = self.steps[-1], _units.size, []
        if last.fits and last.reserved_bytes and last.inactive_bytes > FRAGMENTED * last.reserved_bytes:
            found.append(Warned("oom/fragmentation", f"{size(last.inactive_bytes)} of {size(last.reserved_bytes)} held from the driver are pieces between"
                                " tensors in use: try expandable_segments:True"))
        if any(s.fits and s.retries for s in self.steps):
            found.append(Warned("oom/true-shortage", "the allocator had to flush its cache to go on, which is slow and happens again near the limit"))
        if len(self.steps) == 2 and last.fits and last.end_bytes > self.steps[0].end_bytes:
            found.append(Warned("leak/too-short-to-tell", f"{size(last.end_bytes - self.steps[0].end_bytes)} more are allocated after the second step than"
                                " after the first: ullage.watch() tells whether that goes on"))
        return found


