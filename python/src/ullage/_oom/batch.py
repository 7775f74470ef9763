"""find_batch_size: the largest batch that fits, in a few trials, with everything put back afterwards."""
from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Optional, Union

from .. import _checks as checks
from .. import _units
from .._torch import memory
from . import failure, saved
from .ranks import Ranks
from .search import Bounds, Trial, grows, largest_that_fits, propose, smallest_that_fails, upper
from .trial import Trials

log = logging.getLogger("ullage")

START = 4  # samples in the first trial: enough that most kernels are those of larger batches


@dataclass(frozen=True)
class BatchSize:
    """What find_batch_size found. It can be used where an int is expected."""

    size: int  # the largest that was tried and ran
    reason: str  # why it is not larger
    margin: float
    limit_bytes: int  # what the allocator may reserve with the margin taken off; every trial after the first kept to it
    peak_allocated_bytes: int  # at this size, from the second step on
    peak_reserved_bytes: int
    trials: tuple[Trial, ...]  # in the order in which they were made
    seconds: float  # all trials together

    def __int__(self) -> int:
        return self.size

    __index__ = __int__

    def __str__(self) -> str:
        tried = _units.count(len(self.trials), "trial")
        return (f"batch size {self.size} ({self.reason}; peak {_units.size(self.peak_allocated_bytes)} allocated of"
                f" {_units.size(self.limit_bytes)}, {tried}, {self.seconds:.1f} s)")


def find_batch_size(
    step: Callable[[int], object],
    *,
    state: Iterable[Any] = (),
    min_size: int = 1,
    max_size: int = 1 << 20,
    multiple_of: int = 1,
    start: Optional[int] = None,
    steps: int = 3,
    trials: int = 6,
    margin: float = 0.01,
    tolerance: float = 0.01,
    limit: Union[int, str, None] = None,
    device: memory.Device = None,
    group: Any = None,
    agree: bool = True,
    timeout_s: float = 300.0,
) -> BatchSize:
    """The largest batch size whose steps fit into the GPU's memory.

        found = find_batch_size(lambda size: train_step(make_batch(size)), state=[model, optimizer, scaler, scheduler])
        loader = DataLoader(data, batch_size=found.size)

    step         one whole step with a batch of the size that it is given, as the program will do it: forward, backward, optimizer, or
                 forward alone for inference. It must keep nothing, and make batches of the largest samples that there will be.
    state        modules, optimizers, and other objects with state_dict() that a step changes. They are copied to main memory first and
                 put back after every trial, as are gradients, training mode and random numbers.
    min_size, max_size, multiple_of   the sizes to choose from.
    start        the first size; 4 by default.
    steps        that a trial makes. Peaks count from the second on: the first makes the optimizer's states.
    trials       at most.
    margin       the share of the memory for the batch (what is left beside parameters and states) that stays free.
    tolerance    ends the search when no size could be larger by more than this share.
    limit        bytes that the allocator may reserve, or text as "40GiB", in place of what the device has free.
    group, agree, timeout_s   the ranks that agree on every trial, as in retry_on_oom: the neediest of them decides. A step that waits
                 for other ranks (DDP outside of no_sync(), FSDP) can leave them waiting when only one of them runs out of memory.

    Raises what step raised if it isn't a lack of memory, or if not even min_size fits; RankError for such an error of another rank;
    RuntimeError where PyTorch has no CUDA device. State is put back whatever happens.
    """
    checks.function("step", step, given="a batch size", hint="find_batch_size(lambda size: train_step(make_batch(size)))")
    held = saved.check("state", state)
    bounds = _bounds(min_size, max_size, multiple_of, start, tolerance)
    steps, trials, margin = checks.whole("steps", steps, least=1), checks.whole("trials", trials, least=1), checks.share("margin", margin)
    limit_bytes = checks.optional(checks.size_bytes, "limit", limit, least=1)
    cuda, ranks = checks.cuda_device("device", device), Ranks(group, timeout_s, agree)
    checks.need_cuda("find_batch_size")
    ranks.meet()
    runs = Trials(step, memory.index_of(cuda), steps, limit_bytes, margin, ranks)
    undo = [saved.save_random(), *saved.save(held)]
    try:
        reason = _search(runs, bounds, trials, undo)
    finally:
        _restore(undo)
        memory.collect()
    _warn_of_strangers(runs, held)
    if not grows(runs.done):
        log.warning("ullage: find_batch_size: what the step allocates on cuda:%d did not grow with its size, so the result says nothing of"
                    " memory. hint: is the model on another device, or does the step not use the size that it is given?", runs.device)
    return _result(runs, bounds, margin, reason)


def _bounds(smallest: int, largest: int, multiple_of: int, start: Optional[int], tolerance: float) -> Bounds:
    smallest, largest = checks.whole("min_size", smallest, least=1), checks.whole("max_size", largest, least=1)
    multiple_of = checks.whole("multiple_of", multiple_of, least=1)
    start = START if start is None else checks.whole("start", start, least=1)
    tolerance = checks.share("tolerance", tolerance)
    if smallest > largest:
        raise ValueError(f"min_size is {smallest}, but has to be at most max_size, {largest}")
    low, high = -(-smallest // multiple_of) * multiple_of, largest // multiple_of * multiple_of
    if low > high:
        raise ValueError(f"multiple_of is {multiple_of}, but there is no multiple of it from min_size, {smallest}, to max_size, {largest}")
    bounds = Bounds(low, high, multiple_of, low, tolerance)
    return Bounds(low, high, multiple_of, bounds.floor(start), tolerance)


def _search(runs: Trials, bounds: Bounds, trials: int, undo: list[saved.Undo]) -> str:
    """Makes trials until the size is known or they are used up. Returns why the best is not larger; raises if nothing fits."""
    while len(runs.done) < trials:
        size = propose(runs.done, bounds, runs.limit_bytes, last=len(runs.done) == trials - 1)
        if size is None:
            break
        trial = runs.run(size)
        log.info("ullage: find_batch_size: %d %s: peak %s allocated, %s reserved", size, "fits" if trial.fits else "does not fit",
                 _units.size(trial.peak_allocated_bytes), _units.size(trial.peak_reserved_bytes))
        # Every trial begins as the run will: where the first step makes the optimizer's states, it puts them into whatever the cache
        # has, often into a large block that is then in pieces for good. On an H200 an MLP with Adam ran with 240,000 samples in
        # 20 GiB where the states were there before, and with 208,000 where they were not.
        _restore(undo)
    best = largest_that_fits(runs.done)
    if best is None:
        _raise_nothing_fits(runs)
    return _reason(runs, bounds, trials)


def _reason(runs: Trials, bounds: Bounds, trials: int) -> str:
    best, failed = largest_that_fits(runs.done), smallest_that_fails(runs.done)
    size = best.size if best else 0
    top = upper(runs.done, bounds, runs.limit_bytes)
    if size >= bounds.largest:
        flat = "" if grows(runs.done) else f"; what is allocated on cuda:{runs.device} did not grow with it"
        return f"it is the largest size asked for{flat}"
    if top - size > bounds.tolerance * size:
        return f"the {trials} trials are used up; up to {top} might fit"
    if failed is not None and failed.size - bounds.multiple_of <= top:
        return f"{failed.size} was tried and does not fit"
    return f"{top + bounds.multiple_of} would allocate more than there is"


def _raise_nothing_fits(runs: Trials) -> None:
    tried = ", ".join(str(t.size) for t in runs.done)
    text = f"ullage: find_batch_size found no size that fits into {_units.size(runs.limit_bytes)} (tried {tried})"
    error = runs.last_error or RuntimeError(f"CUDA out of memory on another rank; {text}")
    failure.note(error, text)
    raise error


def _restore(undo: list[saved.Undo]) -> None:
    for one in reversed(undo):
        one()


def _warn_of_strangers(runs: Trials, held: list[Any]) -> None:
    known = {id(one) for one in held} | {id(getattr(one, "optimizer", None)) for one in held}  # Accelerate wraps optimizers
    unknown = [one for one in runs.stepped if id(one) not in known]
    if unknown:
        names = ", ".join(sorted({type(one).__name__ for one in unknown}))
        log.warning("ullage: find_batch_size: the step used an optimizer (%s) that isn't in state=: what it changed stays changed", names)


def _result(runs: Trials, bounds: Bounds, margin: float, reason: str) -> BatchSize:
    best = largest_that_fits(runs.done)
    assert best is not None
    if best.flushes:
        reason += f"; its last step gave the cache back {_units.count(best.flushes, 'time')}, so a smaller one may be faster"
    return BatchSize(best.size, reason, margin, runs.limit_bytes, best.peak_allocated_bytes, best.peak_reserved_bytes, tuple(runs.done),
                     sum(t.seconds for t in runs.done))
