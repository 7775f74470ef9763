"""preflight(): the memory of a training, told from one or two real steps before the hours are spent."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Optional, Sequence, Union

from .. import _checks as checks
from .. import _units
from .._oom import failure, saved, split
from .._torch import memory
from . import advice, observed, states
from .largest import Sizes
from .outlook import Preflight, Warned
from .rehearsal import Rehearsal, Step


def preflight(
    model: Any, step: Callable[..., object], optimizer: Any = None, *, batch: Any = None, others: Iterable[Any] = (),
    limit: Union[int, str, None] = None, device: memory.Device = None,
) -> Preflight:
    """Runs one or two real training steps, undoes them, and says what the training will take.

        print(ullage.preflight(model, train_step, optimizer, batch=next(iter(loader))))

    model      the module that is trained, or a list of them
    step       one whole step as in the training: forward, backward, optimizer, zeroing; called as step(batch), or step() without a batch
    optimizer  the optimizer, or a list; one that step uses is found by itself
    batch      tensors in dicts, lists and tuples, samples along the first dimension: gives the largest batch, from two steps each with up
               to three other numbers of samples, fewer or these several times over
    others     what else a step changes: gradient scalers, schedulers, anything with state_dict()
    limit      bytes that the process is to stay below, or text as "40GiB", if less than there is
    device     the CUDA device; by default that of the model

    The first step shows the peak without the optimizer's states, if they do not exist yet. If by what it took a second one fits, that is
    run too, and shows the peak with them; otherwise it is computed. Parameters, buffers, gradients, states, modes and random numbers are
    copied to main memory before and put back after, also when step fails. What step does elsewhere stays done: a loader has moved on.

    Raises RuntimeError where there is no CUDA device or the step allocates nothing on it, ValueError where step trains parameters of
    models that were not given, TypeError for what can't be put back, and what step raises with this batch, but for a lack of memory, which
    is a result.
    """
    import torch

    order = "preflight(model, step, optimizer)"
    models = checks.modules("model", model, hint=order if callable(model) else "")
    _check_step(step, batch, order)
    optimizers = checks.optimizers("optimizer", optimizer, hint=order if callable(optimizer) else "")
    size = None if batch is None else _samples(batch)
    kept, limit_bytes = saved.check("others", others), checks.optional(checks.size_bytes, "limit", limit, least=1)
    cuda = checks.cuda_device("device", device)
    checks.need_cuda("preflight", hint="`ullage fit` estimates without one")
    index = _device_of(models, cuda)
    memory.collect()
    flight = _Flight(step, batch, size, Rehearsal(models, optimizers, kept, index), index, limit_bytes)
    try:
        with observed.Observer(models) as observer:
            flight.run()
    finally:
        flight.rehearsal.undo()
    seen = observer.warnings(bool(torch.backends.cudnn.benchmark), observed.has_convolutions(models))
    return flight.result(torch, seen)


def _check_step(step: Any, batch: Any, order: str) -> None:
    swapped = hasattr(step, "param_groups")
    if batch is None:
        hint = order if swapped else "batch=... is what step is called with" if callable(step) else ""
        checks.function("step", step, given="nothing", arguments=0, hint=hint)
    else:
        checks.function("step", step, given="a batch", hint=order if swapped else "")


def _samples(batch: Any) -> int:
    try:
        size = split.samples(batch)
    except ValueError as err:
        raise ValueError(f"batch: {str(err).partition('. hint')[0]}") from None  # there is no samples= and take= here
    if size < 1:
        raise ValueError("batch is empty: it has no samples")
    return size


def _device_of(models: Sequence[Any], device: memory.Device) -> int:
    if device is not None:
        return memory.index_of(device)
    return next((memory.index_of(p.device) for m in models for p in m.parameters() if p.device.type == "cuda"), memory.index_of(None))


@dataclass
class _Flight:
    """The steps of one preflight."""

    step: Callable[..., object]
    batch: Any
    size: Optional[int]  # samples in it
    rehearsal: Rehearsal
    device: int
    limit: Optional[int]
    steps: list[Step] = field(default_factory=list)  # of the batch given
    sizes: Optional[Sizes] = None  # the search for the largest batch
    notes: list[str] = field(default_factory=list)
    missing_bytes: int = 0  # of states that no step made

    def __post_init__(self) -> None:
        self.capacity_bytes = memory.read(self.device).allocated_bytes + memory.room_bytes(self.device, self.limit)
        self.outside_bytes = memory.outside_bytes(self.device)

    def run(self) -> None:
        first = self._run(self.size)
        self.steps.append(first)
        if first.peak_bytes == 0:
            raise RuntimeError(f"the step allocated nothing on cuda:{self.device}: is the model there? hint: give device=")
        if first.fits:
            self.missing_bytes = self._states_to_come()
            if self._computed(first) <= self.capacity_bytes:
                self.steps.append(self._run(self.size, go_on=True))
            else:
                self._note_what_stays(first)
        if self.size is not None:
            self.sizes = Sizes(self.batch, self.size, self.device, self._run_two, self.capacity_bytes - self.missing_bytes)
            self._search(self.sizes)

    def _search(self, sizes: Sizes) -> None:
        """Looks for the largest batch. Not every batch can be cut or repeated: what only fails so is no failure of the program."""
        try:
            sizes.search(self.steps)
        except Exception as err:
            if failure.broken() is not None:
                raise
            reason = f"{type(err).__name__}: {err}".partition("\n")[0][:200]
            self.notes.append(
                f"the largest batch is not known: with other numbers of samples, cut from this batch or repeated, the step fails ({reason})")

    def _run_two(self, size: int) -> Step:
        """The first two steps of a training with a size; the first that doesn't fit, or else the second.

        One step after a flush of the cache is not enough: on an H200 a transformer's ran with 231 samples then, and a training of
        the same with no more than 206. The second step has to do with the pieces that the first one left, and with optimizer states
        where the first one put them.
        """
        self.rehearsal.undo()
        first = self._run(size)
        return self._run(size, go_on=True) if first.fits else first

    def _run(self, size: Optional[int], go_on: bool = False) -> Step:
        if not go_on:
            memory.collect()  # so that what the allocator holds is of this step
        if size is None:
            return self.rehearsal.run(self.step)
        batch = self.batch if size == self.size else split.resize(self.batch, size)
        return self.rehearsal.run(lambda: self.step(batch))

    def _states_to_come(self) -> int:
        """What optimizers that were given, but that the step did not step, will hold more than now."""
        total = 0
        for optimizer in self.rehearsal.optimizers:
            if any(optimizer is one for one in self.rehearsal.stepped):
                continue
            name, expected = type(optimizer).__name__, states.expected_bytes(optimizer)
            if expected is None:
                self.notes.append(f"the step did not step {name}, whose states are not known: they come on top")
                continue
            total += max(0, expected - states.held_bytes([optimizer], self.device))
            self.notes.append(f"the step did not step {name}: its states are computed, and what it takes to step it is not in the figures")
        return total

    def _fresh_states_bytes(self, step: Step) -> int:
        return max(0, step.states_bytes - self.rehearsal.states_before_bytes)

    def _computed(self, first: Step) -> int:
        """The peak of later steps, from the first: its peak up to the optimizer, with the states on top; or its peak from there on."""
        return self.missing_bytes + max(first.before_optimizer_bytes + self._fresh_states_bytes(first), first.after_optimizer_bytes)

    def _note_what_stays(self, first: Step) -> None:
        stays = first.end_bytes - first.base_bytes - self._fresh_states_bytes(first)
        if stays > 0:
            self.notes.append(
                f"{_units.size(stays)} that the first step left allocated, such as gradients, are not in the later peak:"
                " a step that still holds them in its forward pass needs as much more")

    def _second(self) -> Optional[Step]:
        """The second step if it was run, and ran to its end."""
        return self.steps[1] if len(self.steps) > 1 and self.steps[1].fits else None

    def _later(self) -> Optional[int]:
        first, second = self.steps[0], self._second()
        if second is not None:
            return second.peak_bytes + self.missing_bytes
        return self._computed(first) if first.fits else None

    def result(self, torch: Any, seen: list[Warned]) -> Preflight:
        first, second, later = self.steps[0], self._second(), self._later()
        failed = self.steps[-1].error
        if first.fits and failed:
            self.notes.append("a second step ran out of memory though by the first one it should fit: fragmentation, or a step unlike it")
        measured = second is not None and not self.missing_bytes
        largest = self.sizes.largest() if self.sizes else None
        if self.sizes:
            self.notes += self.sizes.notes
        properties = torch.cuda.get_device_properties(self.device)
        warnings = [
            *advice.of_device(torch, self.device, self.outside_bytes), *advice.of_peak(later, self.capacity_bytes),
            *advice.of_steps(self.steps), *seen,
        ]
        return Preflight(
            device=self.device, device_name=str(properties.name), total_bytes=int(properties.total_memory),
            outside_bytes=self.outside_bytes, capacity_bytes=self.capacity_bytes, base_bytes=first.base_bytes,
            first_peak_bytes=first.peak_bytes, later_peak_bytes=later,
            later_reserved_bytes=second.reserved_bytes if second is not None and measured else None,
            measured=measured, states_bytes=first.states_bytes + self.missing_bytes,
            fits=later is not None and later <= self.capacity_bytes and failed is None,
            batch_size=self.size, largest_batch=largest, tried_batch=self.sizes.best() if self.sizes else None,
            error=failed, warnings=tuple(warnings), notes=tuple(self.notes),
        )
